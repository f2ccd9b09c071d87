import { isForPredecessor, type DocumentReference, type Hold } from '#domain';
import { neverReached } from '#kernel';
import type { Transaction } from '#postgres';
import type { ClaimEvent } from './read-page.js';

/** What is known of a hold here: one of the document itself takes the place of an earlier one of its kind. */
export const holdKeyOf = (hold: Hold): string => (isForPredecessor(hold) ? hold.for.requestId : hold.kind);

/** What may end a hold of a document or a group that waits on. */
export type EndOfHolds = Extract<ClaimEvent, { type: keyof typeof ENDS_OF_HOLDS }>;

const ENDS_OF_HOLDS = {
  HoldWaived: true,
  HoldLapsed: true,
  PredecessorConcluded: true,
  ItemWaitLifted: true,
  GateHoldLifted: true,
  SuspensionHoldLifted: true,
  GroupHoldWaived: true,
  GroupHoldLapsed: true,
  GroupPredecessorConcluded: true,
  GroupItemWaitLifted: true,
} as const;

export const END_OF_HOLDS_TYPES = Object.keys(ENDS_OF_HOLDS) as EndOfHolds['type'][];

export const mayEndHolds = (event: ClaimEvent): event is EndOfHolds => Object.hasOwn(ENDS_OF_HOLDS, event.type);

export function endedHolds({ type, data }: EndOfHolds): string[] {
  switch (type) {
    case 'HoldWaived':
    case 'HoldLapsed':
    case 'GroupHoldWaived':
    case 'GroupHoldLapsed':
      return data.holds.map(holdKeyOf);
    case 'PredecessorConcluded':
    case 'GroupPredecessorConcluded':
      return [data.requestId];
    case 'ItemWaitLifted':
    case 'GroupItemWaitLifted':
      return [data.for.requestId];
    case 'GateHoldLifted':
      return ['gate'];
    case 'SuspensionHoldLifted':
      return ['suspension'];
    default:
      return neverReached(type, 'end of a hold');
  }
}

/** What never came, where a person decided that it is not waited for. */
export const missingIn = ({ type, data }: EndOfHolds): DocumentReference[] =>
  type === 'HoldWaived' || type === 'GroupHoldWaived' ? (data.missing ?? []) : [];

/** The time of a report of an accomplished fact is up. */
export const isLapse = (event: EndOfHolds): event is Extract<EndOfHolds, { type: 'HoldLapsed' | 'GroupHoldLapsed' }> =>
  event.type === 'HoldLapsed' || event.type === 'GroupHoldLapsed';

/** What it does not wait for any more, since that is held itself. */
export const stuckIn = (event: EndOfHolds): DocumentReference[] => (isLapse(event) ? (event.data.stuck ?? []) : []);

/** Those of these units that are held. */
export async function heldAmong(tx: Transaction, ids: string[]): Promise<Set<string>> {
  const text = 'SELECT id FROM claim_holder WHERE id = ANY ($1::text[]) AND is_held';
  const { rows } = await tx.query<{ id: string }>({ name: 'claim-holder-held-among', text, values: [ids] });
  return new Set(rows.map((row) => row.id));
}

/** Where none is left, the unit stands in its places again, though it may wait on. */
export async function endHolds(tx: Transaction, id: string, ended: string[]): Promise<void> {
  await tx.query({
    name: 'claim-holder-end-holds',
    text: `UPDATE claim_holder SET holds = ARRAY(SELECT one FROM unnest(holds) AS one WHERE one <> ALL ($2::text[]))
      WHERE id = $1`,
    values: [id, ended],
  });
}
