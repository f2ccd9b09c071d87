import type { Hash } from '#merkle';

/** How the events that were read stand to the leaves that are expected, from the first difference on. */
export interface Alignment {
  /**
   * `missing`: `count` leaves have no event any more, and the next event is the leaf behind them. `added`: `count`
   * events are no leaves, and the event behind them is the next leaf.
   */
  kind: 'changed' | 'missing' | 'added';
  count: number;
}

/**
 * One event was changed, or some were taken away or put in: told apart by where the log goes on. Both begin with the
 * first that differs. Where nothing fits, it is taken for a change.
 */
export function align(events: Hash[], leaves: (Hash | undefined)[]): Alignment {
  const [event, leaf] = [events[0], leaves[0]];
  const missing = event === undefined ? -1 : leaves.findIndex((one) => one?.equals(event));
  const added = leaf === undefined ? -1 : events.findIndex((one) => one.equals(leaf));
  if (missing > 0) return { kind: 'missing', count: missing };
  return added > 0 ? { kind: 'added', count: added } : { kind: 'changed', count: 1 };
}
