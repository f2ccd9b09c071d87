import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReadOutcome } from '../call/read-outcome.js';
import { answer } from '../../test/scripted-caller.js';
import { walkPages, type Page, type WalkOptions } from './walk-pages.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

type Change = { kind: 'push' | 'unshift' } | { kind: 'drop'; at: number } | { kind: 'none' };

/**
 * A list that changes right before each page is read. It notes what was in it during every call since the last first
 * page.
 */
class ChangingList {
  readonly entries: number[];
  /** In the list at every call of the current round. */
  steady = new Set<number>();
  readonly offsets: number[] = [];
  private next: number;

  constructor(
    size: number,
    private readonly changes: Change[],
    private readonly repeats: boolean[] = [],
  ) {
    this.entries = Array.from({ length: size }, (_, index) => index);
    this.next = size;
  }

  read = (offset: number, limit: number): Promise<ReadOutcome<Page<number>>> => {
    this.change(this.changes[this.offsets.length] ?? { kind: 'none' });
    const repeat = this.repeats[this.offsets.length] ?? false;
    this.offsets.push(offset);
    this.steady =
      offset === 0 ? new Set(this.entries) : new Set(this.entries.filter((entry) => this.steady.has(entry)));
    let items = this.entries.slice(offset, offset + limit);
    // A registry that repeats an entry in the place of the last one.
    if (repeat && items.length > 1) items = [...items.slice(0, -1), items.at(-2) as number];
    return Promise.resolve({ kind: 'ok', value: { items, total: this.entries.length }, raw: answer({}) });
  };

  private change(change: Change): void {
    if (change.kind === 'push') this.entries.push(this.next++);
    if (change.kind === 'unshift') this.entries.unshift(this.next++);
    if (change.kind === 'drop' && this.entries.length > 0) this.entries.splice(change.at % this.entries.length, 1);
  }
}

const walk = (list: ChangingList, options: Partial<WalkOptions<number>> = {}): ReturnType<typeof walkPages<number>> =>
  walkPages({ read: list.read, keyOf: String, pageSize: 4, ...options });

const changes = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Change>({ kind: 'none' }) },
    fc.constantFrom<Change>({ kind: 'push' }, { kind: 'unshift' }),
    fc.nat(50).map((at): Change => ({ kind: 'drop', at })),
  ),
  { maxLength: 60 },
);

describe('a walk over a list that changes while it is read', () => {
  it.each([
    ['restarting as often as it takes', 1_000],
    ['restarting twice, then by the anchor alone', 2],
  ])('gives every entry that was there all along, once, %s', async (_name, maxRestarts) => {
    let complete = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(30), fc.integer({ min: 2, max: 9 }), changes, async (size, pageSize, made) => {
        const list = new ChangingList(size, made);
        const outcome = await walk(list, { pageSize, maxRestarts });
        expect(new Set(outcome.items).size).toBe(outcome.items.length);
        if (outcome.kind !== 'complete') return expect(maxRestarts).toBe(2);
        complete += 1;
        expect(outcome.items).toEqual(expect.arrayContaining([...list.steady]));
      }),
      { seed: SEED, numRuns: 300 },
    );
    expect(complete).toBeGreaterThan(200);
  });

  it('gives the list itself, in order, when nothing changes, whatever is repeated', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(30),
        fc.integer({ min: 3, max: 9 }),
        fc.array(fc.boolean(), { maxLength: 40 }),
        async (size, pageSize, repeats) => {
          const list = new ChangingList(size, [], repeats);
          const outcome = await walk(list, { pageSize, maxRestarts: 50 });
          expect(outcome.kind).toBe('complete');
          expect([...outcome.items].sort((a, b) => a - b)).toEqual(list.entries);
        },
      ),
      { seed: SEED },
    );
  });

  it('sees a change that keeps the total: one entry went, another came', async () => {
    // Before the second page 0 is dropped and 12 comes: 4 moves to where the first page was read, and the total says
    // nothing.
    const list = new ChangingList(12, []);
    const plain = list.read;
    let calls = 0;
    const outcome = await walk(list, {
      read: (offset, limit) => {
        if (++calls === 2) list.entries.splice(0, 5, 100, 101, 102, 103, 104);
        return plain(offset, limit);
      },
    });
    expect(outcome).toMatchObject({ kind: 'complete', restarts: 1 });
    expect(outcome.items).toEqual([100, 101, 102, 103, 104, 5, 6, 7, 8, 9, 10, 11]);
  });
});

describe('a walk over a list whose order is not kept', () => {
  it.each([
    ['by an anchor', false, 2, 4],
    ['by whole pages', true, 3, 4],
  ])('passes over none of those that change places across the border of a page, %s', async (_, fixedPages, a, b) => {
    const list = new ChangingList(10, []);
    let calls = 0;
    const outcome = await walk(list, {
      fixedPages,
      read: (offset, limit) => {
        const { entries } = list;
        if (++calls === 2) [entries[a], entries[b]] = [entries[b] as number, entries[a] as number];
        return list.read(offset, limit);
      },
    });
    expect(outcome).toMatchObject({ kind: 'complete', restarts: 1 });
    expect([...outcome.items].sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('is complete where the next round shows the same: then the total counts some twice', async () => {
    const list = new ChangingList(6, []);
    list.entries.splice(3, 0, 2);
    expect(await walk(list)).toMatchObject({ kind: 'complete', restarts: 1, items: [0, 1, 2, 3, 4, 5] });
  });

  it('claims nothing while each round shows others', async () => {
    const list = new ChangingList(7, []);
    const outcome = await walk(list, {
      read: (offset, limit) => {
        // What the page before has shown and what comes now have changed places, all but the anchor.
        if (offset === 3) list.entries.splice(0, 7, ...list.entries.slice(4), 3, ...list.entries.slice(0, 3));
        return list.read(offset, limit);
      },
      maxRestarts: 3,
    });
    expect(outcome).toMatchObject({ kind: 'unsettled', reason: 'the list moved in each of 4 rounds' });
  });
});

describe('a walk', () => {
  let fresh = 0;
  const total = (items: number[], of: number): ReadOutcome<Page<number>> => ({
    kind: 'ok',
    value: { items, total: of },
    raw: answer({}),
  });

  it('begins anew when the total changes', async () => {
    const list = new ChangingList(8, [{ kind: 'none' }, { kind: 'push' }]);
    expect(await walk(list)).toMatchObject({ kind: 'complete', restarts: 1, items: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
    expect(list.offsets).toEqual([0, 3, 0, 3, 6]);
  });

  it('ends with what it was told when a page is not answered', async () => {
    const answers: ReadOutcome<Page<number>>[] = [total([1, 2], 3), { kind: 'not_sent', reason: 'gone' }];
    const outcome = await walkPages({
      read: () => Promise.resolve(answers.shift() as ReadOutcome<Page<number>>),
      keyOf: String,
      pageSize: 2,
    });
    expect(outcome).toEqual({
      kind: 'stopped',
      outcome: { kind: 'not_sent', reason: 'gone' },
      items: [1, 2],
      restarts: 0,
      pages: 2,
    });
  });

  it.each([
    [
      'that never holds still',
      () => total([(fresh += 2), fresh + 1], 9),
      { maxRestarts: 3 },
      'the list moved in each of 4 rounds',
    ],
    ['that has no end', (offset: number) => total([offset, offset + 1], 1e9), { maxPages: 20 }, 'more than 20 pages'],
    [
      'that says there is something and shows nothing',
      () => total([], 5),
      { maxRestarts: 1 },
      'the list moved in each of 2 rounds',
    ],
  ] as [string, (offset: number) => ReadOutcome<Page<number>>, object, string][])(
    'claims nothing of a list %s',
    async (_name, page, limits, reason) => {
      const outcome = await walkPages({
        read: (offset) => Promise.resolve(page(offset)),
        keyOf: String,
        pageSize: 2,
        ...limits,
      });
      expect(outcome).toMatchObject({ kind: 'unsettled', reason });
    },
  );

  it('goes by whole pages where the registry counts in them', async () => {
    const list = new ChangingList(10, [{ kind: 'none' }, { kind: 'drop', at: 9 }]);
    expect(await walk(list, { fixedPages: true })).toMatchObject({
      kind: 'complete',
      restarts: 1,
      items: [0, 1, 2, 3, 4, 5, 6, 7, 8],
    });
    expect(list.offsets).toEqual([0, 4, 0, 4, 8]);
  });

  it(
    'by whole pages counts an entry that comes twice once, and claims nothing where the pages are shorter than ' +
      'asked for',
    async () => {
      const repeating = (offset: number, limit: number): Promise<ReadOutcome<Page<number>>> => {
        const first = Math.floor(offset / limit) * limit;
        const items = [0, 1, 2, 3, 4].slice(first, first + limit);
        return Promise.resolve(total([...items, first], 5));
      };
      const whole = await walkPages({ read: repeating, keyOf: String, pageSize: 2, fixedPages: true });
      expect(whole).toMatchObject({ kind: 'complete', items: [0, 1, 2, 3, 4] });
      const short = (offset: number, limit: number): Promise<ReadOutcome<Page<number>>> =>
        repeating(Math.floor(offset / limit) * 2, 2);
      const cut = await walkPages({ read: short, keyOf: String, pageSize: 4, fixedPages: true });
      expect(cut.kind).toBe('unsettled');
    },
  );

  it('refuses a page size that has no room for an anchor', async () => {
    await expect(walk(new ChangingList(3, []), { pageSize: 1 })).rejects.toThrow(RangeError);
  });
});
