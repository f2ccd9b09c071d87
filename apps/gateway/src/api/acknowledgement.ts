import type { z } from 'zod';
import { toldWarnings } from '#read-models';
import type { Acknowledgement } from '../intake/intake.js';
import type { acknowledgement } from './answers.js';

/** What the giver of a command is answered. */
export const acknowledgementOf = (taken: Acknowledgement): z.infer<typeof acknowledgement> => ({
  command_id: taken.commandId,
  request_id: taken.requestId,
  repeated: taken.repeated,
  ...(taken.kind === 'group'
    ? { group: `/v1/groups/${taken.requestId}` }
    : { document: `/v1/documents/${taken.requestId}` }),
  ...(taken.warnings === undefined ? {} : { warnings: toldWarnings(taken.warnings) }),
});
