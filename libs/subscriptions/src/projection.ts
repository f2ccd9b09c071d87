import type { EventFilter, RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions } from './runner.js';

/** A read model's writer: a pure function of the log into tables of its own (principles 2.6). */
export interface Projection {
  /** Also the name of its checkpoint, as `projection:<name>`. */
  name: string;
  filter: EventFilter;
  /**
   * Writes a page of events, in order, in the transaction that also moves the checkpoint; or its beginning, and then
   * says how many (see `Handle`).
   */
  project(events: RecordedEvent[], tx: Transaction): Promise<number | void>;
  /** Told of events that will be projected soon, so that what they name can be read meanwhile. See `CatchUpOptions`. */
  readAhead?(events: RecordedEvent[]): void;
  /** What it writes, and nobody else. */
  tables: readonly string[];
  /** What retention takes from a table, while a rebuild gives it again. */
  removal?: RowRemoval;
}

/** Old rows of `table`, up to a value of `column`, which is its primary key, are removed; `record` says up to where. */
export interface RowRemoval {
  table: string;
  column: string;
  /** A table of one row that only tells this. */
  record: { table: string; column: string };
  /** When a row was recorded, and the least age at which it may be removed. */
  recorded: { column: string; leastAgeHours: number };
}

export const projectionCheckpoint = (projection: { name: string }): string => `projection:${projection.name}`;

const follows = (projection: Projection) => ({
  name: projectionCheckpoint(projection),
  filter: projection.filter,
  handle: (events: RecordedEvent[], tx: Transaction) => projection.project(events, tx),
});

/**
 * Runs a projection until `signal` aborts. Its pages are further apart than a saga's: readers wait for it, the work
 * does not.
 */
export function runProjection(
  options: { projection: Projection } & Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'>,
): Promise<void> {
  const { projection, ...rest } = options;
  return runSubscription({ minPageIntervalMs: 100, ...rest, ...follows(projection) });
}

/** Works a projection up to the end of the log and returns the position. */
export function catchUpProjection(
  options: { projection: Projection } & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>,
): Promise<bigint> {
  const { projection, ...rest } = options;
  return catchUp({ ...rest, ...follows(projection), readAhead: (events) => projection.readAhead?.(events) });
}
