import type { DocumentReference, ItemPredecessor, PlannedTask } from '#domain';
import type { Holder } from './holders.js';

export interface TaskPlace {
  lane: string;
  dueAt: Date;
}

/** Has a unit told for whom it waits, in the round that it is in. */
export const waitForItems = (unit: Holder, predecessors: ItemPredecessor[], place: TaskPlace): PlannedTask => ({
  key: `wait_for_items:${unit.id}:${unit.rounds}`,
  kind: 'wait_for_items',
  ...place,
  payload: { ...payloadOf(unit), round: unit.rounds, for: predecessors },
});

/** Has a unit told that it does not wait for `predecessor`, in the round in which it came to wait for that. */
export const liftItemWait = (unit: Holder, predecessor: string, place: TaskPlace): PlannedTask => ({
  key: `lift_item_wait:${unit.id}:${predecessor}:${unit.rounds}`,
  kind: 'lift_item_wait',
  ...place,
  payload: { ...payloadOf(unit), predecessor },
});

/** Has a unit end that would wait for itself. */
export const refuseRing = (unit: Holder, ring: DocumentReference[], place: TaskPlace): PlannedTask => ({
  key: `refuse_ring:${unit.id}`,
  kind: 'refuse_ring',
  ...place,
  payload: { ...payloadOf(unit), ring: ring.map(({ commandId, requestId }) => ({ commandId, requestId })) },
});

const payloadOf = ({ id, account, firstSend: first }: Holder) => ({
  requestId: id,
  account,
  ...(first === id ? {} : { isGroup: true as const }),
});
