import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageBus, OutgoingMessage } from '#bus';
import { VirtualClock } from '#kernel';
import { installationSchema, type Queryable } from '#postgres';
import { readModelSchemas } from '#read-models';
import { removeOldRows, type RemovalOptions } from '#retention';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { OutcomeNotifier } from './outcome-notifier.js';
import { runDelivery } from './delivery.js';
import { deliveries, outcomesSchema } from './delivery-table.js';
import { runPublisher, type PublisherOptions } from './publisher.js';
import { outcomeRemoval } from './retention.js';

/**
 * A broker that can be away, and that can keep a batch and still fail: what it has is `taken`, in the order in which it
 * came.
 */
class FakeBus implements Pick<MessageBus, 'publishOutcomes'> {
  readonly taken: string[] = [];
  readonly batches: number[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  /** Asked for each batch: what becomes of it. */
  fate: (call: number) => 'confirm' | 'lose' | 'keep half and fail' | 'keep and fail' | 'refuse the first' = () =>
    'confirm';
  /** Before the confirm is given. */
  beforeConfirm: (messages: OutgoingMessage[]) => Promise<void> | void = () => undefined;

  async publishOutcomes(messages: OutgoingMessage[]): Promise<void> {
    const fate = this.fate(this.batches.push(messages.length) - 1);
    this.mostAtOnce = Math.max(this.mostAtOnce, (this.atOnce += 1));
    try {
      await new Promise(setImmediate);
      if (fate === 'lose') throw new Error('no broker');
      const kept =
        fate === 'keep half and fail'
          ? messages.slice(0, Math.ceil(messages.length / 2))
          : messages.slice(fate === 'refuse the first' ? 1 : 0);
      this.taken.push(...kept.map((one) => one.id));
      if (fate !== 'confirm') throw new Error('the confirm was lost');
      await this.beforeConfirm(messages);
    } finally {
      this.atOnce -= 1;
    }
  }
}

const idOf = (n: number): string => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;
const upTo = (count: number): string[] => Array.from({ length: count }, (_, n) => idOf(n + 1));
/** Each id once, in the order of its first appearance. */
const firsts = (ids: string[]): string[] => [...new Set(ids)];

let db: TestDatabase;
let notifier: OutcomeNotifier;
let end: AbortController;
let running: Promise<void>[];

beforeAll(async () => {
  db = await testDatabase([installationSchema, ...readModelSchemas, outcomesSchema]);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.pool.query('TRUNCATE outcome_event, outcome_removed, outcome_delivery');
  notifier = new OutcomeNotifier({ pool: db.pool, pollMs: 5 });
  end = new AbortController();
  running = [];
});
afterEach(async () => {
  end.abort();
  await notifier.close();
  await Promise.all(running);
});

/** Outcomes of the positions up to `count`, as the projection would write them; of so many documents. */
const tell = (count: number, at = new Date(), documents = count) =>
  db.pool.query(
    `INSERT INTO outcome_event SELECT n, ('00000000-0000-5000-8000-' || lpad(n::text, 12, '0'))::uuid, 't',
        'document.concluded.accepted', 's' || n % $3, '{}', $2
     FROM generate_series(1, $1) AS n ON CONFLICT DO NOTHING`,
    [count, at, documents],
  );
const start = (bus: FakeBus, over: Partial<PublisherOptions> = {}): { ended: Promise<void> } => {
  const ended = runPublisher({
    pool: db.pool,
    notifier,
    bus,
    signal: end.signal,
    retryFirstMs: 1,
    retryMostMs: 4,
    standbyMs: 5,
    batchSize: 10,
    report: () => undefined,
    ...over,
  });
  running.push(ended);
  return { ended };
};
const cursor = async (): Promise<bigint | undefined> => (await deliveries(db.pool))[0]?.position;
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 20_000 && !(await holds()); n += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await holds()).toBe(true);
}
/** A database that fails at the statement of this name: before it was done, or after. */
const failingAt = (name: string, when: 'before' | 'after', times: number): Queryable => {
  let left = times;
  const query = async (statement: { name?: string }, values: never): Promise<unknown> => {
    const fails = typeof statement === 'object' && statement.name === name && left > 0;
    if (fails) left -= 1;
    if (fails && when === 'before') throw new Error('the connection was lost');
    const result = await db.pool.query(statement as never, values);
    if (fails) throw new Error('the answer was lost');
    return result;
  };
  return { query } as unknown as Queryable;
};

describe('the publisher', () => {
  it('publishes each outcome once and in order, in bounded batches, and goes on where it stopped', async () => {
    await tell(25);
    const bus = new FakeBus();
    const first = new AbortController();
    const run = start(bus, { signal: first.signal });
    await until(async () => (await cursor()) === 25n);
    first.abort();
    await run.ended;
    await tell(32);
    start(bus);
    await until(async () => (await cursor()) === 32n);
    expect(bus.taken).toEqual(upTo(32));
    expect(bus.batches).toEqual([10, 10, 5, 7]);
  });

  it('publishes what comes while it waits', async () => {
    const bus = new FakeBus();
    start(bus);
    await until(async () => (await deliveries(db.pool)).length === 1);
    await tell(3);
    await until(() => bus.taken.length === 3);
    await tell(4);
    await until(() => bus.taken.length === 4);
    expect(bus.taken).toEqual(upTo(4));
  });

  it('loses nothing while the bus is away: it waits longer each time within a limit, says why, and takes up again', async () => {
    await tell(5);
    const bus = new FakeBus();
    bus.fate = (call) => (call < 8 ? 'lose' : 'confirm');
    const waits: number[] = [];
    start(bus, {
      random: () => 1,
      report: ({ retryInMs, reason }) => waits.push(retryInMs) && expect(reason).toBe('no broker'),
    });
    expect((await deliveries(db.pool))[0]?.oldestWaitingAt ?? new Date()).toBeInstanceOf(Date);
    await until(async () => (await cursor()) === 5n);
    expect(waits).toEqual([1, 2, 4, 4, 4, 4, 4, 4]);
    expect(bus.taken).toEqual(upTo(5));
    expect((await deliveries(db.pool))[0]).toMatchObject({ failures: 0, lastError: null });
  });

  it.each(['keep half and fail', 'keep and fail'] as const)(
    'publishes again under the same ids, in order, when the broker takes a batch and says it did not: %s',
    async (fate) => {
      await tell(30);
      const bus = new FakeBus();
      bus.fate = (call) => (call % 2 === 0 ? fate : 'confirm');
      start(bus);
      await until(async () => (await cursor()) === 30n);
      expect(firsts(bus.taken)).toEqual(upTo(30));
      expect(bus.taken.length).toBeGreaterThan(30);
    },
  );

  it('keeps the order of a document when a full queue of the ERP refuses one outcome and takes the next', async () => {
    await tell(12, new Date(), 4);
    const bus = new FakeBus();
    bus.fate = (call) => (call % 2 === 0 ? 'refuse the first' : 'confirm');
    start(bus);
    await until(async () => (await cursor()) === 12n);
    const ofDocument = (n: number) => firsts(bus.taken).filter((id) => Number(id.slice(-12)) % 4 === n);
    for (const n of [0, 1, 2, 3]) expect(ofDocument(n)).toEqual([...ofDocument(n)].sort());
    expect(firsts(bus.taken)).toHaveLength(12);
  });

  it('repeats one outcome, and no batch, while a full queue of the ERP refuses it and other queues take all', async () => {
    await tell(30);
    const taken: string[] = [];
    let refusals = 40;
    const bus = {
      publishOutcomes: async (messages: OutgoingMessage[]) => {
        taken.push(...messages.map((one) => one.id));
        if (messages.some(({ id }) => id === idOf(17)) && (refusals -= 1) >= 0) throw new Error('refused');
      },
    };
    start(bus as FakeBus);
    await until(async () => (await cursor()) === 30n);
    const copies = (n: number): number => taken.filter((id) => id === idOf(n)).length;
    expect(firsts(taken)).toEqual(upTo(30));
    expect(copies(17)).toBe(41);
    expect(Math.max(...[...Array(16).keys()].map((n) => copies(n + 1)))).toBeLessThan(6);
    expect(Math.max(...[...Array(13).keys()].map((n) => copies(n + 18)))).toBeLessThan(6);
  });

  it('publishes again what was confirmed when the process dies before the cursor has moved', async () => {
    await tell(20);
    const bus = new FakeBus();
    start(bus, { pool: failingAt('outcome-cursor', 'before', 3) });
    await until(async () => (await cursor()) === 20n);
    expect(firsts(bus.taken)).toEqual(upTo(20));
    expect(bus.taken.length).toBe(50);
  });

  it('publishes nothing twice when the cursor has moved and the answer was lost', async () => {
    await tell(20);
    const bus = new FakeBus();
    start(bus, { pool: failingAt('outcome-cursor', 'after', 2) });
    await until(async () => (await cursor()) === 20n);
    expect(bus.taken).toEqual(upTo(20));
  });

  it('takes over from a process that died in the middle, once its lease has run out', async () => {
    await tell(5);
    await db.pool.query(
      `INSERT INTO outcome_delivery (name, position, holder, held_until) VALUES ('bus', 2, gen_random_uuid(), ` +
        `clock_timestamp() + interval '150 milliseconds')`,
    );
    const bus = new FakeBus();
    start(bus);
    await until(async () => (await cursor()) === 5n);
    expect(bus.taken).toEqual(upTo(5).slice(2));
  });

  it('knows when another process had the turn meanwhile', async () => {
    await tell(2);
    await db.pool.query(
      `INSERT INTO outcome_delivery (name, holder, held_until) VALUES ('bus', gen_random_uuid(), ` +
        `clock_timestamp() + interval '2 seconds')`,
    );
    const turns: boolean[] = [];
    const deliver = async (_: unknown, { isNew }: { isNew: boolean }) => (turns.push(isNew), { confirmed: 1 });
    const rest = { pool: db.pool, notifier, signal: end.signal, report: () => undefined, standbyMs: 5, batchSize: 1 };
    running.push(runDelivery({ ...rest, name: 'bus', deliver, stepMs: 1, retryFirstMs: 1, retryMostMs: 1 }));
    await until(() => turns.length === 2);
    expect(turns).toEqual([true, false]);
  });

  it('is one at a time over all processes, and the others stand by', async () => {
    const bus = new FakeBus();
    for (let n = 0; n < 4; n += 1) start(bus);
    expect((await deliveries(db.pool)).every((one) => one.oldestWaitingAt === null)).toBe(true);
    for (const count of [40, 80, 120]) {
      await tell(count);
      await until(async () => (await cursor()) === BigInt(count));
    }
    expect(bus.mostAtOnce).toBe(1);
    expect(bus.taken).toEqual(upTo(120));
  });

  it('lets another process try after each failure: one that cannot reach the bus keeps none from those that can', async () => {
    await tell(5);
    const [cutOff, healthy] = [new FakeBus(), new FakeBus()];
    cutOff.fate = () => 'lose';
    start(cutOff);
    await until(() => cutOff.batches.length > 1);
    start(healthy);
    await until(async () => (await cursor()) === 5n);
    expect(healthy.taken).toEqual(upTo(5));
  });

  it('leaves all to gateways with RabbitMQ where one without it runs beside them, until they are long gone', async () => {
    const [embedded, amqp] = [new FakeBus(), new FakeBus()];
    let turnsAsked = 0;
    const counted = async (statement: { name?: string }, values: never): Promise<unknown> => {
      if (statement.name === 'outcome-turn') turnsAsked += 1;
      return db.pool.query(statement as never, values);
    };
    await tell(2);
    start(embedded, { via: 'embedded', leaseMs: 60_000, pool: { query: counted } as unknown as Queryable });
    await until(async () => (await cursor()) === 2n);
    const stop = new AbortController();
    const run = start(amqp, { via: 'amqp', leaseMs: 60_000, signal: stop.signal });
    const via = async () => (await db.pool.query<{ via: string }>('SELECT via FROM outcome_delivery')).rows[0]?.via;
    await until(async () => (await via()) === 'amqp');
    await tell(5);
    await until(async () => (await cursor()) === 5n);
    stop.abort();
    await run.ended;
    await tell(7);
    const asked = turnsAsked;
    await until(() => turnsAsked > asked + 3);
    expect([await cursor(), embedded.taken, amqp.taken]).toEqual([5n, upTo(2), upTo(5).slice(2)]);
    await db.pool.query(`UPDATE outcome_delivery SET held_until = held_until - interval '11 minutes'`);
    await until(async () => (await cursor()) === 7n);
    expect([embedded.taken, amqp.taken]).toEqual([[...upTo(2), ...upTo(7).slice(5)], upTo(5).slice(2)]);
  });

  it.each([
    ['an attempt that was to be made long ago', `next_attempt_at = clock_timestamp() - interval '1 minute'`],
    ['a process that died', 'holder = gen_random_uuid()'],
  ])('asks no more often than it stands by where it stands back after %s, and says so once', async (_, was) => {
    await db.pool.query(`INSERT INTO outcome_delivery (name, via) VALUES ('bus', 'amqp')`);
    await db.pool.query(`UPDATE outcome_delivery SET held_until = clock_timestamp() - interval '1 minute', ${was}`);
    let asked = 0;
    const counted = async (statement: { name?: string }, values: never): Promise<unknown> => {
      if (statement.name === 'outcome-turn') asked += 1;
      return db.pool.query(statement as never, values);
    };
    const clock = new VirtualClock();
    let told = 0;
    const embedded = { via: 'embedded', pool: { query: counted } as unknown as Queryable, clock } as const;
    start(new FakeBus(), { ...embedded, standbyMs: 1_000, reportStandsBack: () => (told += 1) });
    for (let n = 1; n <= 3; n += 1) {
      await until(() => asked === n && clock.waiting === 1);
      clock.advance(999);
      expect(clock.waiting).toBe(1);
      clock.advance(2);
    }
    expect(told).toBe(1);
  });

  it('lets all others try before it tries again itself', async () => {
    await tell(1);
    const [near, far, clock] = [new FakeBus(), new FakeBus(), new VirtualClock()];
    near.fate = () => 'lose';
    start(near, { clock, standbyMs: 60_000 });
    await until(() => near.batches.length === 1 && clock.waiting === 1);
    // The next attempt is due after 4 ms at most.
    clock.advance(59_000);
    expect(clock.waiting).toBe(1);
    start(far);
    await until(async () => (await cursor()) === 1n);
    expect(near.batches).toHaveLength(1);
  });

  it('leaves the cursor to whoever took over while it was slow, and passes nothing over', async () => {
    await tell(5);
    const slow = new FakeBus();
    const other = '11111111-1111-4111-8111-111111111111';
    slow.beforeConfirm = async () => {
      await db.pool.query(
        `UPDATE outcome_delivery SET holder = $1, held_until = clock_timestamp() + interval '1 hour'`,
        [other],
      );
    };
    start(slow);
    await until(() => slow.taken.length === 5);
    end.abort();
    await Promise.all(running);
    expect(await cursor()).toBe(0n);
  });

  it('ends within a moment though the bus does not answer', async () => {
    await tell(1);
    const bus = { publishOutcomes: () => new Promise<void>(() => undefined) };
    const run = runPublisher({
      pool: db.pool,
      notifier,
      bus,
      signal: end.signal,
      abortDelayMs: 20,
      report: () => undefined,
    });
    await until(async () => (await deliveries(db.pool))[0]?.running === true);
    end.abort();
    await run;
    expect(await cursor()).toBe(0n);
  });
});

describe('keeping outcomes', () => {
  const DAY_MS = 86_400_000;
  const round = async (over: Partial<RemovalOptions> = {}) => {
    const removed = await removeOldRows({
      pool: db.pool,
      removals: [outcomeRemoval({ keptMs: DAY_MS })],
      signal: end.signal,
      report: (_, error) => expect(error).toBeUndefined(),
      ...over,
    });
    return removed.get('outcome_event');
  };
  const kept = async () =>
    Number((await db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM outcome_event')).rows[0]?.n);

  it('removes what is old, and never what a way out has still to deliver', async () => {
    await tell(10, new Date(Date.now() - 2 * DAY_MS));
    await tell(12);
    expect(await round()).toBe(0);
    await db.pool.query(`INSERT INTO outcome_delivery (name, position) VALUES ('bus', 11), ('webhook:a', 4)`);
    expect(await round({ batchSize: 3, mostBatches: 1 })).toBe(3);
    expect(await round({ batchSize: 3 })).toBe(1);
    await db.pool.query(`UPDATE outcome_delivery SET halted_at = clock_timestamp() WHERE name = 'webhook:a'`);
    expect(await round()).toBe(0);
    // However long it has halted, what it did not deliver stays until somebody resumes or removes it.
    await db.pool.query(
      `UPDATE outcome_delivery SET halted_at = clock_timestamp() - interval '400 days' WHERE name = 'webhook:a'`,
    );
    expect(await round()).toBe(0);
    await db.pool.query(`DELETE FROM outcome_delivery WHERE name = 'webhook:a'`);
    expect(await round()).toBe(6);
    expect(await kept()).toBe(2);
  });
});
