import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answer } from '../../test/scripted-caller.js';
import type { CallOutcome, DocumentMetadata, DocumentPage, OutgoingQuery } from '../port.js';
import { cursorFrom, readSince } from './document-cursor.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

const START = Date.parse('2026-11-21T00:00:00Z');
const OVERLAP_MS = 60_000;

interface Dated {
  id: string;
  datedMs: number;
  shownMs: number;
  /** The list shows it in a way that nobody understands. */
  isStrange?: boolean;
}
type Order = 'newest first' | 'oldest first' | 'in no order';
const ORDERS: Order[] = ['newest first', 'oldest first'];
const shuffled = ({ id }: Dated): number => (Number(id.slice(1)) * 7_919) % 997;
const byAge = (a: Dated, b: Dated): number => a.datedMs - b.datedMs || (a.id < b.id ? 1 : -1);

/**
 * Documents dated and shown at moments that differ by less than the overlap. The interface does not say in which order
 * a list comes; one public client takes it for newest first (public-facts 1.2).
 */
class Inbox {
  nowMs = START;
  failing = false;
  constructor(
    private readonly documents: Dated[],
    private readonly order: Order = 'newest first',
  ) {}

  list = ({ from, to, offset = 0, limit = 100 }: OutgoingQuery): Promise<CallOutcome<DocumentPage>> => {
    if (this.failing) return Promise.resolve({ kind: 'not_sent', reason: 'gone' });
    const fromMs = Math.floor((from?.getTime() ?? 0) / 1000) * 1000;
    const toMs = to === undefined ? Infinity : Math.floor(to.getTime() / 1000) * 1000 + 999;
    const shown = this.shown()
      .filter((one) => one.datedMs >= fromMs && one.datedMs <= toMs)
      .sort((a, b) => (this.order === 'in no order' ? shuffled(a) - shuffled(b) : byAge(a, b)));
    if (this.order === 'newest first') shown.reverse();
    const page = shown.slice(offset, offset + limit);
    const documents = page.filter(isUnderstood).map(({ id, datedMs }): DocumentMetadata => ({
      documentId: id,
      requestId: '',
      status: 'processed',
      receivedAt: new Date(datedMs).toISOString(),
      fields: {},
    }));
    const notUnderstood = page.flatMap((one, at) =>
      isUnderstood(one) ? [] : [{ at, written: one.id, problem: 'it is strange' }],
    );
    this.nowMs += 700;
    return Promise.resolve({ kind: 'ok', value: { documents, notUnderstood, total: shown.length }, raw: answer({}) });
  };

  shown(): Dated[] {
    return this.documents.filter((one) => one.shownMs <= this.nowMs);
  }
}
const isUnderstood = ({ isStrange }: Dated): boolean => isStrange !== true;

const inboxes = (order: Order) =>
  fc
    .array(fc.record({ datedMs: fc.nat(600_000), lateMs: fc.nat(OVERLAP_MS), strange: fc.nat(9) }), { maxLength: 60 })
    .map(
      (made) =>
        new Inbox(
          made.map(({ datedMs, lateMs, strange }, index) => ({
            id: `d${index}`,
            datedMs: START + datedMs,
            shownMs: START + datedMs + lateMs,
            isStrange: strange === 0,
          })),
          order,
        ),
    );

describe.each(ORDERS)('a document list that is read again and again, %s', (order) => {
  it('gives each document once, however late it shows up, whatever fails between, and whatever stands beside it', async () => {
    await fc.assert(
      fc.asyncProperty(
        inboxes(order),
        fc.array(fc.record({ waitMs: fc.nat(120_000), fails: fc.boolean() }), { minLength: 1, maxLength: 12 }),
        fc.option(fc.integer({ min: 5, max: 40 }), { nil: undefined }),
        async (inbox, readings, maxEntries) => {
          let cursor = cursorFrom(new Date(START));
          const given: string[] = [];
          // Enough readings at the end for the shortest stretches of time.
          const rest = Array.from({ length: 60 }, () => ({ waitMs: 0, fails: false }));
          for (const { waitMs, fails } of [...readings, { waitMs: 1_000_000, fails: false }, ...rest]) {
            inbox.nowMs += waitMs;
            inbox.failing = fails;
            const result = await readSince(inbox.list, cursor, {
              overlapMs: OVERLAP_MS,
              pageSize: 5,
              ...(maxEntries === undefined ? {} : { maxEntries }),
            });
            // What is kept survives a restart of the program: it is plain data.
            cursor = JSON.parse(JSON.stringify(result.cursor)) as typeof cursor;
            given.push(...result.documents.map((document) => document.documentId));
          }
          expect([...given].sort()).toEqual(
            inbox
              .shown()
              .filter(isUnderstood)
              .map((one) => one.id)
              .sort(),
          );
        },
      ),
      { seed: SEED },
    );
  });

  it('moves on where more documents than a page holds lie within the overlap', async () => {
    const dense = Array.from({ length: 400 }, (_, index) => ({
      id: `d${index}`,
      datedMs: START + index * 1_000,
      shownMs: START + index * 1_000,
    }));
    const inbox = new Inbox(dense, order);
    let cursor = cursorFrom(new Date(START));
    const given: string[] = [];
    for (let reading = 0; reading < 8; reading += 1) {
      inbox.nowMs += 60_000;
      // A worker keeps no more of a cursor than its moment.
      const result = await readSince(
        inbox.list,
        { since: cursor.since, handedOut: {} },
        { overlapMs: OVERLAP_MS, pageSize: 10 },
      );
      expect(result.walk.kind).toBe('complete');
      given.push(...result.documents.map((document) => document.documentId));
      cursor = result.cursor;
    }
    expect([new Set(given).size, cursor.since]).toEqual([400, new Date(START + 399_000).toISOString()]);
  });

  it('comes to an end while more is sent than a page holds between two pages, and leaves that to the next reading', async () => {
    // 30 documents a page are sent, and a page shows 10.
    const inbox = new Inbox(
      Array.from({ length: 1_500 }, (_, index) => ({
        id: `d${index}`,
        datedMs: START + index * 23,
        shownMs: START + index * 23,
      })),
    );
    inbox.nowMs += 1_000;
    let cursor = cursorFrom(new Date(START));
    const given: string[] = [];
    for (let reading = 0; reading < 2; reading += 1) {
      const result = await readSince(inbox.list, cursor, { overlapMs: 1_000, pageSize: 10, maxPages: 400 });
      expect(result.walk.kind).toBe('complete');
      given.push(...result.documents.map((document) => document.documentId));
      cursor = result.cursor;
    }
    expect(new Set(given).size).toBe(given.length);
    const until = Date.parse(cursor.since);
    const sent = inbox
      .shown()
      .filter((one) => one.datedMs <= until)
      .map((one) => one.id);
    expect(given).toEqual(expect.arrayContaining(sent));
  });

  it.each([order, 'in no order' as const])('takes a long list in stretches of time, %s', async (listed) => {
    // Many more lie within one overlap than a reading is to take.
    const inbox = new Inbox(
      Array.from({ length: 400 }, (_, index) => ({ id: `d${index}`, datedMs: START + index * 1_000, shownMs: START })),
      listed,
    );
    let cursor = cursorFrom(new Date(START));
    const given: string[] = [];
    const readings: boolean[] = [];
    for (let more = true; more; readings.push(more)) {
      const result = await readSince(inbox.list, cursor, { overlapMs: OVERLAP_MS, pageSize: 10, maxEntries: 50 });
      expect(result.walk.kind).toBe('complete');
      expect(Date.parse(result.cursor.since)).toBeGreaterThan(Date.parse(cursor.since));
      for (const document of result.documents) expect(result.answers.has(document.documentId)).toBe(true);
      given.push(...result.documents.map((document) => document.documentId));
      ({ cursor, more } = result);
    }
    expect(readings.length).toBeGreaterThan(3);
    expect(new Set(given).size).toBe(given.length);
    expect(given).toHaveLength(400);
    expect(given.slice(0, 100)).toContain('d0');
  });

  it('takes a long list in stretches also where its first call fails, as after an outage', async () => {
    const inbox = new Inbox(
      Array.from({ length: 400 }, (_, index) => ({ id: `d${index}`, datedMs: START + index * 1_000, shownMs: START })),
      order,
    );
    inbox.failing = true;
    const again = (): Promise<boolean> => {
      inbox.failing = false;
      return Promise.resolve(true);
    };
    const options = { overlapMs: OVERLAP_MS, pageSize: 10, maxEntries: 50, again };
    const { documents, more, walk } = await readSince(inbox.list, cursorFrom(new Date(START)), options);
    expect([walk.kind, more]).toEqual(['complete', true]);
    expect(documents.length).toBeLessThanOrEqual(60);
    inbox.failing = true;
    let failures = 0;
    const given = await readSince(inbox.list, cursorFrom(new Date(START)), {
      ...options,
      again: () => Promise.resolve((failures += 1) < 3),
    });
    expect([given.walk.kind, given.documents, failures]).toEqual(['stopped', [], 3]);
  });

  it('stops, and says so, where a list is too long and its first page tells no time to cut it at', async () => {
    const inbox = new Inbox(
      Array.from({ length: 400 }, (_, index) => ({
        ...{ id: `d${index}`, datedMs: START + index * 1_000, shownMs: START },
        isStrange: order === 'newest first' ? index >= 390 : index < 10,
      })),
      order,
    );
    let calls = 0;
    const list: typeof inbox.list = (query) => ((calls += 1), inbox.list(query));
    const options = { overlapMs: OVERLAP_MS, pageSize: 10, maxEntries: 50, again: () => Promise.resolve(true) };
    const { cursor, walk, more, documents, notUnderstood } = await readSince(
      list,
      cursorFrom(new Date(START)),
      options,
    );
    expect(walk).toMatchObject({ kind: 'unsettled', reason: expect.stringContaining('tell no time of receipt') });
    expect([calls, more, documents, cursor]).toEqual([1, false, [], cursorFrom(new Date(START))]);
    expect(notUnderstood).toHaveLength(10);
  });

  it('asks for no further page once it is to stop', async () => {
    const inbox = new Inbox(
      Array.from({ length: 50 }, (_, index) => ({ id: `d${index}`, datedMs: START + index * 60_000, shownMs: START })),
    );
    const result = await readSince(inbox.list, cursorFrom(new Date(START)), {
      overlapMs: OVERLAP_MS,
      pageSize: 10,
      signal: AbortSignal.abort(),
      again: () => Promise.resolve(true),
    });
    expect(result).toMatchObject({
      documents: [],
      walk: { kind: 'stopped', outcome: { kind: 'not_sent', reason: 'stopping' } },
    });
  });

  it('remembers only what the overlap may show again', async () => {
    const inbox = new Inbox(
      Array.from({ length: 50 }, (_, index) => ({ id: `d${index}`, datedMs: START + index * 60_000, shownMs: START })),
    );
    const { cursor, documents } = await readSince(inbox.list, cursorFrom(new Date(START)), {
      overlapMs: OVERLAP_MS,
      pageSize: 10,
    });
    expect(documents).toHaveLength(50);
    expect(cursor.since).toBe(new Date(START + 49 * 60_000).toISOString());
    expect(Object.keys(cursor.handedOut)).toEqual(['d49', 'd48']);
  });

  it('does not move on when the walk does not end', async () => {
    const inbox = new Inbox(
      Array.from({ length: 50 }, (_, index) => ({ id: `d${index}`, datedMs: START + index * 60_000, shownMs: START })),
    );
    const { cursor, walk, documents } = await readSince(inbox.list, cursorFrom(new Date(START)), {
      overlapMs: OVERLAP_MS,
      pageSize: 10,
      maxPages: 2,
    });
    expect(walk.kind).toBe('unsettled');
    expect(cursor.since).toBe(new Date(START).toISOString());
    expect(Object.keys(cursor.handedOut)).toHaveLength(documents.length);
  });
});
