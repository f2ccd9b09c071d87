import type { ContainerEvent, DocumentEvent, InboundEvent } from '#domain';
import type { TypedEvent } from '#event-store';
import type { Movements } from './movements.js';
import { CONTAINMENT, ITEM_MOVEMENT, MOVEMENT_DOCUMENT, MOVEMENT_EFFECT, type ContainmentRow } from './row.js';

export type HistoryEvent = TypedEvent<DocumentEvent | InboundEvent | ContainerEvent>;

/** What one event tells, with the lines that write it: made when it is read, while the database has other work. */
export interface ReadMovements extends Movements {
  lines: Record<'document' | 'effects' | 'items' | 'containment', string>;
}

/** Events one after another, and what they tell. */
export interface Run {
  events: HistoryEvent[];
  movements: ReadMovements[];
  /** Items that more than one of them may have moved. */
  namedTwice: Set<string>;
}

export function linesOf({ document, effects, items }: Movements): ReadMovements['lines'] {
  const { knownFrom } = document;
  return {
    document: MOVEMENT_DOCUMENT.lines([document]),
    effects: MOVEMENT_EFFECT.lines(effects.map((one, effect) => ({ knownFrom, effect, ...one }))),
    items: ITEM_MOVEMENT.lines(items),
    containment: CONTAINMENT.lines(packings({ effects, items })),
  };
}

function packings({ effects, items }: Pick<Movements, 'effects' | 'items'>): ContainmentRow[] {
  if (effects.every(({ container }) => container === undefined)) return [];
  return items.flatMap(({ knownFrom, effect, ordinal, item }) => {
    const parent = effects[effect]?.container;
    return parent === undefined ? [] : [{ knownFrom, ordinal, child: item, parent }];
  });
}

/**
 * Parts of a page that name no item twice, where they have `runItems` items at least: the rows of a part then follow
 * from the rows before in one statement, and no life is read. Each part is worked as a page of its own, in the same
 * transaction.
 */
export function runsOf(
  events: readonly HistoryEvent[],
  { movements, runItems }: { movements: ReadonlyMap<bigint, ReadMovements>; runItems: number },
): Run[] {
  let run: Run = { events: [], movements: [], namedTwice: new Set() };
  const runs = [run];
  const named = new Set<string>();
  for (const event of events) {
    const told = movements.get(event.position);
    if (told !== undefined && named.size >= runItems && told.items.some(({ item }) => named.has(item))) {
      runs.push((run = { events: [], movements: [], namedTwice: new Set() }));
      named.clear();
    }
    run.events.push(event);
    if (told === undefined) continue;
    run.movements.push(told);
    for (const { item } of told.items) {
      if (named.has(item)) run.namedTwice.add(item);
      named.add(item);
    }
  }
  return runs;
}
