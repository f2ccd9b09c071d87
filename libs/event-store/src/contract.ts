import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { contractOfConcurrency } from './contract-concurrency.js';
import { METADATA, mustAppend, newEvent, newStream, readEverything } from './contract-events.js';
import { contractOfTheModel } from './contract-model.js';
import type { EventStore } from './port.js';

/**
 * What a test file gives for an adapter: two stores over one log (as two processes would have), and a way to end them.
 */
export interface StoreUnderTest {
  store: EventStore;
  other: EventStore;
  stop(): Promise<void>;
}

/** How much work the suite makes; the promises are the same. */
export interface ContractLoad {
  /** Rounds of each of the 20 writers. Default 25. */
  rounds?: number;
  /** Series of appends that are compared with the model. Default 60. */
  series?: number;
}

/** Every promise of the port (principles 5). An adapter is one when this passes. */
export function eventStoreContract(
  name: string,
  makeStore: () => Promise<StoreUnderTest>,
  { rounds = 25, series = 60 }: ContractLoad = {},
): void {
  describe(`event store contract: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await makeStore();
    });
    afterAll(() => under?.stop());
    const store = (): EventStore => under.store;
    const other = (): EventStore => under.other;
    contractOfAppends(store);
    contractOfRepeats(store, other);
    contractOfReads(store);
    contractOfConcurrency(store, other, rounds);
    contractOfTheModel(store, series);
  });
}

function contractOfAppends(store: () => EventStore): void {
  describe('append', () => {
    it('starts a stream with `none` and numbers its events from 0', async () => {
      const stream = newStream();
      const result = await mustAppend(store(), stream, { expected: 'none', events: [newEvent(), newEvent()] });
      expect(result).toMatchObject({ version: 1 });
      const events = await store().readStream(stream);
      expect(events.map((event) => event.version)).toEqual([0, 1]);
      expect(events[1]!.position).toBe(result.position);
    });

    it('goes on after the expected version, and with `any` after whatever is there', async () => {
      const stream = newStream();
      await mustAppend(store(), stream, { expected: 'any', events: [newEvent({ n: 0 })] });
      await mustAppend(store(), stream, { expected: 0, events: [newEvent({ n: 1 })] });
      expect(
        await mustAppend(store(), stream, { expected: 'any', events: [newEvent({ n: 2 }), newEvent({ n: 3 })] }),
      ).toMatchObject({ version: 3 });
      expect((await store().readStream(stream)).map((event) => event.data['n'])).toEqual([0, 1, 2, 3]);
    });

    it('answers a conflict with the actual version and stores nothing', async () => {
      const stream = newStream();
      expect(await store().append(stream, 0, [newEvent()])).toEqual({ kind: 'conflict', actualVersion: -1 });
      await mustAppend(store(), stream, { expected: 'none', events: [newEvent(), newEvent()] });
      for (const expected of ['none', 0, 2, 5] as const) {
        expect(await store().append(stream, expected, [newEvent()])).toEqual({ kind: 'conflict', actualVersion: 1 });
      }
      expect(await store().readStream(stream)).toHaveLength(2);
    });

    it('fails a conflicting append alone, not those that travel with it', async () => {
      const [taken, free] = [newStream(), newStream()];
      await mustAppend(store(), taken, { expected: 'none', events: [newEvent()] });
      const before = await store().head();
      const results = await Promise.all([
        store().append(taken, 'none', [newEvent()]),
        store().append(free, 'none', [newEvent({ n: 0 })]),
        store().append(free, 0, [newEvent({ n: 1 })]),
        store().append(free, 0, [newEvent({ n: 2 })]),
        store().append(taken, 0, [newEvent()]),
      ]);
      expect(results.map((result) => (result.kind === 'appended' ? result.version : 'conflict'))).toEqual([
        'conflict',
        0,
        1,
        'conflict',
        1,
      ]);
      expect((await store().readStream(free)).map((event) => event.data['n'])).toEqual([0, 1]);
      expect(await readEverything(store(), before)).toHaveLength(3);
    });

    it('keeps what was given to the letter: unicode, big numbers as text, nesting, metadata', async () => {
      const stream = newStream();
      const data = {
        я: 'Пачка 💊\u0000\u2028"\\',
        b: { z: [1, null, true, { y: '90071992547409931234.10' }], a: '' },
        a: -0.5,
        é: 'e\u0301',
      };
      const metadata = { ...METADATA, reason: 'по заявке №7' };
      await mustAppend(store(), stream, {
        expected: 'none',
        events: [{ ...newEvent(data, { type: 'Проверено' }), metadata, schemaVersion: 3 }],
      });
      const [event] = await store().readStream(stream);
      expect(event).toMatchObject({ stream, type: 'Проверено', schemaVersion: 3, data, metadata });
      // Key order is the canonical one, whatever the caller's was: hashes are taken over these bytes.
      expect(Object.keys(event!.data)).toEqual(['a', 'b', 'é', 'я']);
      expect(Object.keys(event!.data['b'] as object)).toEqual(['a', 'z']);
      expect(Math.abs(event!.recordedAt.getTime() - Date.now())).toBeLessThan(60_000);
    });

    it('refuses what it could not keep, in words, and stores nothing', async () => {
      const stream = newStream();
      const twice = newEvent();
      const refused: [string, Promise<unknown>, RegExp][] = [
        ['an empty append', store().append(stream, 'none', []), /at least one event/],
        ['an empty stream name', store().append('', 'none', [newEvent()]), /stream must not be empty/],
        ['a NUL in a stream name', store().append(`${stream}\u0000`, 'none', [newEvent()]), /control character/],
        ['half a surrogate pair', store().append(`${stream}\ud800`, 'none', [newEvent()]), /surrogate/],
        ['an id that is no UUID', store().append(stream, 'none', [newEvent({}, { id: 'one' })]), /not a UUID/],
        ['one id twice', store().append(stream, 'none', [twice, twice]), /twice/],
        ['an empty type', store().append(stream, 'none', [newEvent({}, { type: '' })]), /type must not be empty/],
        ['a fractional expected version', store().append(stream, 0.5, [newEvent()]), /whole number/],
        [
          'data over the limit',
          store().append(stream, 'none', [newEvent({ text: 'x'.repeat(1024 * 1024) })]),
          /at most 1048576/,
        ],
        [
          'metadata over the limit',
          store().append(stream, 'none', [{ ...newEvent(), metadata: { ...METADATA, reason: 'x'.repeat(64 * 1024) } }]),
          /at most 65536/,
        ],
      ];
      for (const [, attempt, words] of refused) await expect(attempt).rejects.toThrow(words);
      expect(await store().readStream(stream)).toEqual([]);
    });
  });
}

function contractOfRepeats(store: () => EventStore, other: () => EventStore): void {
  describe('a repeated append', () => {
    for (const expected of ['none', 'any', 0] as const) {
      it(`at ${expected} gives the first result, also after later appends`, async () => {
        const stream = newStream();
        if (expected === 0) await mustAppend(store(), stream, { expected: 'none', events: [newEvent()] });
        const events = [newEvent(), newEvent()];
        const first = await mustAppend(store(), stream, { expected, events });
        expect(await store().append(stream, expected, events)).toEqual(first);
        await mustAppend(store(), stream, { expected: first.version, events: [newEvent()] });
        await mustAppend(store(), stream, { expected: 'any', events: [newEvent()] });
        expect(await other().append(stream, expected, events)).toEqual(first);
        expect(await store().readStream(stream)).toHaveLength(first.version + 3);
      });

      it(`at ${expected} with only some of the ids is a conflict`, async () => {
        const stream = newStream();
        if (expected === 0) await mustAppend(store(), stream, { expected: 'none', events: [newEvent()] });
        const [a, b, c] = [newEvent(), newEvent(), newEvent()];
        const { version } = await mustAppend(store(), stream, { expected, events: [a, b] });
        for (const events of [
          [a, c],
          [a, b, c],
          [c, b],
          [b, a],
        ]) {
          expect(await store().append(stream, expected, events)).toEqual({ kind: 'conflict', actualVersion: version });
        }
        expect((await store().readStream(stream)).map((event) => event.id).slice(-2)).toEqual([a.id, b.id]);
      });
    }

    it('counts the id, not its letter case', async () => {
      const stream = newStream();
      const id = randomUUID();
      const first = await mustAppend(store(), stream, { expected: 'none', events: [newEvent({}, { id })] });
      expect(await store().append(stream, 'none', [newEvent({}, { id: id.toUpperCase() })])).toEqual(first);
    });

    it('made at the same time, in one process and in two, gives one set of events', async () => {
      for (const expected of ['none', 'any'] as const) {
        const stream = newStream();
        const events = [newEvent(), newEvent(), newEvent()];
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? store() : other()).append(stream, expected, events)),
        );
        const [last] = (await store().readStream(stream)).slice(-1);
        expect(results).toEqual(results.map(() => ({ kind: 'appended', version: 2, position: last?.position })));
        expect((await store().readStream(stream)).map((event) => event.id)).toEqual(events.map((event) => event.id));
      }
    });
  });
}

function contractOfReads(store: () => EventStore): void {
  describe('reading', () => {
    it('gives a stream from a version on, within a limit', async () => {
      const stream = newStream();
      await mustAppend(store(), stream, {
        expected: 'none',
        events: Array.from({ length: 7 }, (_, n) => newEvent({ n })),
      });
      expect((await store().readStream(stream, { fromVersion: 2, limit: 3 })).map((event) => event.data['n'])).toEqual([
        2, 3, 4,
      ]);
      expect(await store().readStream(stream, { fromVersion: 7 })).toEqual([]);
      expect(await store().readStream(newStream())).toEqual([]);
    });

    it('gives each of many streams that are read at once its own events, as it was asked for', async () => {
      const streams = Array.from({ length: 45 }, newStream);
      await Promise.all(
        streams.map((stream, s) =>
          mustAppend(store(), stream, { expected: 'none', events: [0, 1, 2].map((n) => newEvent({ s, n })) }),
        ),
      );
      const read = await Promise.all(
        [...streams, newStream(), streams[0]!].map((stream, s) =>
          store().readStream(stream, { fromVersion: s % 2, limit: 1 + (s % 3) }),
        ),
      );
      const expected = streams.map((_, s) =>
        [0, 1, 2]
          .slice(s % 2)
          .slice(0, 1 + (s % 3))
          .map((n) => ({ s, n })),
      );
      expect(read.map((events) => events.map((event) => event.data))).toEqual([
        ...expected,
        [],
        [
          { s: 0, n: 0 },
          { s: 0, n: 1 },
          { s: 0, n: 2 },
        ].slice(0, 1 + (46 % 3)),
      ]);
    });

    it('gives all events in pages, without gap and without overlap', async () => {
      const start = await store().head();
      const stream = newStream();
      await mustAppend(store(), stream, {
        expected: 'none',
        events: Array.from({ length: 10 }, (_, n) => newEvent({ n })),
      });
      const seen: unknown[] = [];
      let from = start;
      for (const length of [4, 4, 2, 0]) {
        const page = await store().readAll(from, { limit: 4 });
        expect(page.events).toHaveLength(length);
        seen.push(...page.events.map((event) => event.data['n']));
        from = page.readUpTo;
      }
      expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const last = (await store().readStream(stream)).at(-1)!.position;
      expect(await store().head()).toBe(last);
      expect(from).toBeGreaterThanOrEqual(last);
    });

    it('gives the event at a position, and none where none begins', async () => {
      const stream = newStream();
      const events = Array.from({ length: 5 }, (_, n) => newEvent({ n }));
      await mustAppend(store(), stream, { expected: 'none', events });
      const there = await store().readStream(stream);
      for (const event of there) expect(await store().eventAt(event.position)).toEqual(event);
      const last = there.at(-1)!.position;
      for (const none of [-1n, 0n, last + 1n, last + 1_000_000n, 2n ** 63n - 1n, 2n ** 64n])
        expect([none, await store().eventAt(none)]).toEqual([none, undefined]);
    });

    it('filters by prefix of stream and by type, and says how far it looked', async () => {
      const start = await store().head();
      const mark = randomUUID();
      const put = (stream: string, type: string) =>
        mustAppend(store(), stream, { expected: 'any', events: [newEvent({}, { type })] });
      await put(`a-${mark}-1`, 'One');
      await put(`a-${mark}-2`, 'Two');
      const third = await put(`b-${mark}`, 'One');
      await put(`a_${mark}`, 'One');
      const last = await put(`c-${mark}`, 'Three');
      const names = async (filter: object, limit = 100) => {
        const page = await store().readAll(start, { filter, limit });
        return {
          seen: page.events.map((event) => `${event.stream.slice(0, 2)}${event.type}`),
          sawAll: page.readUpTo >= last.position,
          to: page.readUpTo,
        };
      };
      expect(await names({ streamPrefixes: ['a-'] })).toMatchObject({ seen: ['a-One', 'a-Two'], sawAll: true });
      expect(await names({ streamPrefixes: [`a-${mark}`, 'b-'], types: ['One'] })).toMatchObject({
        seen: ['a-One', 'b-One'],
        sawAll: true,
      });
      expect(await names({ types: ['One'] }, 2)).toEqual({
        seen: ['a-One', 'b-One'],
        sawAll: false,
        to: third.position,
      });
      // A prefix is letters, not a pattern, and a type is not the beginning of others.
      expect(await names({ streamPrefixes: ['%', '_'] })).toMatchObject({ seen: [], sawAll: true });
      expect(await names({ types: ['On', 'O.e'] })).toMatchObject({ seen: [], sawAll: true });
      await expect(store().readAll(0n, { filter: { types: [] } })).rejects.toThrow(/empty list/);
    });

    it('gives the whole log in one order, positions and times going forward', async () => {
      const all = await readEverything(store());
      expect(all.length).toBeGreaterThan(20);
      expect(all[0]!.position).toBeGreaterThan(0n);
      all.slice(1).forEach((event, n) => {
        expect(event.position).toBeGreaterThan(all[n]!.position);
        if (store().positionUnit === 'event') expect(event.position).toBe(all[n]!.position + 1n);
        expect(event.recordedAt.getTime()).toBeGreaterThanOrEqual(all[n]!.recordedAt.getTime());
      });
    });
  });
}
