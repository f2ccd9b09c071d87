import { randomUUID } from 'node:crypto';
import { type EventStore, eventStoreSchema, type NewEvent, PostgresEventStore, type RecordedEvent } from '#event-store';
import { migrate, type Pool, type Transaction } from '#postgres';
import { tasksSchema } from '#tasks';
import { subscriptionsSchema } from '../src/schema.js';

/** A database with a log, a table of effects and nothing else: what the runner's tests work on. */
export interface TestHarness {
  pool: Pool;
  url: string;
  store: PostgresEventStore;
  /** Appends one event per number, each number in its data. */
  note(numbers: number[], options?: { prefix?: string; type?: string }): Promise<void>;
  /** The numbers that were handled, in the order of their effects; read as others see them. */
  effects(): Promise<number[]>;
  stop(): Promise<void>;
}

export const eventOf = (data: object, type = 'Noted'): NewEvent => ({
  id: randomUUID(),
  type,
  schemaVersion: 1,
  data,
  metadata: {
    participant: '00000000000001',
    actor: { kind: 'system', name: 'trial', authenticatedBy: 'test' },
    softwareVersion: '0.0.0',
    profile: 'interface-v1',
    effectiveAt: '2026-01-01T00:00:00Z',
    correlationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c11',
    causationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c12',
  },
});

export const HARNESS_SCHEMAS = [eventStoreSchema, tasksSchema, subscriptionsSchema];

export async function makeHarness(db: { pool: Pool; url: string; drop(): Promise<void> }): Promise<TestHarness> {
  await migrate(db.pool, HARNESS_SCHEMAS);
  // No key on n: an event that took effect twice is to be seen, not prevented.
  await db.pool.query('CREATE TABLE effect (id bigserial, n int NOT NULL)');
  const store = new PostgresEventStore({ pool: db.pool, minReadIntervalMs: 0 });
  return {
    pool: db.pool,
    url: db.url,
    store,
    note: async (numbers, { prefix = 'note', type = 'Noted' } = {}) => {
      for (let at = 0; at < numbers.length; at += 500)
        await store.append(
          `${prefix}-${randomUUID()}`,
          'none',
          numbers.slice(at, at + 500).map((n) => eventOf({ n }, type)),
        );
    },
    effects: async () =>
      (await db.pool.query<{ n: number }>('SELECT n FROM effect ORDER BY id')).rows.map((row) => row.n),
    stop: async () => {
      await store.close();
      await db.drop();
    },
  };
}

export const numberOf = (event: RecordedEvent): number => Number(event.data['n']);

/** The plain effect: each event's number as a row. */
export async function takeEffect(events: RecordedEvent[], tx: Transaction): Promise<void> {
  await tx.query('INSERT INTO effect (n) SELECT unnest($1::int[])', [events.map(numberOf)]);
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** Resolves when `isEnough` is reached by what runs tell through `onBatch`. */
export function whenPosition(position: bigint): {
  reached: Promise<void>;
  onBatch: (batch: { position: bigint }) => void;
} {
  let resolve: () => void;
  const reached = new Promise<void>((done) => (resolve = done));
  return { reached, onBatch: (batch) => void (batch.position >= position && resolve()) };
}

/** A store that counts reads, to see who is busy. */
export function countingStore(store: EventStore): { store: EventStore; pages: () => number } {
  let pages = 0;
  return {
    pages: () => pages,
    store: {
      positionUnit: store.positionUnit,
      append: (...given) => store.append(...given),
      readStream: (...given) => store.readStream(...given),
      readAll: (...given) => store.readAll(...given),
      eventAt: (...given) => store.eventAt(...given),
      subscribeTexts: (...given) => store.subscribeTexts(...given),
      head: () => store.head(),
      close: () => store.close(),
      async *subscribeAll(after, options) {
        for await (const page of store.subscribeAll(after, options)) {
          pages += 1;
          yield page;
        }
      },
    },
  };
}

/**
 * The pool, with every statement of its transactions made known after it ran; `after` may throw, as if the answer had
 * been lost.
 */
export function watchedPool(pool: Pool, after: (text: string) => void): Pool {
  const connect = async (): Promise<Transaction> => {
    const tx = await pool.connect();
    const query = async (statement: string | { text: string }, values: never): Promise<unknown> => {
      const result: unknown = await tx.query(statement as never, values);
      after(typeof statement === 'string' ? statement : statement.text);
      return result;
    };
    return Object.create(tx, { query: { value: query } }) as Transaction;
  };
  return { query: pool.query.bind(pool), connect } as unknown as Pool;
}
