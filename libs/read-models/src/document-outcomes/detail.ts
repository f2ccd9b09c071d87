import type { Registration } from '#domain';
import type { RecordedEvent } from '#event-store';
import { accountHolds, type AccountStanding } from '../accounts/standing.js';
import { timelineOf } from '../document-timeline/timeline.js';
import { toldWarnings } from '../outbox/item-warnings.js';
import type { DocumentDetail, WaitedFor } from '../port.js';
import { foldDocumentOutcome } from './fold.js';
import { summaryOf, type Timing } from './query.js';
import type { DocumentOutcomeRow } from './row.js';

/** What an answer about a document is made from, beside the events of its own stream. */
export interface DocumentFacts extends Timing {
  waitingFor: WaitedFor[];
  /** Of its receipt, where it has one. */
  errors: DocumentDetail['errors'];
  notifications: DocumentDetail['notifications'];
  /** Undefined where it no longer matters. */
  account: AccountStanding | undefined;
}

/** Where a document stands by the events of its stream; undefined where there are none. Pure. */
export const documentRow = (events: readonly RecordedEvent[]): DocumentOutcomeRow | undefined =>
  events.reduce<DocumentOutcomeRow | undefined>(foldDocumentOutcome, undefined);

/** A pause of its account keeps only a document that is not concluded. */
export const needsAccount = ({ phase }: DocumentOutcomeRow): boolean => phase !== 'concluded';

/** The answer about a document. Pure. */
export function documentDetailOf(
  row: DocumentOutcomeRow,
  events: RecordedEvent[],
  { errors, notifications, account, ...beside }: DocumentFacts,
): DocumentDetail {
  const summary = summaryOf(row, { errors, ...beside });
  const ofAccount = account === undefined ? [] : accountHolds(row.phase, account);
  const { warnings } = (events[0]?.data ?? {}) as Partial<Registration>;
  return {
    ...{ ...summary, timeline: timelineOf(events), notifications, errors, holds: [...summary.holds, ...ofAccount] },
    ...(warnings === undefined ? {} : { warnings: toldWarnings(warnings) }),
  };
}
