import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { openPool, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { follow, METADATA, mustAppend, newEvent, newStream, readEverything } from './contract-events.js';
import { eventStoreContract } from './contract.js';
import { PostgresEventStore, type PostgresEventStoreOptions } from './postgres.js';
import { eventStoreSchema } from './schema.js';

eventStoreContract('PostgreSQL', async () => {
  const db = await testDatabase([eventStoreSchema]);
  // A small pool, so that anything that kept a connection would be noticed.
  const pools = [
    openPool({ connectionString: db.url, maxConnections: 4 }),
    openPool({ connectionString: db.url, maxConnections: 4 }),
  ] as const;
  const [store, other] = pools.map((pool) => new PostgresEventStore({ pool }));
  return {
    store: store!,
    other: other!,
    stop: async () => {
      await Promise.all([store!.close(), other!.close()]);
      await Promise.all(pools.map((pool) => pool.end()));
      await db.drop();
    },
  };
});

describe('PostgreSQL event log', () => {
  let db: TestDatabase;
  const stores: PostgresEventStore[] = [];
  const open = (options: Partial<PostgresEventStoreOptions> = {}): PostgresEventStore => {
    const store = new PostgresEventStore({ pool: db.pool, ...options });
    stores.push(store);
    return store;
  };
  beforeAll(async () => {
    db = await testDatabase([eventStoreSchema]);
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await db?.drop();
  });

  it('stores RFC 8785 bytes, as they are hashed', async () => {
    const stream = newStream();
    await mustAppend(open(), stream, { expected: 'none', events: [newEvent({ b: 1, a: 'я\u0000', '': [1e21] })] });
    const { rows } = await db.pool.query<{ data: Buffer; metadata: Buffer }>(
      'SELECT data, metadata FROM event WHERE stream = $1',
      [stream],
    );
    expect(rows[0]!.data.toString('utf8')).toBe('{"":[1e+21],"a":"я\\u0000","b":1}');
    expect(
      rows[0]!.metadata
        .toString('utf8')
        .startsWith('{"actor":{"authenticatedBy":"test","kind":"system","name":"contract"},"causationId"'),
    ).toBe(true);
  });

  it('shares one call among appends that are made together', async () => {
    const counted = countingPool(db.pool);
    const store = open({ pool: counted.pool });
    await Promise.all(Array.from({ length: 200 }, () => store.append(newStream(), 'none', [newEvent()])));
    expect(counted.calls()).toBe(1);
  });

  it('cuts a batch by events and by bytes, and keeps its order', async () => {
    const counted = countingPool(db.pool);
    const store = open({ pool: counted.pool, maxBatchEvents: 10, maxBatchBytes: 4_000 });
    const stream = newStream();
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) => store.append(stream, n === 0 ? 'none' : n - 1, [newEvent({ n })])),
    );
    expect(results.map((result) => result.kind === 'appended' && result.version)).toEqual(
      Array.from({ length: 30 }, (_, n) => n),
    );
    expect(counted.calls()).toBeGreaterThanOrEqual(3);
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent({ text: 'x'.repeat(9_000) })] });
  });

  it('refuses more waiting appends than its limit, and serves the others', async () => {
    const store = open({ maxWaitingAppends: 3 });
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => store.append(newStream(), 'none', [newEvent()])),
    );
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    await expect(Promise.reject((results[3] as PromiseRejectedResult).reason)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('cannot be made to join a transaction', async () => {
    const tx = await db.pool.connect();
    try {
      await tx.query('BEGIN');
      const store = open({
        pool: { query: tx.query.bind(tx), options: { connectionString: db.url } } as unknown as Pool,
      });
      await expect(store.append(newStream(), 'none', [newEvent()])).rejects.toThrow(/invalid transaction termination/);
    } finally {
      await tx.query('ROLLBACK');
      tx.release();
    }
  });

  it('loses no event and no position when the server ends an append in the middle', async () => {
    const before = await open().head();
    const blocker = await db.pool.connect();
    try {
      await blocker.query('BEGIN');
      await blocker.query('SELECT * FROM event_counter FOR UPDATE');
      const stream = newStream();
      const events = [newEvent()];
      const store = open();
      const lost = store.append(stream, 'none', events);
      const failure = expect(lost).rejects.toThrow();
      await endWhoWaits(db.pool);
      await failure;
      await blocker.query('ROLLBACK');
      expect(await store.append(stream, 'none', events)).toMatchObject({ kind: 'appended', position: before + 1n });
    } finally {
      blocker.release();
    }
  });

  it('is not held up by a transaction elsewhere that stays open, having read and written other things', async () => {
    const idle = await db.pool.connect();
    try {
      await idle.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await idle.query('SELECT count(*) FROM event');
      await idle.query('CREATE TABLE elsewhere (n int)');
      const store = open();
      const start = await store.head();
      const stream = newStream();
      await mustAppend(store, stream, { expected: 'none', events: [newEvent()] });
      expect(await follow(store, start, { isEnough: (events) => events.length === 1, withinMs: 60_000 })).toHaveLength(
        1,
      );
    } finally {
      await idle.query('ROLLBACK');
      idle.release();
    }
  });

  it('goes on following after its listening connection is ended, again and again', async () => {
    const store = open({ fallbackPollMs: 200 });
    const start = await store.head();
    const total = 12;
    const following = follow(store, start, { isEnough: (events) => events.length >= total, withinMs: 60_000 });
    for (let n = 0; n < total; n += 1) {
      if (n % 3 === 1)
        await db.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pedigree-notices' ` +
            'AND datname = current_database()',
        );
      await mustAppend(store, newStream(), { expected: 'none', events: [newEvent({ n })] });
    }
    expect((await following).map((event) => event.data['n'])).toEqual(Array.from({ length: total }, (_, n) => n));
  });

  it('follows by polling alone when nobody can listen', async () => {
    const store = open({ listenConnectionString: 'postgres://nobody@127.0.0.1:1/nowhere', fallbackPollMs: 50 });
    const start = await store.head();
    const following = follow(store, start, { isEnough: (events) => events.length === 1, withinMs: 60_000 });
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    expect(await following).toHaveLength(1);
  });

  it('is woken by a notice, long before the poll', async () => {
    const store = open({ fallbackPollMs: 3_600_000 });
    const end = new AbortController();
    const pages = store.subscribeAll(await store.head(), { signal: end.signal });
    for (let n = 0; n < 5; n += 1) {
      const next = pages.next();
      await mustAppend(store, newStream(), { expected: 'none', events: [newEvent({ n })] });
      const page = await next;
      expect(page.value && page.value.events.map((event) => event.data['n'])).toEqual([n]);
    }
    end.abort();
  });

  it('reads what is new once for all subscriptions that are up to date, and each hears its own', async () => {
    const counted = countingPool(db.pool);
    const store = open({ pool: counted.pool, fallbackPollMs: 3_600_000 });
    const start = await store.head();
    const prefixes = Array.from({ length: 6 }, (_, n) => `shared${n}-`);
    const following = prefixes.map((prefix) =>
      follow(store, start, {
        isEnough: (events) => events.length === 20,
        withinMs: 30_000,
        filter: { streamPrefixes: [prefix] },
      }),
    );
    for (let n = 0; n < 20; n += 1)
      await Promise.all(
        prefixes.map((prefix) =>
          mustAppend(store, `${prefix}${randomUUID()}`, { expected: 'none', events: [newEvent({ n })] }),
        ),
      );
    for (const events of await Promise.all(following))
      expect(events.map((event) => event.data['n'])).toEqual(Array.from({ length: 20 }, (_, n) => n));
    // Each append wakes all, and whoever comes first reads; six who read for themselves would make six reads of each.
    expect(counted.calls('event-read-all') + counted.calls('event-read-all-filtered')).toBeLessThan(
      3 * counted.calls('append-events'),
    );
  });

  it('looks at a bounded stretch of the log per filtered read, and crosses the rest page by page', async () => {
    const store = open({ maxScan: 5 });
    const start = await store.head();
    const rare = newStream('rare');
    await mustAppend(store, newStream(), { expected: 'none', events: Array.from({ length: 12 }, () => newEvent()) });
    await mustAppend(store, rare, { expected: 'none', events: [newEvent()] });
    const filter = { streamPrefixes: ['rare-'] };
    const steps = [];
    let from = start;
    for (let n = 0; n < 3; n += 1) {
      const page = await store.readAll(from, { filter, limit: 5 });
      steps.push([page.events.length, page.readUpTo - start]);
      from = page.readUpTo;
    }
    expect(steps).toEqual([
      [0, 5n],
      [0, 10n],
      [1, 13n],
    ]);
  });

  it('applies the upcaster to whatever is read', async () => {
    const stream = newStream();
    await mustAppend(open(), stream, { expected: 'none', events: [newEvent({ old: 1 })] });
    const store = open({
      upcast: (event) => ({ ...event, schemaVersion: 2, data: { renamed: event.data['old'] ?? null } }),
    });
    const [event] = await store.readStream(stream);
    expect(event).toMatchObject({ schemaVersion: 2, data: { renamed: 1 }, metadata: METADATA });
    const { events } = await store.readAll(event!.position - 1n, { limit: 1 });
    expect(events).toEqual([event]);
  });

  it('ends every subscription when it closes', async () => {
    const store = open();
    const pages = store.subscribeAll(await store.head(), { signal: new AbortController().signal });
    const waiting = pages.next();
    await store.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('commits by itself, and joins no transaction of its caller', async () => {
    const nothing = `CALL append_events(${"'{}', ".repeat(12)}'', NULL, NULL, NULL)`;
    await expect(db.pool.query(nothing)).resolves.toBeDefined();
    const tx = await db.pool.connect();
    await tx.query('BEGIN');
    await expect(tx.query(nothing)).rejects.toMatchObject({ code: '2D000' });
    await tx.query('ROLLBACK');
    tx.release();
  });

  it('kept the whole log gapless through all of this', async () => {
    const all = await readEverything(open());
    all.forEach((event, n) => expect(event.position).toBe(BigInt(n + 1)));
    expect(all.length).toBeGreaterThan(200);
  });
});

/** The pool, with its calls counted by the name of the statement. */
function countingPool(pool: Pool): { pool: Pool; calls: (name?: string) => number } {
  const calls = new Map<string, number>();
  const query = (statement: { name: string }): unknown => {
    calls.set(statement.name, (calls.get(statement.name) ?? 0) + 1);
    return pool.query(statement as never);
  };
  return {
    pool: { query, options: pool.options } as unknown as Pool,
    calls: (name = 'append-events') => calls.get(name) ?? 0,
  };
}

/** Ends the backend that waits for a lock, as soon as there is one. Looks at most 1,000 times. */
async function endWhoWaits(pool: Pool): Promise<void> {
  for (let n = 0; n < 1_000; n += 1) {
    const { rows } = await pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND ' +
        `wait_event_type = 'Lock' AND query LIKE 'CALL append_events%'`,
    );
    if (rows.length > 0) return;
  }
  throw new Error('nobody waits');
}
