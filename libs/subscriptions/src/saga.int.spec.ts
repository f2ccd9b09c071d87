import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { NewEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { type NewTask, PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../test/support/database.js';
import { dropCheckpoint } from './checkpoint.js';
import { catchUpSaga, runSaga, sagaCheckpoint } from './saga.js';
import { SHOPS } from '../test/test-saga.js';
import {
  HARNESS_SCHEMAS,
  eventOf,
  makeHarness,
  type TestHarness,
  watchedPool,
  whenPosition,
} from '../test/test-harness.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

describe('runSaga', () => {
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

  const append = (events: NewEvent[]) => harness.store.append(`shop-${randomUUID()}`, 'none', events);
  const delivered = (shop: number, n: number) => eventOf({ shop, n }, 'Delivered');
  const parts = () => ({ saga: SHOPS, store: harness.store, pool: harness.pool, queue });

  async function stored(): Promise<{ states: [string, unknown][]; tasks: string[] }> {
    const states = await harness.pool.query<{ key: string; state: string }>(
      'SELECT key, state FROM saga_state ORDER BY key',
    );
    const tasks = await harness.pool.query<{ key: string }>('SELECT key FROM task ORDER BY key COLLATE "C"');
    return {
      states: states.rows.map((row) => [row.key, JSON.parse(row.state)]),
      tasks: tasks.rows.map((row) => row.key),
    };
  }

  it('keeps states between pages and processes, and schedules what follows', async () => {
    await append([delivered(1, 10), delivered(2, 20), delivered(1, 11)]);
    await catchUpSaga({ ...parts(), batchSize: 2 });
    expect(await stored()).toEqual({
      states: [
        ['1', { count: 2, last: 11 }],
        ['2', { count: 1, last: 20 }],
      ],
      tasks: ['check:1:2:11:10'],
    });
    await append([delivered(2, 21)]);
    await catchUpSaga(parts());
    expect((await stored()).tasks).toEqual(['check:1:2:11:10', 'check:2:2:21:20']);
  });

  it.each([3_600_000, -3_600_000])(
    "hands out the database's time of the page, though the log's server is %d ms off",
    async (offMs) => {
      await append([delivered(1, 10)]);
      const store = Object.create(harness.store, {
        readAll: {
          value: async (...given: Parameters<typeof harness.store.readAll>) => {
            const page = await harness.store.readAll(...given);
            return {
              ...page,
              events: page.events.map((event) => ({
                ...event,
                recordedAt: new Date(event.recordedAt.getTime() + offMs),
              })),
            };
          },
        },
      }) as typeof harness.store;
      const saga: typeof SHOPS = {
        ...SHOPS,
        react: (state, event, key) => ({
          ...SHOPS.react(state, event, key),
          tasks: [{ key, kind: 'check', lane: 'l', dueAt: event.handledAt, payload: {} }],
        }),
      };
      const time = async () =>
        (await harness.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')).rows[0]!.now.getTime();
      const beforeMs = await time();
      await catchUpSaga({ ...parts(), saga, store });
      const { rows } = await harness.pool.query<{ due_at: Date }>('SELECT due_at FROM task');
      const dueMs = rows[0]!.due_at.getTime();
      expect([dueMs >= beforeMs, dueMs <= (await time())]).toEqual([true, true]);
    },
  );

  it('forgets an instance that is done, and only that one', async () => {
    await append([delivered(1, 10), delivered(2, 20)]);
    await catchUpSaga(parts());
    await append([eventOf({ shop: 1 }, 'Closed')]);
    await catchUpSaga(parts());
    expect(await stored()).toEqual({ states: [['2', { count: 1, last: 20 }]], tasks: ['closed:1:1'] });
  });

  it('stores neither state nor checkpoint when its tasks cannot be scheduled', async () => {
    await append([delivered(1, 10), delivered(1, 11)]);
    const broken = { schedule: () => Promise.reject(new Error('no tasks today')) };
    await expect(catchUpSaga({ ...parts(), queue: broken })).rejects.toThrow('no tasks today');
    expect(await stored()).toEqual({ states: [], tasks: [] });
    await catchUpSaga(parts());
    expect((await stored()).tasks).toEqual(['check:1:2:11:10']);
  });

  it('loads and writes a page in one statement each, whatever its size', async () => {
    await append(Array.from({ length: 400 }, (_, n) => delivered(n % 100, n)));
    const statements: string[] = [];
    const pool = watchedPool(harness.pool, (text) => statements.push(text));
    await catchUpSaga({ ...parts(), pool });
    // Begin, lock, load, save, schedule, move, commit.
    expect(statements).toHaveLength(7);
    expect((await stored()).states).toHaveLength(100);
  });

  it('comes to the same states and tasks through any failures as in one clean run', async () => {
    const happening = fc.record({
      shop: fc.nat(3),
      n: fc.nat(9),
      type: fc.constantFrom('Delivered', 'Delivered', 'Closed', 'Looked'),
    });
    // What befalls each attempt in turn: nothing, a failure after scheduling, or the end of its connection there.
    const fates = fc.array(fc.constantFrom('fine', 'fails', 'is cut off'), { maxLength: 6 });
    const property = fc.asyncProperty(
      fc.array(happening, { minLength: 1, maxLength: 25 }),
      fates,
      fc.integer({ min: 1, max: 6 }),
      async (happenings, misfortunes, batchSize) => {
        await harness.pool.query('TRUNCATE event, event_any, saga_state, task, task_key');
        await harness.pool.query('UPDATE event_counter SET position = 0');
        await append(happenings.map(({ type, ...data }) => eventOf(data, type)));
        await dropCheckpoint(harness.pool, sagaCheckpoint(SHOPS));
        await runThrough(batchSize, misfortunes);
        const battered = await stored();
        await harness.pool.query('TRUNCATE saga_state, task, task_key');
        await dropCheckpoint(harness.pool, sagaCheckpoint(SHOPS));
        await catchUpSaga({ ...parts(), batchSize: 500 });
        expect(battered).toEqual(await stored());
      },
    );
    await fc.assert(property, { seed: SEED, numRuns: 25 });
  });

  /** Two runners race for the saga while their scheduling meets the fates. */
  async function runThrough(batchSize: number, fates: string[]): Promise<void> {
    const left = [...fates];
    const schedule = async (db: Queryable, tasks: NewTask[]): Promise<void> => {
      await queue.schedule(db, tasks);
      const fate = left.shift() ?? 'fine';
      if (fate === 'fails') throw new Error('after scheduling');
      if (fate !== 'is cut off') return;
      const { rows } = await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await harness.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    };
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(await harness.store.head());
    const options = {
      ...parts(),
      queue: { schedule },
      signal: end.signal,
      batchSize,
      retryFirstDelayMs: 1,
      minPageIntervalMs: 0,
      leaseMs: 1,
      standbyPollMs: 1,
      onBatch,
    };
    const running = [runSaga(options), runSaga(options)];
    await reached;
    end.abort();
    await Promise.all(running);
  }
});
