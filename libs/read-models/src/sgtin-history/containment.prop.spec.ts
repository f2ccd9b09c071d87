import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import {
  carriersOf,
  compareMoments,
  isDuring,
  walkContainment,
  type ContainmentChange,
  type Moment,
} from './containment.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? 20_261_123);
const RUNS = { seed: SEED, numRuns: sized({ test: 500, soak: 20_000 }) };
const PACKS = ['p1', 'p2', 'p3'];
const BOXES = ['a', 'b', 'c', 'd'];
const ITEMS = [...PACKS, ...BOXES];

/** Documents of one type each, at moments that repeat and run against the order of the log. Rings are among them. */
const documents = fc
  .array(
    fc.record({
      at: fc.integer({ min: 0, max: 12 }),
      kind: fc.constantFrom('packed', 'packed', 'packed', 'taken_out', 'opened', 'opened_all' as const),
      items: fc.uniqueArray(fc.constantFrom(...ITEMS), { minLength: 1, maxLength: 3 }),
      container: fc.constantFrom(...BOXES),
    }),
    { maxLength: 30 },
  )
  .map((all) => all.flatMap((one, position) => changesOf(one, BigInt(position + 1))));

function changesOf(
  { at, kind, items, container }: { at: number; kind: string; items: string[]; container: string },
  position: bigint,
): ContainmentChange[] {
  const into = kind === 'packed' ? { container } : {};
  return items
    .filter((item) => kind !== 'packed' || item !== container)
    .map((item) => ({ item, at: BigInt(at), position, ordinal: 0, kind, ...into }) as ContainmentChange);
}

type Ending = Moment & { cascades: boolean };

/**
 * The definition, without a walk: a stay ends at the item's next change, at the opening of its container, or when a
 * container around that is opened with all that nests in it.
 */
function definedStays(changes: ContainmentChange[]): { item: string; container: string; from: Moment; to?: Moment }[] {
  const after = (moment: Moment, test: (one: ContainmentChange) => boolean) =>
    changes.filter((one) => compareMoments(one, moment) > 0 && test(one)).sort(compareMoments)[0];
  const stays = changes
    .filter(({ kind }) => kind === 'packed')
    .map((packed) => {
      const container = packed.container as string;
      const own = after(packed, ({ item }) => item === packed.item);
      const opened = after(packed, ({ item, kind }) => item === container && kind.startsWith('opened'));
      return {
        ...packed,
        container,
        end: earliest([ending(own, false), ending(opened, opened?.kind === 'opened_all')]),
      };
    });
  let open = stays;
  // The earliest end is final: what ends later ends nothing before it.
  for (let end = earliest(ends(open)); end !== undefined; end = earliest(ends(open))) {
    const now = end;
    const isNow = (one: Ending | undefined): boolean => one !== undefined && compareMoments(one, now) === 0;
    for (let isStable = false; !isStable;) {
      const cascading = new Set(open.filter((one) => isNow(one.end) && one.end?.cascades).map(({ item }) => item));
      const within = open.filter(
        (one) => cascading.has(one.container) && compareMoments(now, one) > 0 && !(isNow(one.end) && one.end?.cascades),
      );
      for (const one of within) one.end = { ...now, cascades: true };
      isStable = within.length === 0;
    }
    open = open.filter((one) => !isNow(one.end));
  }
  return stays.map(({ item, container, at, position, end }) => ({
    item,
    container,
    from: { at, position },
    ...(end === undefined ? {} : { to: { at: end.at, position: end.position } }),
  }));
}

const ending = (change: ContainmentChange | undefined, cascades: boolean): Ending | undefined =>
  change === undefined ? undefined : { at: change.at, position: change.position, cascades };

const ends = (stays: { end: Ending | undefined }[]): (Ending | undefined)[] => stays.map(({ end }) => end);

const earliest = (endings: (Ending | undefined)[]): Ending | undefined =>
  endings
    .filter((one) => one !== undefined)
    .sort((a, b) => compareMoments(a, b) || Number(b.cascades) - Number(a.cascades))[0];

const inOrder = <T extends { item: string; from: Moment }>(stays: T[]): T[] =>
  [...stays].sort((a, b) => compareMoments(a.from, b.from) || (a.item < b.item ? -1 : 1));

describe(`the walk over changes of containment (seed ${SEED})`, () => {
  it('gives the stays of the definition, rings included', () => {
    fc.assert(
      fc.property(documents, (changes) => {
        expect(inOrder(walkContainment(changes).stays)).toEqual(inOrder(definedStays(changes)));
      }),
      RUNS,
    );
  });

  it('does not depend on the order in which rows come', () => {
    fc.assert(
      fc.property(
        documents.chain((changes) =>
          fc.tuple(fc.constant(changes), fc.shuffledSubarray(changes, { minLength: changes.length })),
        ),
        ([changes, shuffled]) => expect(walkContainment(shuffled)).toEqual(walkContainment(changes)),
      ),
      RUNS,
    );
  });

  it('keeps an item in one container at a time', () => {
    fc.assert(
      fc.property(documents, (changes) => {
        const { stays } = walkContainment(changes);
        for (const one of changes)
          for (const item of ITEMS)
            expect(stays.filter((stay) => stay.item === item && isDuring(one, stay)).length).toBeLessThanOrEqual(1);
      }),
      RUNS,
    );
  });

  it('carries an item exactly while each container between is in the next', () => {
    fc.assert(
      fc.property(documents, fc.constantFrom(...PACKS), (changes, item) => {
        const { stays } = walkContainment(changes);
        const carriers = carriersOf(item, stays);
        for (const moment of changes) {
          const around: string[] = [];
          for (let at = item; ;) {
            const stay = stays.find((one) => one.item === at && isDuring(moment, one));
            if (stay === undefined || around.includes(stay.container)) break;
            around.push(stay.container);
            at = stay.container;
          }
          const carrying = carriers.filter((carrier) => isDuring(moment, carrier));
          expect(carrying.sort((a, b) => a.depth - b.depth).map(({ container }) => container)).toEqual(around);
        }
      }),
      RUNS,
    );
  });
});
