import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  FakeEventStore,
  type FakeEventStoreOptions,
} from '../../../../test/support/event-store-fake/fake-event-store.js';
import { selfSigned } from '../../../../test/support/self-signed.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { follow, mustAppend, newEvent, newStream, readEverything } from '../contract-events.js';
import type { RecordedEvent } from '../port.js';
import { EventStoreDbEventStore, type EventStoreDbOptions } from './event-store-db.js';

const HOUR_MS = 3_600_000;
const fakes: FakeEventStore[] = [];
const stores: EventStoreDbEventStore[] = [];

async function start(options: FakeEventStoreOptions = {}): Promise<FakeEventStore> {
  const fake = new FakeEventStore(options);
  fakes.push(fake);
  await fake.start();
  return fake;
}

function open(at: FakeEventStore | string, options: Partial<EventStoreDbOptions> = {}): EventStoreDbEventStore {
  const store = new EventStoreDbEventStore({ url: typeof at === 'string' ? at : at.url, ...options });
  stores.push(store);
  return store;
}

async function endAll(): Promise<void> {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await Promise.all(fakes.splice(0).map((fake) => fake.stop()));
}

const numbersOf = (events: RecordedEvent[]): unknown[] => events.map((event) => event.data['n']);
const idsOf = (events: RecordedEvent[] = []): string[] => events.map(({ id }) => id);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const started = (store: EventStoreDbEventStore, count: number): Promise<string[]> =>
  Promise.all(
    upTo(count).map(async (n) => {
      const stream = newStream();
      await mustAppend(store, stream, { expected: 'none', events: [newEvent({ n })] });
      return stream;
    }),
  );

/** Fifty events at once, every second one of each kind. */
const evenAndOdd = (store: EventStoreDbEventStore, round: number): Promise<unknown> =>
  Promise.all(
    upTo(50).map((n) =>
      mustAppend(store, newStream(n % 2 === 0 ? 'even' : 'odd'), {
        expected: 'none',
        events: [newEvent({ n: round * 50 + n })],
      }),
    ),
  );

/** One test for each thing that a real server was seen to do and a kinder fake would not. */
describe('the event log on a FAKE server that does as a real one was seen to', () => {
  afterEach(endAll);

  it('begins on an empty server, whose first checkpoint is -1', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 20 });
    const pages = store.subscribeAll(0n, {
      filter: { streamPrefixes: ['wanted-'] },
      signal: AbortSignal.timeout(30_000),
    });
    let next = pages.next();
    await until('the subscription is there', () => fake.subscriptions === 1);
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    const [seen, places]: [RecordedEvent[], bigint[]] = [[], []];
    for (let told = 0; seen.length === 0; told += 1) {
      const page = (await next).value!;
      places.push(page.readUpTo);
      seen.push(...page.events);
      next = pages.next();
      // The first page tells how far it came past the event of another; only then comes the one that is wanted.
      if (told === 0) await mustAppend(store, newStream('wanted'), { expected: 'none', events: [newEvent({ n: 1 })] });
    }
    expect(numbersOf(seen)).toEqual([1]);
    for (const place of places) expect(place).toBeLessThan(1_000_000n);
  }, 40_000);

  it('answers appends in another order than they came in: each gets its own answer', async () => {
    const fake = await start();
    const store = open(fake);
    const events = upTo(100).map((n) => newEvent({ n }));
    const results = await Promise.all(
      events.map((event) => mustAppend(store, newStream(), { expected: 'none', events: [event] })),
    );
    const there = new Map((await readEverything(store)).map((event) => [event.id, event.position]));
    expect(results.map(({ position }) => position)).toEqual(events.map(({ id }) => there.get(id)));
  });

  it('dies while hundreds of appends are under way: each is there once, in its order', async () => {
    const fake = await start();
    const store = open(fake);
    const streams = upTo(20).map(() => newStream());
    const appends = streams.map(async (stream) => {
      for (let n = 0; n < 15; n += 1) {
        await mustAppend(store, stream, { expected: n === 0 ? 'none' : n - 1, events: [newEvent({ n })] });
        if (n === 5 && stream === streams[0]) await fake.stop().then(() => fake.start());
      }
    });
    await Promise.all(appends);
    for (const stream of streams) expect(numbersOf(await store.readStream(stream))).toEqual(upTo(15));
    expect(await readEverything(store)).toHaveLength(300);
  });

  it('loses answers in mid-stream: the append is made once, and another that waited beside it too', async () => {
    const fake = await start();
    const store = open(fake);
    fake.faults.answersToLose = 3;
    const streams = await started(store, 10);
    expect(await readEverything(store)).toHaveLength(streams.length);
    expect(fake.faults.answersToLose).toBe(0);
  });

  it('ends the call in order: the append is made once on another, and the store can still be closed', async () => {
    const fake = await start();
    const store = open(fake);
    fake.faults.callsToEnd = 2;
    const streams = await started(store, 5);
    expect(await readEverything(store)).toHaveLength(streams.length);
    await store.close();
  });

  it('begins no append for one who has closed the log', async () => {
    const fake = await start();
    const store = open(fake);
    await started(store, 1);
    await fake.stop();
    const stream = newStream();
    const [first, second] = [store.append(stream, 'none', [newEvent()]), store.append(stream, 0, [newEvent()])].map(
      (append) => append.catch((error: unknown) => error),
    );
    await store.close();
    await fake.start();
    expect(await Promise.all([first, second])).toMatchObject([{ code: 'unavailable' }, { code: 'unavailable' }]);
    expect(fake.log.stream(stream)).toEqual([]);
  });

  it('never answers an append: it is made again after the deadline, and is there once', async () => {
    const fake = await start();
    const store = open(`${fake.url}&defaultDeadline=300`);
    fake.faults.answersToHold = 1;
    const stream = newStream();
    expect(await store.append(stream, 'none', [newEvent(), newEvent()])).toMatchObject({
      kind: 'appended',
      version: 1,
    });
    expect(await store.readStream(stream)).toHaveLength(2);
    expect(fake.faults.answersToHold).toBe(0);
  });

  it.each([HOUR_MS, -HOUR_MS])(
    "has a clock that is %s ms off: appends are made, and their times are the server's",
    async (clockAheadMs) => {
      const store = open(await start({ clockAheadMs }));
      const stream = newStream();
      await mustAppend(store, stream, { expected: 'none', events: [newEvent()] });
      const [event] = await store.readStream(stream);
      expect(Math.abs(event!.recordedAt.getTime() - Date.now() - clockAheadMs)).toBeLessThan(60_000);
    },
  );

  it('refuses one append as too large; those that wait beside it are made', async () => {
    const store = open(await start({ maxAppendBytes: 3_000_000 }));
    const large = upTo(6).map(() => newEvent({ text: 'x'.repeat(1_000_000) }));
    const [refused, ...others] = await Promise.allSettled([
      store.append(newStream(), 'none', large),
      started(store, 10),
      store.append(newStream(), 'none', large.slice(0, 2)),
    ]);
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { code: 'body_too_large', message: expect.stringContaining('3000000') },
    });
    expect(others.map((one) => one.status)).toEqual(['fulfilled', 'fulfilled']);
    expect(await readEverything(store)).toHaveLength(12);
  });

  it('is not ready yet, as a node that starts says of any call', async () => {
    const fake = await start();
    const store = open(fake);
    fake.faults.callsTooEarly = 2;
    const [stream] = await started(store, 1);
    fake.faults.callsTooEarly = 2;
    expect(await store.readStream(stream!)).toHaveLength(1);
  });

  it('names its leader, and then fails a later call on the same connection once with a fault of its own', async () => {
    const leader = await start();
    const store = open(await start({ follows: leader }));
    leader.faults.callsThatThrow = 1;
    await started(store, 3);
    leader.faults.callsThatThrow = 1;
    expect(await readEverything(store)).toHaveLength(3);
    expect(leader.faults.callsThatThrow).toBe(0);
  });

  it('is asked not to throw on a failed append: the conflict still names the right version', async () => {
    const fake = await start();
    const store = open(`${fake.url}&throwOnAppendFailure=false`);
    const stream = newStream();
    await mustAppend(store, stream, { expected: 'none', events: upTo(4).map((n) => newEvent({ n })) });
    expect(await store.append(stream, 1, [newEvent()])).toEqual({ kind: 'conflict', actualVersion: 3 });
    expect(await store.append(newStream(), 5, [newEvent()])).toEqual({ kind: 'conflict', actualVersion: -1 });
  });

  it(
    'has events that a version before wrote, with a mark of their own and as octets where the client would have ' +
      'moved a member',
    async () => {
      const fake = await start();
      const [stream, store] = [newStream(), open(fake)];
      await mustAppend(store, stream, { expected: 'any', events: [newEvent({ n: 1 })] });
      const [record] = fake.log.stream(stream);
      const metadata = JSON.parse(Buffer.from(record!.metadata).toString('utf8')) as { log: object };
      const old = { ...metadata, log: { append: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c13', ...metadata.log } };
      fake.log.append('old-1', 'none', [
        {
          ...record!,
          isJson: false,
          data: Buffer.from('{"10":"ten","9":"nine"}'),
          metadata: Buffer.from(JSON.stringify(old)),
        },
      ]);
      const [event] = await store.readStream('old-1');
      expect(event).toMatchObject({ schemaVersion: 1, data: { 9: 'nine', 10: 'ten' } });
      expect(event?.metadata).not.toHaveProperty('log');
      // It came with `any`, so by its id alone it is known again.
      expect(await store.append('old-1', 'any', [newEvent({ n: 1 }, { id: event!.id })])).toMatchObject({
        kind: 'appended',
        version: 0,
      });
    },
  );
});

describe('subscriptions of one store that are up to date', () => {
  afterEach(endAll);

  it(
    'share one at the server, each with its own filter, also when the server dies in between; one that lags behind ' +
      'goes on alone',
    async () => {
      const fake = await start();
      const store = open(fake, { emptyPageIntervalMs: 30 });
      const from = await store.head();
      const filters = [{ streamPrefixes: ['even-'] }, { streamPrefixes: ['odd-'] }, { types: ['Noted'] }, undefined];
      const totals = [200, 200, 400, 400];
      const slow = store.subscribeAll(from, { limit: 10, signal: AbortSignal.timeout(60_000) });
      const read = filters.map((filter, n) =>
        follow(store, from, {
          isEnough: (events) => events.length >= totals[n]!,
          withinMs: 60_000,
          ...(filter === undefined ? {} : { filter }),
        }),
      );
      for (let round = 0; round < 8; round += 1) {
        if (round === 5) await fake.stop().then(() => fake.start());
        await evenAndOdd(store, round);
        if (round === 3) expect((await slow.next()).value?.events).toHaveLength(10);
      }
      const seen = await Promise.all(read);
      expect(seen.map((events) => events.length)).toEqual(totals);
      const all = idsOf(await readEverything(store, from));
      expect(idsOf(seen[3])).toEqual(all);
      expect(idsOf(seen[0])).toEqual(idsOf(seen[3]?.filter(({ stream }) => stream.startsWith('even-'))));
      const late: string[] = [];
      for (let pages = 0; pages < 401 && late.length < 390; pages += 1)
        late.push(...idsOf((await slow.next()).value?.events));
      expect(late).toEqual(all.slice(10));
      await slow.return();
    },
    60_000,
  );

  it('need one subscription at the server, however many they are', async () => {
    const fake = await start();
    const store = open(fake, { emptyPageIntervalMs: 20 });
    const end = new AbortController();
    const from = await store.head();
    const pages = upTo(8).map(() => store.subscribeAll(from, { signal: end.signal }));
    const first = pages.map((one) => one.next());
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    for (const page of await Promise.all(first)) expect(page.value?.events).toHaveLength(1);
    const second = pages.map((one) => one.next());
    await mustAppend(store, newStream(), { expected: 'none', events: [newEvent()] });
    for (const page of await Promise.all(second)) expect(page.value?.events).toHaveLength(1);
    const third = pages.map((one) => one.next());
    await until('they share one', () => fake.subscriptions === 1);
    end.abort();
    for (const page of await Promise.all(third)) expect(page.done).toBe(true);
  });
});

describe('a server with TLS and users', () => {
  const mine = selfSigned();
  let folder: TemporaryFolder;
  let [authorityFile, otherFile] = ['', ''];
  let fake: FakeEventStore;
  beforeAll(async () => {
    folder = await temporaryFolder();
    [authorityFile, otherFile] = [join(folder.path, 'authority.pem'), join(folder.path, 'other.pem')];
    writeFileSync(authorityFile, mine.certificate);
    writeFileSync(otherFile, selfSigned().certificate);
    fake = await start({
      certificate: { key: Buffer.from(mine.key), chain: Buffer.from(mine.certificate), authorityFile },
      login: 'ops:right',
    });
  });
  afterAll(async () => {
    await endAll();
    await folder?.remove();
  });

  it('is used with the right user and authority: appends, reads and subscriptions', async () => {
    const store = open(fake);
    await started(store, 2);
    expect(await readEverything(store)).toHaveLength(2);
    expect(await follow(store, 0n, { isEnough: (events) => events.length === 2, withinMs: 30_000 })).toHaveLength(2);
  });

  it.each([
    [
      'a wrong password',
      (url: string) => url.replace('right', 'wrong'),
      /EVENTSTORE_URL: .*does not accept this user and password/,
    ],
    [
      'an unknown authority',
      (url: string) => url.replace(/\?.*/, ''),
      /EVENTSTORE_URL: .*no trusted connection .*: .*certificate.*; name its certificate authority by tlsCAFile/,
    ],
    [
      'another authority',
      (url: string) => url.replace(authorityFile, otherFile),
      /EVENTSTORE_URL: .*no trusted connection .*certificate/,
    ],
    [
      'a name that the certificate does not have',
      (url: string) => url.replace('127.0.0.1', 'localhost'),
      /EVENTSTORE_URL: .*no trusted connection .*altnames/,
    ],
    [
      'an unknown authority, several hosts named',
      (url: string) => url.replace(/\?.*/, '').replace(/@([^/]+)/, '@$1,$1'),
      /EVENTSTORE_URL: .*no trusted connection .*certificate/,
    ],
  ])(
    'says %s at once, in a sentence',
    async (_, change, sentence) => {
      const beganMs = performance.now();
      for (const call of [
        (store: EventStoreDbEventStore) => store.head(),
        (store: EventStoreDbEventStore) => store.append(newStream(), 'none', [newEvent()]),
      ]) {
        const error: unknown = await call(open(change(fake.url))).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({
          code: 'invalid_configuration',
          place: { field: 'EVENTSTORE_URL' },
          message: expect.stringMatching(sentence),
        });
        expect((error as Error).message).not.toMatch(/right|wrong/);
      }
      // No limit of speed: without the sentence it takes seven tries, and 40 s where several hosts are named.
      expect(performance.now() - beganMs).toBeLessThan(15_000);
    },
    60_000,
  );
});
