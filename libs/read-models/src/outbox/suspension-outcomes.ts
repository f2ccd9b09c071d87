import type { SuspensionEvent } from '#domain';
import type { RecordedEvent } from '#event-store';
import { present } from '../list-page.js';
import { sentenceOfSuspensionEvent } from '../suspensions/event-sentences.js';
import { foldSuspension } from '../suspensions/fold.js';
import { saidBy } from '../suspensions/query.js';
import type { SuspensionRow } from '../suspensions/row.js';
import type { OutcomePayload } from './outcome-payload.js';

/** The types of a suspension's event that the ERP is told of. Replies, and that it is closed, are ours. */
export const SUSPENSION_OUTCOMES = [
  ...(['SuspensionListed', 'SuspensionEntered', 'SuspensionMatched', 'SuspensionChanged'] as const),
] satisfies SuspensionEvent['type'][];

/** A suspension began, was matched or changed; `history`: its stream up to that. */
export function suspensionTold(history: RecordedEvent[]): OutcomePayload {
  const row = history.reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  const event = history.at(-1);
  if (row === undefined || event === undefined) throw new Error('a suspension is told of that never began');
  const { suspensionId, action, inForce, source, position, state } = row;
  const { product, series, matches, newest } = state;
  const { from, letterSha256, listSha256 } = { ...newest } as Partial<Record<string, string>>;
  const { number, date, decisionId } = saidBy(newest);
  return {
    ...{ type: 'pedigree.suspension.changed.v1', topic: `suspension.${action}`, subject: suspensionId },
    data: {
      ...{ suspension_id: suspensionId, action, in_force: inForce, source, product, series, matches },
      ...present({ number, date, decision_id: decisionId, from, letter_sha256: letterSha256, list_sha256: listSha256 }),
      ...{ sentence: sentenceOfSuspensionEvent(event), known_at: String(position) },
      href: `/v1/suspensions/${suspensionId}`,
    },
  };
}
