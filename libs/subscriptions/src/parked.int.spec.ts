import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { openEventStore, type EventStore, type NewEvent } from '#event-store';
import { type NewTask, PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../test/support/database.js';
import { eventStoreServer } from '../../../test/support/event-store-server.js';
import type { Saga } from './fold.js';
import { parkedFigures, parkedInstances } from './parked.js';
import { retryParked } from './retry-parked.js';
import { catchUpSaga, runSaga, sagaCheckpoint, type ParkingNews } from './saga.js';
import { type ShopState, SHOPS } from '../test/test-saga.js';
import { HARNESS_SCHEMAS, eventOf, makeHarness, type TestHarness, whenPosition } from '../test/test-harness.js';

const server = await eventStoreServer();

/** What is poison until it is mended: by the number an event carries. */
const isPoison = (n: unknown): boolean => n === 666;

/** The shops, with a fault that can be mended; `route` makes the fault one of telling whom an event concerns. */
function faultyShops(fault: { isMended: boolean; place?: 'react' | 'route' | 'task' }): Saga<ShopState> {
  const strike = (n: unknown, place: string): boolean =>
    !fault.isMended && isPoison(n) && (fault.place ?? 'react') === place;
  return {
    ...SHOPS,
    keysOf: (event) => {
      if (strike(event.data['n'], 'route')) throw new Error('concerns nobody knows whom');
      return SHOPS.keysOf(event);
    },
    react: (state, event, key) => {
      if (strike(event.data['n'], 'react')) throw new Error(`no price for ${key}`);
      const reaction = SHOPS.react(state, event, key);
      return strike(event.data['n'], 'task')
        ? { ...reaction, tasks: [{ ...(task as NewTask), dueAt: new Date(Number.NaN) }] }
        : reaction;
    },
  };
}
const task = { key: 'unfit', kind: 'check', lane: 'internal', payload: {} };

describe.each([
  {
    log: 'PostgreSQL',
    start: () => Promise.resolve({ url: undefined as string | undefined, stop: () => Promise.resolve() }),
  },
  {
    log: `EventStoreDB, ${server.name}`,
    start: () => server.start() as Promise<{ url: string | undefined; stop(): Promise<void> }>,
  },
])('a saga whose event throws, on $log', ({ start }) => {
  let running: { url: string | undefined; stop(): Promise<void> };
  let harness: TestHarness;
  let store: EventStore;
  let queue: PostgresTaskQueue;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(() => running?.stop());
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
    store = await openEventStore({ pool: harness.pool, eventStoreUrl: running.url });
    queue = new PostgresTaskQueue({ pool: harness.pool });
    // A log on a server is shared by these tests: each begins at its end.
    await harness.pool.query('INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, clock_timestamp())', [
      sagaCheckpoint(SHOPS),
      await store.head(),
    ]);
  });
  afterEach(async () => {
    await queue.close();
    await store.close();
    await harness.stop();
  });

  const append = (events: NewEvent[], stream: string = randomUUID()) => store.append(`shop-${stream}`, 'any', events);
  const delivered = (shop: number, n: number) => eventOf({ shop, n }, 'Delivered');
  const told = (shop: number, n: number, tell: number) => eventOf({ shop, n, tell }, 'Delivered');
  const QUICK = { retryFirstDelayMs: 1, retryMaxDelayMs: 5, minPageIntervalMs: 0, standbyPollMs: 1 };
  const happening = fc.record({
    shop: fc.nat(3),
    tell: fc.nat(3),
    n: fc.constantFrom(1, 2, 3, 666),
    type: fc.constantFrom('Delivered', 'Delivered', 'Looked'),
  });
  const steps = fc.array(fc.constantFrom('work', 'work', 'try all', 'try all and fail'), { maxLength: 6 });
  const happened = ({ type, shop, n, tell }: { type: string; shop: number; n: number; tell: number }) =>
    type === 'Looked' ? eventOf({ shop, n }, type) : told(shop, n, tell);
  const parts = (saga: Saga<ShopState>) => ({ saga, store, pool: harness.pool, queue });

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
  const held = async (): Promise<number[]> =>
    (await harness.pool.query<{ version: number }>('SELECT version FROM held_event ORDER BY key, position')).rows.map(
      (row) => row.version,
    );

  it('goes on for all instances but one, which is shown, and which catches up in order once it is mended', async () => {
    const fault = { isMended: false };
    const saga = faultyShops(fault);
    const stream = randomUUID();
    await append([delivered(1, 10), delivered(2, 20), delivered(1, 666), delivered(2, 21), delivered(1, 11)], stream);
    await catchUpSaga(parts(saga));
    await append([delivered(1, 12), delivered(2, 22)], stream);
    await catchUpSaga({ ...parts(saga), batchSize: 1 });
    expect(await stored()).toEqual({
      states: [
        ['1', { count: 1, last: 10 }],
        ['2', { count: 3, last: 22 }],
      ],
      tasks: ['check:2:2:21:20'],
    });
    expect(await parkedInstances(harness.pool)).toMatchObject([
      { saga: 'shops', key: '1', stream: `shop-${stream}`, version: 2, error: 'no price for 1', attempts: 1, held: 3 },
    ]);
    expect(await parkedFigures(harness.pool)).toEqual([{ saga: 'shops', instances: 1 }]);

    expect(await retryParked(parts(saga), '1')).toBe('stands');
    expect(await parkedInstances(harness.pool)).toMatchObject([{ key: '1', version: 2, attempts: 2, held: 3 }]);
    fault.isMended = true;
    expect(await retryParked(parts(saga), '1')).toBe('released');
    expect(await retryParked(parts(saga), '1')).toBe('not_parked');
    expect(await stored()).toEqual({
      states: [
        ['1', { count: 4, last: 12 }],
        ['2', { count: 3, last: 22 }],
      ],
      tasks: ['check:1:2:666:10', 'check:1:4:12:11', 'check:2:2:21:20'],
    });
    expect([await parkedInstances(harness.pool), await held()]).toEqual([[], []]);
    await append([delivered(1, 13)], stream);
    await catchUpSaga(parts(saga));
    expect((await stored()).states[0]).toEqual(['1', { count: 5, last: 13 }]);
  });

  it('comes as far as the next event that throws', async () => {
    await append([delivered(1, 10), delivered(1, 666), delivered(1, 11), delivered(1, 7), delivered(1, 12)]);
    await catchUpSaga(parts(faultyShops({ isMended: false })));
    const stops = (n: number): Saga<ShopState> => ({
      ...SHOPS,
      react: (state, event, key) =>
        event.data['n'] === n
          ? (() => {
              throw new Error('another fault\0');
            })()
          : SHOPS.react(state, event, key),
    });
    expect(await retryParked(parts(stops(7)), '1')).toBe('stands');
    expect((await stored()).states).toEqual([['1', { count: 3, last: 11 }]]);
    expect(await parkedInstances(harness.pool)).toMatchObject([
      { version: 3, error: 'another fault\\0', attempts: 2, held: 2 },
    ]);
    expect(await retryParked(parts(SHOPS), '1')).toBe('released');
    expect((await stored()).states).toEqual([['1', { count: 5, last: 12 }]]);
  });

  it('holds a whole stream where nobody can tell whom its event concerns, and no other', async () => {
    const fault = { isMended: false, place: 'route' as const };
    const saga = faultyShops(fault);
    const stream = randomUUID();
    await append([delivered(1, 10), delivered(1, 666), delivered(2, 20)], stream);
    await append([delivered(2, 21), delivered(3, 30)]);
    await catchUpSaga({ ...parts(saga), batchSize: 2 });
    expect((await stored()).states).toEqual([
      ['1', { count: 1, last: 10 }],
      ['2', { count: 1, last: 21 }],
      ['3', { count: 1, last: 30 }],
    ]);
    expect(await parkedInstances(harness.pool)).toMatchObject([{ key: `stream:shop-${stream}`, version: 1, held: 2 }]);
    fault.isMended = true;
    expect(await retryParked(parts(saga), `stream:shop-${stream}`)).toBe('released');
    expect((await stored()).states.slice(0, 2)).toEqual([
      ['1', { count: 2, last: 666 }],
      ['2', { count: 2, last: 20 }],
    ]);
  });

  it('parks for a task that no queue takes, instead of failing the page of everybody', async () => {
    await append([delivered(1, 666), delivered(2, 20)]);
    await catchUpSaga(parts(faultyShops({ isMended: false, place: 'task' })));
    expect((await stored()).states).toEqual([['2', { count: 1, last: 20 }]]);
    expect(await parkedInstances(harness.pool)).toMatchObject([
      { key: '1', error: expect.stringContaining('dueAt is not a date') },
    ]);
  });

  it('says once what it parked, after the commit, and halts as a whole beyond its limits until something is mended', async () => {
    const fault = { isMended: false };
    const saga = faultyShops(fault);
    const news: ParkingNews[] = [];
    const end = new AbortController();
    const common = {
      ...parts(saga),
      parkingLimits: { instances: 2, events: 4 },
      signal: end.signal,
      ...QUICK,
    };
    const [shops, numbers] = [
      [1, 2, 1, 5, 3, 4],
      [666, 666, 10, 50, 666, 40],
    ];
    await append(shops.map((shop, i) => delivered(shop, numbers[i]!)));
    const { reached, onBatch } = whenPosition(await store.head());
    let halted: (error: unknown) => void;
    const halt = new Promise<unknown>((resolve) => (halted = resolve));
    const ended = runSaga({
      ...common,
      onBatch,
      onParked: (one) => news.push(one),
      onError: (error, { kind }) => kind === 'subscription_halted' && halted(error),
    });
    expect(await halt).toMatchObject({
      message: 'saga shops: more is parked than 2 instances with 4 events in all; now no price for 3',
    });
    expect(news.map((one) => one.key)).toEqual(['1', '2']);
    expect((await stored()).states).toEqual([['5', { count: 1, last: 50 }]]);
    fault.isMended = true;
    await reached;
    end.abort();
    await ended;
    expect((await stored()).states).toEqual([
      ['3', { count: 1, last: 666 }],
      ['4', { count: 1, last: 40 }],
      ['5', { count: 1, last: 50 }],
    ]);
  });

  it('halts as well when too many events are held', async () => {
    await append([delivered(1, 666), ...Array.from({ length: 5 }, (_, n) => delivered(1, n))]);
    await expect(
      catchUpSaga({ ...parts(faultyShops({ isMended: false })), parkingLimits: { instances: 9, events: 5 } }),
    ).rejects.toThrow('more is parked than 9 instances with 5 events');
    expect(await parkedInstances(harness.pool)).toEqual([]);
  });

  it('brings every instance to where one clean run brings it, whatever was parked, retried and torn meanwhile', async () => {
    const property = fc.asyncProperty(
      fc.array(happening, { minLength: 1, maxLength: 15 }),
      steps,
      fc.integer({ min: 1, max: 5 }),
      async (happenings, wanted, batchSize) => {
        await harness.pool.query('TRUNCATE saga_state, task, task_key, held_event, parked_instance');
        const begin = await store.head();
        const restart = () =>
          harness.pool.query('UPDATE checkpoint SET position = $2 WHERE name = $1', [sagaCheckpoint(SHOPS), begin]);
        await restart();
        const [first, second] = [happenings.slice(0, 8), happenings.slice(8)];
        const fault = { isMended: false };
        const saga = faultyShops(fault);
        await append(first.map(happened));
        for (const [n, step] of wanted.entries()) {
          if (n === 2 && second.length > 0) await append(second.map(happened));
          if (step === 'work') await catchUpSaga({ ...parts(saga), batchSize });
          else await tryAll(saga, step === 'try all');
        }
        await catchUpSaga({ ...parts(saga), batchSize });
        fault.isMended = true;
        await tryAll(saga, true);
        const afterParking = await stored();
        expect(await held()).toEqual([]);
        await harness.pool.query('TRUNCATE saga_state, task, task_key');
        await restart();
        await catchUpSaga(parts(SHOPS));
        expect(afterParking).toEqual(await stored());
      },
    );
    await fc.assert(property, { numRuns: 20 });
  });

  /** Tries everything that is parked; where it is to fail, scheduling does, and takes its transaction with it. */
  async function tryAll(saga: Saga<ShopState>, goesWell: boolean): Promise<void> {
    const torn = {
      schedule: async (...given: Parameters<PostgresTaskQueue['schedule']>) => {
        await queue.schedule(...given);
        throw new Error('torn');
      },
    };
    for (const { key } of await parkedInstances(harness.pool)) {
      const trying = retryParked({ ...parts(saga), ...(goesWell ? {} : { queue: torn }) }, key);
      await (goesWell ? trying : trying.catch((error: unknown) => expect(error).toMatchObject({ message: 'torn' })));
    }
  }

  it('is not confused by two who try at once, nor by events that come meanwhile', async () => {
    const stream = randomUUID();
    await append([delivered(1, 666), ...Array.from({ length: 250 }, (_, n) => delivered(1, n))], stream);
    await catchUpSaga(parts(faultyShops({ isMended: false })));
    await append([delivered(1, 1_000)], stream);
    const [one, other] = await Promise.all([
      retryParked(parts(SHOPS), '1'),
      retryParked(parts(SHOPS), '1'),
      catchUpSaga(parts(SHOPS)),
    ]);
    // One of them lets the instance go. What came meanwhile was held if it came before that, and is folded by then.
    expect([one, other].filter((outcome) => outcome === 'released').length).toBeGreaterThan(0);
    expect(await stored()).toMatchObject({ states: [['1', { count: 252, last: 1_000 }]] });
    expect(await parkedInstances(harness.pool)).toEqual([]);
  });
});
