import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { openPool, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { DELIVERIES_ALLOWED } from '../contract-dead-letters.js';
import { contractOfTheBus } from '../contract.js';
import { PostgresBus } from './postgres-bus.js';
import { busSchema } from './schema.js';

const FAST = {
  deliveryLimit: DELIVERIES_ALLOWED,
  leaseMs: 1_500,
  retryFirstMs: 5,
  retryMostMs: 20,
  askEveryMs: 10,
  fallbackPollMs: 50,
};

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([busSchema]);
});
afterAll(() => db.drop());

contractOfTheBus('PostgreSQL', async () => {
  await db.pool.query('TRUNCATE bus_command, bus_dead_letter, bus_outcome');
  const opened = new Map<PostgresBus, { pool: Pool; ended: boolean }>();
  const reader = new PostgresBus({ pool: db.pool });
  const end = async (bus: PostgresBus): Promise<void> => {
    const one = opened.get(bus);
    if (one === undefined || one.ended) return;
    one.ended = true;
    await bus.close();
    await one.pool.end();
  };
  return {
    user: new URL(db.url).username,
    open: async () => {
      const pool = openPool({ connectionString: db.url, maxConnections: 4, applicationName: 'bus-under-test' });
      const bus = new PostgresBus({ pool, ...FAST });
      opened.set(bus, { pool, ended: false });
      return bus;
    },
    // Without its pool it extends no lease and settles nothing.
    kill: (bus) => end(bus as PostgresBus),
    cut: async () =>
      void (await db.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND ' +
          `application_name IN ('bus-under-test', 'pedigree-bus-listen')`,
      )),
    outcomes: async () => (await reader.outcomes(0n, 1_000)).map(({ position: _, ...message }) => message),
    stop: async () => {
      for (const bus of opened.keys()) await end(bus);
      await reader.close();
    },
  };
});

describe('the embedded bus', () => {
  it(
    'has the publisher from the database, whom a user with the right to the message alone cannot choose, and none ' +
      'for what came before',
    async () => {
      await db.pool.query('TRUNCATE bus_command');
      const role = `erp_${randomBytes(6).toString('hex')}`;
      await db.pool.query(
        `CREATE ROLE ${role} LOGIN PASSWORD 'trial'; GRANT INSERT (message_id, content_type, headers, body) ON ` +
          `bus_command TO ${role}`,
      );
      const connectionString = Object.assign(new URL(db.url), { username: role, password: 'trial' }).href;
      const erp = openPool({ connectionString, maxConnections: 1 });
      try {
        const publish = (columns: string, values: string): Promise<unknown> =>
          erp.query(
            `INSERT INTO bus_command (${columns} content_type, headers, body) VALUES (${values} ` +
              `'application/json', '{}', '\\x7b')`,
          );
        await publish('', '');
        await expect(publish('publisher,', `'boss',`)).rejects.toThrow('permission denied');
        await db.pool.query(
          `INSERT INTO bus_command (publisher, content_type, headers, body) VALUES (NULL, 'application/json', ` +
            `'{}', '\\x7b')`,
        );
        const bus = new PostgresBus({ pool: db.pool, ...FAST });
        const stop = new AbortController();
        const seen: (string | undefined)[] = [];
        const ended = bus.consumeCommands({
          concurrency: 1,
          signal: stop.signal,
          handle: async ({ publisher }) => (seen.push(publisher), { kind: 'done' }),
        });
        await until('both', () => seen.length === 2);
        expect(seen).toEqual([role, undefined]);
        stop.abort();
        await ended;
        await bus.close();
      } finally {
        await erp.end();
        await db.pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      }
    },
  );

  const outcome = (n: number) => ({
    id: `e-${n}`,
    topic: 't',
    contentType: 'application/json',
    body: Buffer.from(String(n)),
  });

  it('keeps only the newest outcomes, and their positions go on', async () => {
    await db.pool.query('TRUNCATE bus_outcome');
    const bus = new PostgresBus({ pool: db.pool, keptOutcomes: 3 });
    await bus.publishOutcomes([0, 1, 2, 3, 4].map(outcome));
    await bus.publishOutcomes([outcome(5)]);
    expect((await bus.outcomes(0n, 10)).map(({ id, position }) => [id, position])).toEqual([
      ['e-3', 4n],
      ['e-4', 5n],
      ['e-5', 6n],
    ]);
    expect((await bus.outcomes(5n, 10)).map(({ id }) => id)).toEqual(['e-5']);
    await bus.close();
  });

  it('puts aside what its last allowed holder never settled', async () => {
    await db.pool.query('TRUNCATE bus_command, bus_dead_letter');
    const bus = new PostgresBus({ pool: db.pool, ...FAST });
    await bus.publishCommands([{ messageId: 'killer', body: Buffer.from('x') }]);
    await db.pool.query('UPDATE bus_command SET deliveries = $1', [DELIVERIES_ALLOWED]);
    const stop = new AbortController();
    let handled = 0;
    const ended = bus.consumeCommands({
      concurrency: 1,
      signal: stop.signal,
      handle: async () => ((handled += 1), { kind: 'done' }),
    });
    await until('the letter', async () => (await bus.deadLetters({ limit: 10 })).length === 1);
    expect(await bus.deadLetters({ limit: 10 })).toMatchObject([
      { messageId: 'killer', code: 'delivery_limit', deliveries: DELIVERIES_ALLOWED },
    ]);
    stop.abort();
    await ended;
    expect(handled).toBe(0);
    await bus.close();
  });
});
