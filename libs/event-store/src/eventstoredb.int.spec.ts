import { EventStoreDBClient, type PersistentSubscriptionToAll } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { systemClock } from '#kernel';
import { FakeEventStore } from '../../../test/support/event-store-fake/fake-event-store.js';
import { eventStoreServer } from '../../../test/support/event-store-server.js';
import { until } from '../../../test/support/until.js';
import { follow, METADATA, mustAppend, newEvent, newStream, readEverything } from './contract-events.js';
import { eventStoreContract } from './contract.js';
import { EventStoreDbEventStore, type EventStoreDbOptions } from './eventstoredb/event-store-db.js';

const server = await eventStoreServer();

eventStoreContract(
  `EventStoreDB, ${server.name}`,
  async () => {
    const { url, stop } = await server.start();
    const [store, other] = [new EventStoreDbEventStore({ url }), new EventStoreDbEventStore({ url })];
    return {
      store,
      other,
      stop: async () => {
        await Promise.all([store.close(), other.close()]);
        await stop();
      },
    };
  },
  { rounds: 5, series: 15 },
);

describe(`EventStoreDB persistent subscriptions, ${server.name}`, () => {
  let running: { url: string; stop(): Promise<void> };
  let store: EventStoreDbEventStore;
  let outside: EventStoreDBClient;
  beforeAll(async () => {
    running = await server.start();
    store = new EventStoreDbEventStore({ url: running.url });
    outside = EventStoreDBClient.connectionString(running.url);
  });
  afterAll(async () => {
    await outside?.dispose();
    await store?.close();
    await running?.stop();
  });

  it(
    'hands an outside consumer what passes the filter, keeps its place by acknowledgements, and brings back what ' +
      'was not acknowledged',
    async () => {
      const mark = randomUUID();
      const name = `reports-${mark}`;
      await store.offerPersistentSubscription(name, { filter: { streamPrefixes: [`report-${mark}`] } });
      await mustAppend(store, newStream('other'), { expected: 'none', events: [newEvent({ n: -1 })] });
      await mustAppend(store, `report-${mark}`, { expected: 'none', events: [0, 1, 2].map((n) => newEvent({ n })) });

      const first = outside.subscribeToPersistentSubscriptionToAll(name, { bufferSize: 1 });
      expect(await take(first, { count: 1, settle: () => first.unsubscribe() })).toEqual([0]);
      const second = outside.subscribeToPersistentSubscriptionToAll(name, { bufferSize: 10 });
      const seen = await take(second, { count: 3, settle: (event) => second.ack(event) });
      // The one that went unacknowledged comes again; where among the others is not promised.
      expect([...seen].sort()).toEqual([0, 1, 2]);
      await second.unsubscribe();
    },
  );

  it('are described, are refused a second time under one name, and are gone after they are withdrawn', async () => {
    const name = `audit-${randomUUID()}`;
    await store.offerPersistentSubscription(name, { filter: { types: ['Noted', 'Pro.be'] }, from: 'end' });
    expect(await store.describePersistentSubscription(name)).toMatchObject({
      name,
      status: expect.any(String),
      consumers: 0,
      inFlight: 0,
      parked: 0,
    });
    await expect(store.offerPersistentSubscription(name)).rejects.toMatchObject({
      code: 'invalid_parameter',
      place: { item: name },
    });
    await store.withdrawPersistentSubscription(name);
    await expect(store.describePersistentSubscription(name)).rejects.toMatchObject({ code: 'not_found' });
    await expect(store.withdrawPersistentSubscription(name)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are refused in words where they could not be what was asked for', async () => {
    await expect(store.offerPersistentSubscription('two words')).rejects.toThrow(/letters, digits/);
    await expect(
      store.offerPersistentSubscription('both', { filter: { types: ['A'], streamPrefixes: ['a-'] } }),
    ).rejects.toThrow(/not by both/);
    await expect(
      store.offerPersistentSubscription('system', { filter: { streamPrefixes: ['$stats'] } }),
    ).rejects.toThrow(/streams of the system/);
  });
});

type Taken = Parameters<PersistentSubscriptionToAll['ack']>[0];

/** Takes events until there are enough, settles each, and gives their numbers. */
async function take(
  subscription: PersistentSubscriptionToAll,
  { count, settle }: { count: number; settle: (event: Taken) => Promise<void> },
): Promise<number[]> {
  const numbers: number[] = [];
  for await (const event of subscription) {
    numbers.push((event.event?.data as { n: number }).n);
    await settle(event as Taken);
    if (numbers.length === count) break;
  }
  return numbers;
}

/** These need a server that can be stopped, muted and looked into. */
describe('EventStoreDB event log, a FAKE server on gRPC', () => {
  const fakes: FakeEventStore[] = [];
  const stores: EventStoreDbEventStore[] = [];
  const start = async (
    options: { maxAppendBytes?: number; follows?: FakeEventStore } = {},
  ): Promise<FakeEventStore> => {
    const fake = new FakeEventStore(options);
    await fake.start();
    fakes.push(fake);
    return fake;
  };
  const open = (fake: FakeEventStore, options: Partial<EventStoreDbOptions> = {}): EventStoreDbEventStore => {
    const store = new EventStoreDbEventStore({ url: fake.url, ...options });
    stores.push(store);
    return store;
  };
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(fakes.map((fake) => fake.stop()));
  });

  it('stores RFC 8785 bytes, as they are hashed', async () => {
    const fake = await start();
    const stream = newStream();
    const values = [
      { b: 1, a: 'я\u0000', '': [1e21] },
      { 10: 'ten', 9: 'nine', 1: 'one' },
    ];
    await mustAppend(open(fake), stream, { expected: 'none', events: values.map((value) => newEvent(value)) });
    const stored = fake.log.stream(stream);
    expect(stored.map((record) => Buffer.from(record.data).toString('utf8'))).toEqual([
      '{"":[1e+21],"a":"я\\u0000","b":1}',
      '{"1":"one","10":"ten","9":"nine"}',
    ]);
    expect(stored.map((record) => record.isJson)).toEqual([true, true]);
    const metadata = Buffer.from(stored[0]!.metadata).toString('utf8');
    expect(metadata).toMatch(
      /^\{"actor":\{"authenticatedBy":"test","kind":"system","name":"contract"\},"causationId":"[^"]+",.*,"log":\{"schemaVersion":1\},"participant"/,
    );
    expect((await open(fake).readStream(stream)).map((event) => [event.data, event.metadata])).toEqual(
      values.map((value) => [value, METADATA]),
    );
  });

  it('goes on over a server that is killed and comes back with its data: followers, reads and appends', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 100 });
    const total = 12;
    const stream = newStream();
    const following = follow(store, await store.head(), {
      isEnough: (events) => events.length >= total,
      withinMs: 60_000,
    });
    for (let n = 0; n < total; n += 1) {
      if (n % 4 === 2) await fake.stop();
      const appended = mustAppend(store, stream, { expected: n === 0 ? 'none' : n - 1, events: [newEvent({ n })] });
      if (n % 4 === 2) await fake.start();
      expect(await appended).toMatchObject({ version: n });
    }
    expect((await following).map((event) => event.data['n'])).toEqual(Array.from({ length: total }, (_, n) => n));
  });

  it.each(['none', 'any'] as const)('makes an append at %s once when its answer is lost', async (expected) => {
    const fake = await start();
    const store = open(fake);
    const stream = newStream();
    fake.faults.answersToLose = 2;
    const events = [newEvent(), newEvent()];
    const result = await store.append(stream, expected, events);
    expect(result).toMatchObject({ kind: 'appended', version: 1 });
    expect(await store.append(stream, expected, events)).toEqual(result);
    expect((await store.readStream(stream)).map((event) => event.id)).toEqual(events.map((event) => event.id));
  });

  it('appends and reads at the leader, whichever node of the cluster it was sent to', async () => {
    const leader = await start();
    const store = open(await start({ follows: leader }));
    const stream = newStream();
    const { position } = await mustAppend(store, stream, { expected: 'none', events: [newEvent(), newEvent()] });
    expect(await store.readStream(stream)).toHaveLength(2);
    expect(await store.head()).toBe(position);
    expect((await store.readAll(0n)).events).toHaveLength(2);
  });

  it('waits while a cluster elects its leader', async () => {
    const fake = await start();
    fake.faults.callsInElection = 3;
    expect(await open(fake).append(newStream(), 'none', [newEvent()])).toMatchObject({ kind: 'appended' });
  });

  it('asks again where a read stays without an answer', async () => {
    const fake = await start();
    const stream = newStream();
    await mustAppend(open(fake), stream, { expected: 'none', events: [newEvent()] });
    const store = new EventStoreDbEventStore({ url: `${fake.url}&defaultDeadline=300` });
    stores.push(store);
    fake.faults.readsToHold = 1;
    expect(await store.readStream(stream)).toHaveLength(1);
  });

  it('leaves nobody waiting when it closes under a call', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 10 });
    const { position } = await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    // One is the reading, the other the look at the end of the log that a follower takes.
    fake.faults.readsToHold = 2;
    const reading = store.readAll(0n).catch((error: unknown) => error);
    const waiting = store.subscribeAll(position, { signal: new AbortController().signal }).next();
    await until('both reads', () => fake.faults.readsToHold === 0);
    await store.close();
    expect(await reading).toMatchObject({ code: 'unavailable' });
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('says so when the server stays away, and makes the append when it is asked again', async () => {
    const fake = await start();
    const store = open(fake, {
      clock: { ...systemClock, wait: (delayMs, signal) => systemClock.wait(Math.min(delayMs, 5), signal) },
    });
    const stream = newStream();
    const events = [newEvent()];
    await mustAppend(store, stream, { expected: 'none', events });
    await fake.stop();
    await expect(store.append(stream, 'none', events)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.head()).rejects.toMatchObject({ code: 'unavailable' });
    const pages = store.subscribeAll(0n, { signal: new AbortController().signal });
    await expect(pages.next()).rejects.toMatchObject({ code: 'unavailable' });
    await fake.start();
    expect(await open(fake).append(stream, 'none', events)).toMatchObject({ kind: 'appended', version: 0 });
  });

  it('notices a subscription that fell silent, and makes another', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 50 });
    const following = follow(store, 0n, { isEnough: (events) => events.length >= 2, withinMs: 60_000 });
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent({ n: 0 })] });
    await follow(store, 0n, { isEnough: (events) => events.length >= 1, withinMs: 60_000 });
    fake.muteSubscriptions();
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent({ n: 1 })] });
    expect((await following).map((event) => event.data['n'])).toEqual([0, 1]);
  });

  it('tells a follower how far it came, exactly, though the server says so only now and then', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 20 });
    const pages = store.subscribeAll(0n, {
      filter: { streamPrefixes: ['nobody-'] },
      signal: AbortSignal.timeout(60_000),
    });
    for (let n = 0; n < 3; n += 1) {
      const { position } = await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
      for (let upTo = 0n; upTo < position;) {
        const page = await pages.next();
        expect(page.value?.events).toEqual([]);
        upTo = page.value?.readUpTo ?? position;
      }
    }
    await pages.return();
  });

  it("shows nothing of the server's own streams, and writes to none", async () => {
    const fake = await start();
    const store = open(fake);
    await mustAppend(store, newStream(), { expected: 'none', events: Array.from({ length: 25 }, () => newEvent()) });
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    expect(fake.log.records.filter((record) => record.stream.startsWith('$')).length).toBeGreaterThan(1);
    expect(await readEverything(store)).toHaveLength(26);
    expect(await follow(store, 0n, { isEnough: (events) => events.length >= 26, withinMs: 60_000 })).toHaveLength(26);
    expect(await store.readStream('$settings')).toEqual([]);
    await expect(store.append('$settings', 'any', [newEvent()])).rejects.toMatchObject({ code: 'invalid_parameter' });
  });

  it('refuses a log that something else writes to, instead of guessing what an event means', async () => {
    const fake = await start();
    fake.log.append('note-1', 'none', [
      { id: randomUUID(), type: 'Scribbled', isJson: true, data: Buffer.from('{}'), metadata: Buffer.from('{}') },
    ]);
    const store = open(fake);
    await expect(store.readStream('note-1')).rejects.toThrow(/0@note-1 was not written by Pedigree/);
    await expect(store.subscribeAll(0n, { signal: new AbortController().signal }).next()).rejects.toThrow(
      /not written by Pedigree/,
    );
  });

  it('names the limit when the server refuses an append as too large', async () => {
    const store = open(await start({ maxAppendBytes: 2_000 }));
    await expect(store.append(newStream(), 'none', [newEvent({ text: 'x'.repeat(3_000) })])).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('MaxAppendSize'),
    });
  });

  it('refuses more waiting appends than its limit, and serves the others', async () => {
    const store = open(await start(), { maxWaitingAppends: 3 });
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

  it('looks at a bounded stretch of the log per filtered read, and crosses the rest page by page', async () => {
    const store = open(await start(), { maxScan: 5 });
    const { position } = await mustAppend(store, newStream(), {
      expected: 'none',
      events: Array.from({ length: 8 }, () => newEvent()),
    });
    await mustAppend(store, newStream('rare'), { expected: 'none', events: [newEvent()] });
    const filter = { streamPrefixes: ['rare-'] };
    const first = await store.readAll(0n, { filter });
    expect([first.events.length, first.readUpTo > 0n, first.readUpTo < position]).toEqual([0, true, true]);
    const second = await store.readAll(first.readUpTo, { filter });
    expect(second.events).toHaveLength(1);
  });

  it('applies the upcaster to whatever is read, and ends every subscription when it closes', async () => {
    const fake = await start();
    const stream = newStream();
    await mustAppend(open(fake), stream, { expected: 'none', events: [newEvent({ old: 1 })] });
    const store = open(fake, {
      upcast: (event) => ({ ...event, schemaVersion: 2, data: { renamed: event.data['old'] ?? null } }),
    });
    const [event] = await store.readStream(stream);
    expect(event).toMatchObject({ schemaVersion: 2, data: { renamed: 1 }, metadata: METADATA });
    expect((await store.readAll(0n)).events).toEqual([event]);
    const pages = store.subscribeAll(0n, { signal: new AbortController().signal });
    expect((await pages.next()).value?.events).toEqual([event]);
    const waiting = pages.next();
    await store.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});
