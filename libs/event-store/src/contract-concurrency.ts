import { describe, expect, it } from '@jest/globals';
import { follow, mustAppend, newEvent, newStream } from './contract-events.js';
import type { EventStore, RecordedEvent } from './port.js';

const WRITERS = 20;

/** Many writers, following readers, and clients that stall. */
export function contractOfConcurrency(store: () => EventStore, other: () => EventStore, rounds: number): void {
  describe('concurrency', () => {
    it('lets 20 writers in two processes and 3 readers work: nothing is missed, nothing reordered', async () => {
      const start = await store().head();
      const shared = [newStream('shared'), newStream('shared')];
      const written = Promise.all(
        Array.from({ length: WRITERS }, (_, n) =>
          writeMuch(n % 2 === 0 ? store() : other(), { writer: n, shared, rounds }),
        ),
      );
      // Two events on the writer's own stream and one on a shared stream per round.
      const total = WRITERS * rounds * 3;
      const isEnough = (events: RecordedEvent[]): boolean => events.length >= total;
      const read = await Promise.all([
        follow(store(), start, { isEnough, withinMs: 40_000 }),
        follow(other(), start, { isEnough, withinMs: 40_000, limit: 7 }),
        follow(other(), start, { isEnough, withinMs: 40_000, limit: 100 }),
      ]);
      await written;
      for (const events of read) checkOrder(events, { start, total, isGapless: store().positionUnit === 'event' });
      // Every reader saw the one order that there is.
      for (const events of read)
        expect(events.map((event) => event.position)).toEqual(read[0].map((event) => event.position));
      expect(await store().head()).toBe(read[0].at(-1)!.position);
    });

    it('is not held up by a subscriber that never takes its page', async () => {
      const start = await store().head();
      const stall = new AbortController();
      const stream = newStream();
      await mustAppend(store(), stream, { expected: 'none', events: [newEvent(), newEvent()] });
      const stalled = Array.from({ length: 15 }, () =>
        store().subscribeAll(start, { limit: 1, signal: stall.signal })[Symbol.asyncIterator](),
      );
      // Each has one page and never asks for the next; more of them than a pool has connections.
      await Promise.all(stalled.map((iterator) => iterator.next()));
      await mustAppend(store(), stream, { expected: 1, events: [newEvent()] });
      await follow(store(), start, { isEnough: (events) => events.length === 3, withinMs: 60_000 });
      stall.abort();
      await Promise.all(
        stalled.map(async (iterator) => expect(await iterator.next()).toEqual({ done: true, value: undefined })),
      );
    });

    it('resumes from a checkpoint, with a filter too', async () => {
      const stream = newStream('resume');
      await mustAppend(store(), stream, {
        expected: 'none',
        events: [newEvent({ n: 0 }), newEvent({ n: 1 }), newEvent({ n: 2 })],
      });
      const [first] = await store().readStream(stream);
      for (const filter of [undefined, { streamPrefixes: ['resume-'] }, { types: ['Noted'] }]) {
        const rest = await follow(other(), first!.position, {
          isEnough: (events) => events.length >= 2,
          withinMs: 60_000,
          ...(filter === undefined ? {} : { filter }),
        });
        expect(rest.map((event) => event.data['n'])).toEqual([1, 2]);
      }
    });

    it('wakes a waiting subscriber soon, and ends it on abort', async () => {
      const end = new AbortController();
      const pages = store()
        .subscribeAll(await store().head(), { signal: end.signal })
        [Symbol.asyncIterator]();
      const first = pages.next();
      await mustAppend(other(), newStream(), { expected: 'none', events: [newEvent({ n: 1 })] });
      expect((await first).value?.events[0]?.data).toEqual({ n: 1 });
      const waiting = pages.next();
      end.abort();
      expect((await waiting).done).toBe(true);
    });

    it('tells a subscriber of progress past events that its filter leaves out', async () => {
      const start = await store().head();
      const { position } = await mustAppend(store(), newStream('left-out'), {
        expected: 'none',
        events: [newEvent(), newEvent()],
      });
      const signal = AbortSignal.timeout(60_000);
      for await (const page of store().subscribeAll(start, { filter: { streamPrefixes: ['nobody-'] }, signal })) {
        expect(page.events).toEqual([]);
        expect(page.readUpTo).toBeGreaterThan(start);
        if (page.readUpTo >= position) return;
      }
      throw new Error('no page came that far');
    });
  });
}

async function writeMuch(store: EventStore, by: { writer: number; shared: string[]; rounds: number }): Promise<void> {
  const own = newStream('own');
  for (let n = 0; n < by.rounds; n += 1) {
    await mustAppend(store, own, {
      expected: n === 0 ? 'none' : n * 2 - 1,
      events: [newEvent({ n: n * 2 }), newEvent({ n: n * 2 + 1 })],
    });
    await appendWithRetry(store, by.shared[(by.writer + n) % by.shared.length]!);
  }
}

/** Optimistic concurrency as callers do it: read where the stream ends, append there, look again on a conflict. */
async function appendWithRetry(store: EventStore, stream: string): Promise<void> {
  const event = newEvent();
  let end = (await store.readStream(stream)).length - 1;
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const result = await store.append(stream, end < 0 ? 'none' : end, [event]);
    if (result.kind === 'appended') return;
    end = result.actualVersion;
  }
  throw new Error('a thousand conflicts in a row');
}

function checkOrder(
  events: RecordedEvent[],
  { start, total, isGapless }: { start: bigint; total: number; isGapless: boolean },
): void {
  expect(events).toHaveLength(total);
  const next = new Map<string, number>();
  let before = start;
  events.forEach((event) => {
    expect(event.position).toBeGreaterThan(before);
    // Where a position counts events there is no gap between two.
    if (isGapless) expect(event.position).toBe(before + 1n);
    before = event.position;
    expect(event.version).toBe(next.get(event.stream) ?? 0);
    next.set(event.stream, event.version + 1);
    if (event.stream.startsWith('own-')) expect(event.data['n']).toBe(event.version);
  });
}
