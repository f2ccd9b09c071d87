import { describe, expect, it } from '@jest/globals';
import { METADATA } from './contract-events.js';
import type { RecordedEvent } from './port.js';
import type { PageRead } from './read.js';
import { Tail } from './tail.js';

const eventAt = (position: number): RecordedEvent => ({
  position: BigInt(position),
  stream: position % 2 === 0 ? `even-${position}` : `odd-${position}`,
  version: 0,
  id: `id-${position}`,
  type: position % 3 === 0 ? 'Third' : 'Noted',
  schemaVersion: 1,
  data: {},
  metadata: METADATA,
  recordedAt: new Date(0),
});

/** A log of so many events, 100 bytes each, that gives three at a time and counts how often it is read. */
function logOf(head: number) {
  const log = { head, reads: 0, read: (after: bigint): Promise<PageRead> => Promise.resolve(pageAfter(Number(after))) };
  const pageAfter = (after: number): PageRead => {
    log.reads += 1;
    const upTo = Math.min(after + 3, log.head);
    const events = Array.from({ length: upTo - after }, (_, n) => eventAt(after + 1 + n));
    return { events, readUpTo: BigInt(upTo), reachedHead: upTo === log.head, bytes: events.length * 100 };
  };
  return log;
}

const ALL = { filter: undefined, limit: 100 };
const positions = (page: { events: RecordedEvent[] } | undefined): number[] | undefined =>
  page?.events.map((event) => Number(event.position));

describe('the tail of the log', () => {
  it(
    'is read once for all who are up to date, also where they ask at the same time; each gets what its filter lets ' +
      'through',
    async () => {
      const log = logOf(6);
      const tail = new Tail({ ...log, maxEvents: 100, maxBytes: 100_000 });
      expect(await tail.after(6n, ALL)).toMatchObject({ events: [], readUpTo: 6n });
      log.head = 9;
      const pages = await Promise.all(
        [
          ALL,
          { ...ALL, filter: { streamPrefixes: ['odd-'] } },
          { ...ALL, filter: { streamPrefixes: ['odd-', 'even-'], types: ['Third'] } },
          { ...ALL, limit: 2 },
        ].map((wanted) => tail.after(6n, wanted)),
      );
      expect(pages.map(positions)).toEqual([[7, 8, 9], [7, 9], [9], [7, 8]]);
      expect(pages.map((page) => page?.readUpTo)).toEqual([9n, 9n, 9n, 8n]);
      expect(pages.map((page) => page?.reachedHead)).toEqual([true, true, true, false]);
      expect(positions(await tail.after(8n, ALL))).toEqual([9]);
      expect(log.reads).toBe(1);
    },
  );

  it('gives several pages as one to whoever comes later, and goes on behind a page that did not reach the head', async () => {
    const log = logOf(0);
    const tail = new Tail({ ...log, maxEvents: 100, maxBytes: 100_000 });
    await tail.after(0n, ALL);
    log.head = 8;
    let from = 0n;
    for (
      let page = await tail.after(from, ALL);
      page !== undefined && !page.reachedHead;
      page = await tail.after(from, ALL)
    )
      from = page.readUpTo;
    expect(positions(await tail.after(1n, ALL))).toEqual([2, 3, 4, 5, 6, 7, 8]);
  });

  it.each([
    ['events', { maxEvents: 6, maxBytes: 100_000 }],
    ['bytes', { maxEvents: 100, maxBytes: 600 }],
  ])('keeps a bounded number of %s: who is further behind reads for himself', async (_, bounds) => {
    const log = logOf(12);
    const tail = new Tail({ ...log, ...bounds });
    await tail.after(0n, ALL);
    for (const from of [0n, 3n, 6n, 9n]) await tail.after(from, ALL);
    expect(await tail.after(5n, ALL)).toBeUndefined();
    expect(positions(await tail.after(6n, ALL))).toEqual([7, 8, 9, 10, 11, 12]);
  });

  it('begins anew with whoever is ahead of it, and loses nobody', async () => {
    const log = logOf(3);
    const tail = new Tail({ ...log, maxEvents: 100, maxBytes: 100_000 });
    await tail.after(0n, ALL);
    log.head = 50;
    expect(await tail.after(40n, ALL)).toMatchObject({ events: [], readUpTo: 40n, reachedHead: false });
    expect(await tail.after(3n, ALL)).toBeUndefined();
    expect(positions(await tail.after(40n, ALL))).toEqual([41, 42, 43]);
  });

  it('throws to everyone what reading threw, and reads again afterwards', async () => {
    const log = logOf(3);
    let away = true;
    const tail = new Tail({
      read: (after) => (away ? Promise.reject(new Error('away')) : log.read(after)),
      maxEvents: 100,
      maxBytes: 100_000,
    });
    await tail.after(0n, ALL);
    expect((await Promise.allSettled([tail.after(0n, ALL), tail.after(0n, ALL)])).map((one) => one.status)).toEqual([
      'rejected',
      'rejected',
    ]);
    away = false;
    expect(positions(await tail.after(0n, ALL))).toEqual([1, 2, 3]);
  });
});
