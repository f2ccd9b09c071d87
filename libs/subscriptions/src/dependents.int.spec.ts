import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Pool, Transaction } from '#postgres';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../test/support/database.js';
import { AWAITED_AMONG, DEPENDENTS_PAGE, dependentsOf } from './dependents.js';
import type { Saga } from './fold.js';
import { catchUpSaga } from './saga.js';
import { HARNESS_SCHEMAS, eventOf, makeHarness, type TestHarness } from '../test/test-harness.js';

interface Waited {
  seen: number;
}

/** Who joins a queue waits for its end; who leaves waits no more. */
const QUEUES: Saga<Waited> = {
  name: 'queues',
  filter: { streamPrefixes: ['shop-'] },
  keysOf: ({ data }) => [String(data['queue'])],
  initial: { seen: 0 },
  react: (state, { type, data }, key) => {
    const task = { key: `ended:${key}`, kind: 'ended', lane: 'internal', dueAt: new Date(0), payload: {} };
    switch (type) {
      case 'Joined':
        return {
          state,
          tasks: [],
          dependents: [{ dependent: String(data['who']), data: { at: Number(data['at'] ?? 0) } }],
        };
      case 'Left':
        return { state, tasks: [], stopsWaiting: true };
      default:
        return { state: { seen: state.seen + 1 }, tasks: [], tasksForDependents: [task] };
    }
  },
};

describe('those who wait for an instance of a saga', () => {
  let harness: TestHarness;
  let queue: PostgresTaskQueue;
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
    queue = new PostgresTaskQueue({ pool: harness.pool });
  });
  afterEach(async () => {
    await queue.close();
    await harness.stop();
  });

  const join = (of: string, who: string) => eventOf({ queue: of, who }, 'Joined');
  const leave = (who: string) => eventOf({ queue: who }, 'Left');
  const end = (of: string) => eventOf({ queue: of }, 'Ended');
  const run = (events: ReturnType<typeof eventOf>[], options: { batchSize?: number; pool?: Pool } = {}) =>
    harness.store
      .append(`shop-${randomUUID()}`, 'none', events)
      .then(() => catchUpSaga({ saga: QUEUES, store: harness.store, pool: harness.pool, queue, ...options }));
  const waiting = async (key: string) =>
    (await dependentsOf(harness.pool, { saga: 'queues', key }, { after: '', limit: 1_000 })).map(
      (one) => one.dependent,
    );
  const tasks = async () =>
    (await harness.pool.query<{ key: string }>('SELECT key FROM task ORDER BY key COLLATE "C"')).rows.map(
      (row) => row.key,
    );

  it.each([1, 2, 100])(
    'have rows, and tasks are planned for them where there are any: pages of %d',
    async (batchSize) => {
      await run(
        [join('a', 'x'), join('a', 'y'), join('b', 'x'), join('c', 'z'), leave('z'), end('a'), end('c'), end('d')],
        { batchSize },
      );
      expect([await waiting('a'), await waiting('b'), await waiting('c')]).toEqual([['x', 'y'], ['x'], []]);
      expect(await tasks()).toEqual(['ended:a']);
      await run([leave('x'), join('a', 'x'), end('b')], { batchSize });
      // Who joins anew after leaving waits again, unless both came in one page: nobody registers twice.
      expect(await waiting('b')).toEqual([]);
      expect(await tasks()).toEqual(['ended:a']);
    },
  );

  it('are read by pages in the order of their keys, with what was kept of them', async () => {
    await run(['1', '3', '2', '5', '4'].map((who) => eventOf({ queue: 'a', who, at: Number(who) }, 'Joined')));
    const page = (after: string) => dependentsOf(harness.pool, { saga: 'queues', key: 'a' }, { after, limit: 2 });
    expect(await page('')).toEqual([
      { dependent: '1', data: { at: 1 } },
      { dependent: '2', data: { at: 2 } },
    ]);
    expect((await page('2')).map((one) => one.dependent)).toEqual(['3', '4']);
    expect((await page('4')).map((one) => one.dependent)).toEqual(['5']);
  });

  it('cost what they are many, and not the square of it: ten times as many send ten times as much to the database', async () => {
    const sent: number[] = [];
    for (const many of [100, 1_000]) {
      const { pool, bytes } = counted(harness.pool);
      await run(
        Array.from({ length: many }, (_, n) => join(`of-${many}`, `${many}-${String(n).padStart(6, '0')}`)),
        { batchSize: 10, pool },
      );
      sent.push(bytes());
    }
    const [few = 0, many = 0] = sent;
    expect(many / few).toBeLessThan(12);
    const { rows } = await harness.pool.query<{ n: bigint }>(
      `SELECT count(*) AS n FROM saga_state WHERE saga = 'queues'`,
    );
    expect(rows).toEqual([{ n: 0n }]);
  });

  it('are found through the index, however many there are', async () => {
    await harness.pool.query(
      `INSERT INTO saga_dependent SELECT 'queues', 'k' || n % 50, 'd' || n, '{}' FROM generate_series(1, 50000) AS n`,
    );
    await harness.pool.query('ANALYZE saga_dependent');
    const plan = async (text: string, values: unknown[]) =>
      (await harness.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)).rows
        .map((row) => row['QUERY PLAN'])
        .join('\n');
    const page = await plan(DEPENDENTS_PAGE, ['queues', 'k7', 'd100', 200]);
    expect(page).toContain('saga_dependent_pkey');
    expect(page).not.toMatch(/Seq Scan|Sort/);
    const awaited = await plan(AWAITED_AMONG, ['queues', ['k7', 'none']]);
    expect(awaited).toContain('saga_dependent_pkey');
    const removal = await plan('DELETE FROM saga_dependent WHERE saga = $1 AND dependent = ANY ($2::text[])', [
      'queues',
      ['d1', 'd2'],
    ]);
    expect(removal).toContain('saga_dependent_by_dependent');
    expect(awaited + removal).not.toContain('Seq Scan');
  });
});

/** The pool, with the lengths of all values of its transactions' statements counted. */
function counted(pool: Pool): { pool: Pool; bytes(): number } {
  let sum = 0;
  const lengthOf = (values: unknown): number =>
    Array.isArray(values) ? values.reduce<number>((total, one) => total + lengthOf(one), 0) : String(values).length;
  const connect = async (): Promise<Transaction> => {
    const tx = await pool.connect();
    const query = (statement: string | { values?: unknown }, values: never): unknown => {
      sum += lengthOf(values ?? []) + (typeof statement === 'string' ? 0 : lengthOf(statement.values ?? []));
      return tx.query(statement as never, values);
    };
    return Object.create(tx, { query: { value: query } }) as Transaction;
  };
  return { pool: { query: pool.query.bind(pool), connect } as unknown as Pool, bytes: () => sum };
}
