import { containerContent, containerHistory, packHistory, packState, shapes } from '#read-models';

/** How far our record was: it may be behind the log, and a later document may have moved the item by now. */
const upTo = {
  known_at: shapes.position
    .optional()
    .describe('Up to here the log is in the answer. Absent where it is as known at an instant.'),
};

/** Answers about one pack or container. */
export const packStateAnswer = packState.extend(upTo);
export const packHistoryAnswer = packHistory.extend(upTo);
export const containerHistoryAnswer = containerHistory.extend(upTo);
export const containerContentAnswer = containerContent.extend(upTo);
