import type { EventFilter, RecordedEvent } from '#event-store';
import { inTransaction, type Transaction } from '#postgres';
import { lockCheckpoint, moveCheckpoint, openCheckpoint } from './checkpoint.js';
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
  /** Empties its tables for a rebuild. */
  truncate(tx: Transaction): Promise<void>;
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
  return catchUp({ ...rest, ...follows(projection) });
}

/**
 * Empties a read model and builds it again from the first event; returns the position. Emptying and going back to 0 are
 * one transaction, so that a crash in the middle only means that the next run goes on. Readers see the model grow
 * meanwhile.
 */
export async function rebuildProjection(
  options: { projection: Projection } & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>,
): Promise<bigint> {
  const { projection, pool } = options;
  const name = projectionCheckpoint(projection);
  const holder = 'rebuild';
  await openCheckpoint(pool, name, holder);
  await inTransaction(
    pool,
    async (tx) => {
      const checkpoint = await lockCheckpoint(tx, name, { holder, waits: true });
      if (checkpoint === undefined) throw new Error(`the checkpoint of ${name} was removed while its rebuild began`);
      await projection.truncate(tx);
      await moveCheckpoint(tx, name, { position: 0n, holder, leaseMs: 0 });
    },
    { name: `beginning of a rebuild of ${name}` },
  );
  return catchUpProjection(options);
}
