import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '#event-store';
import type { Queryable, Transaction } from '#postgres';
import { type NewTask, PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../test/support/database.js';
import { MOST_TASKS, type Saga } from './fold.js';
import { retryParked } from './retry-parked.js';
import { catchUp, runSubscription } from './runner.js';
import { catchUpSaga } from './saga.js';
import {
  HARNESS_SCHEMAS,
  eventOf,
  makeHarness,
  numberOf,
  takeEffect,
  type TestHarness,
  upTo,
  whenPosition,
} from '../test/test-harness.js';

let harness: TestHarness;
beforeEach(async () => {
  harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
});
afterEach(() => harness.stop());

describe('a handler that stops in mid-page', () => {
  const EVENTS = 23;
  const MOST = 4;
  /** Takes the first few, and notes how many it was offered. */
  const few =
    (offered: number[]) =>
    async (events: RecordedEvent[], tx: Transaction): Promise<number> => {
      offered.push(events.length);
      const some = events.slice(0, MOST);
      await takeEffect(some, tx);
      return some.length;
    };
  const OFFERED = [10, 6, 2, 10, 6, 2, 3];

  it('gets the rest in transactions of its own, each event once and in order, as a runner', async () => {
    await harness.note(upTo(EVENTS));
    const offered: number[] = [];
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(await harness.store.head());
    const running = runSubscription({
      store: harness.store,
      pool: harness.pool,
      name: 'trial',
      handle: few(offered),
      signal: end.signal,
      batchSize: 10,
      minPageIntervalMs: 0,
      onBatch,
    });
    await reached;
    end.abort();
    await running;
    expect(await harness.effects()).toEqual(upTo(EVENTS));
    expect(offered).toEqual(OFFERED);
  });

  it('is told of the next page while it works one, when it catches up', async () => {
    await harness.note(upTo(EVENTS));
    const told: number[][] = [];
    let whenTold: Promise<void>;
    let tell = (): void => undefined;
    const expectTelling = (): void => void (whenTold = new Promise((resolve) => (tell = resolve)));
    expectTelling();
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
      // Waits for ever unless it is told before it has ended.
      if (numberOf(events.at(-1) as RecordedEvent) < EVENTS - 1) await whenTold;
      expectTelling();
      await takeEffect(events, tx);
    };
    const readAhead = (events: RecordedEvent[]): void => {
      told.push(events.map(numberOf));
      tell();
    };
    await catchUp({ store: harness.store, pool: harness.pool, name: 'trial', batchSize: 10, handle, readAhead });
    expect(await harness.effects()).toEqual(upTo(EVENTS));
    expect(told).toEqual([upTo(20).slice(10), upTo(EVENTS).slice(20)]);
  });

  it('gets the rest in transactions of its own, each event once and in order, when it catches up', async () => {
    await harness.note(upTo(EVENTS));
    const offered: number[] = [];
    const batches: { events: number; position: bigint }[] = [];
    const options = { store: harness.store, pool: harness.pool, name: 'trial', batchSize: 10 };
    expect(
      await catchUp({
        ...options,
        handle: few(offered),
        onBatch: ({ events, position }) => void batches.push({ events, position }),
      }),
    ).toBe(BigInt(EVENTS));
    expect(await harness.effects()).toEqual(upTo(EVENTS));
    expect(offered).toEqual(OFFERED);
    expect(batches.map(({ events }) => events)).toEqual([4, 4, 2, 4, 4, 2, 3]);
  });

  it('goes on in mid-page after a failure there', async () => {
    await harness.note(upTo(10));
    const options = { store: harness.store, pool: harness.pool, name: 'trial', batchSize: 10 };
    let isBroken = true;
    const handle = (events: RecordedEvent[], tx: Transaction): Promise<number> =>
      isBroken && numberOf(events[0] as RecordedEvent) === 4 ? Promise.reject(new Error('lost')) : few([])(events, tx);
    await expect(catchUp({ ...options, handle })).rejects.toThrow('lost');
    expect(await harness.effects()).toEqual([0, 1, 2, 3]);
    isBroken = false;
    await catchUp({ ...options, handle });
    expect(await harness.effects()).toEqual(upTo(10));
  });

  it.each([0, 11, 1.5])('is refused when it says %s of 10', async (handled) => {
    await harness.note(upTo(10));
    const handle = async (events: RecordedEvent[], tx: Transaction): Promise<number> => {
      await takeEffect(events, tx);
      return handled;
    };
    await expect(catchUp({ store: harness.store, pool: harness.pool, name: 'trial', handle })).rejects.toThrow(
      `trial says that it handled ${handled} of 10 events`,
    );
    expect(await harness.effects()).toEqual([]);
  });
});

describe('a saga whose events plan many tasks', () => {
  const TASKS_EACH = 2_000;
  const EVENTS = 7;
  let isFaulty = false;
  const NOISY: Saga<{ seen: number }> = {
    name: 'noisy',
    filter: { streamPrefixes: ['noisy-'] },
    keysOf: () => ['all'],
    initial: { seen: 0 },
    react: (state, event) => {
      if (isFaulty) throw new Error('not now');
      const tasks = upTo(TASKS_EACH).map((n): NewTask => ({
        key: `noise:${numberOf(event)}:${n}`,
        kind: 'check',
        lane: 'internal',
        dueAt: new Date(0),
        payload: {},
      }));
      return { state: { seen: state.seen + 1 }, tasks };
    },
  };
  /** Counts the tasks of each transaction: a page calls it once. */
  const counting = (queue: PostgresTaskQueue, scheduled: number[]) => ({
    schedule: (db: Queryable, tasks: NewTask[]): Promise<void> => {
      scheduled.push(tasks.length);
      return queue.schedule(db, tasks);
    },
  });
  const appended = () =>
    harness.store.append(
      `noisy-${randomUUID()}`,
      'none',
      upTo(EVENTS).map((n) => eventOf({ n })),
    );
  const kept = async () =>
    (
      await harness.pool.query<{ tasks: number; state: string }>(
        `SELECT (SELECT count(*)::int FROM task) AS tasks, (SELECT state FROM saga_state) AS state`,
      )
    ).rows;

  it('plans a bounded number in one transaction, and all of them', async () => {
    await appended();
    const queue = new PostgresTaskQueue({ pool: harness.pool });
    const scheduled: number[] = [];
    await catchUpSaga({ saga: NOISY, store: harness.store, pool: harness.pool, queue: counting(queue, scheduled) });
    expect(Math.max(...scheduled)).toBeLessThan(MOST_TASKS + TASKS_EACH);
    expect(scheduled).toEqual([6_000, 6_000, 2_000]);
    expect(await kept()).toEqual([{ tasks: EVENTS * TASKS_EACH, state: `{"seen":${EVENTS}}` }]);
    await queue.close();
  });

  it('does so too when it is tried again after it was parked', async () => {
    isFaulty = true;
    await appended();
    const queue = new PostgresTaskQueue({ pool: harness.pool });
    const scheduled: number[] = [];
    const parts = { saga: NOISY, store: harness.store, pool: harness.pool, queue: counting(queue, scheduled) };
    await catchUpSaga(parts);
    isFaulty = false;
    expect(await retryParked(parts, 'all')).toBe('released');
    expect(scheduled).toEqual([6_000, 6_000, 2_000]);
    expect(await kept()).toEqual([{ tasks: EVENTS * TASKS_EACH, state: `{"seen":${EVENTS}}` }]);
    await queue.close();
  });
});
