import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { Table } from './table.js';

/** How the streams of a page become rows: a row a stream. */
interface Folding<Row extends object> {
  table: Table<Row>;
  keyOf(stream: string): string;
  /** The row itself where the event changes nothing. */
  fold(row: Row | undefined, event: RecordedEvent): Row;
}

/**
 * Folds a page of events into the rows of their streams: loads them in one statement, and writes what has changed in
 * another. Returns the rows that changed, as they were and as they are.
 */
export async function foldPage<Row extends object>(
  tx: Transaction,
  events: readonly RecordedEvent[],
  { table, keyOf, fold }: Folding<Row>,
): Promise<{ before: Row[]; after: Row[] }> {
  if (events.length === 0) return { before: [], after: [] };
  const loaded = await table.load(tx, [...new Set(events.map(({ stream }) => keyOf(stream)))]);
  const changed = new Map<string, Row>();
  for (const event of events) {
    const key = keyOf(event.stream);
    const row = changed.get(key) ?? loaded.get(key);
    const next = fold(row, event);
    if (next !== row) changed.set(key, next);
  }
  const after = [...changed.values()];
  await table.write(tx, after);
  return { before: [...changed.keys()].flatMap((key) => loaded.get(key) ?? []), after };
}
