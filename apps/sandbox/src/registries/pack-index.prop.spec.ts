import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PackState } from '../packs/pack.js';
import { PackIndex, pageOfClasses } from './pack-index.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const GTINS = ['04600000000015', '04600000000022'];
const OWNERS = ['own', 'other'];
const STATUSES = ['in_circulation', 'in_sale', 'paused_circulation'];

const change = fc.record({
  pack: fc.nat(19),
  owner: fc.constantFrom(...OWNERS),
  status: fc.constantFrom(...STATUSES),
  series: fc.constantFrom(undefined, 'A', 'B'),
  archive: fc.boolean(),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;
const filters = fc.record({
  gtin: fc.constantFrom(undefined, ...GTINS),
  owner: fc.constantFrom(undefined, ...OWNERS),
  statuses: fc.constantFrom(undefined, new Set(['in_sale']), new Set(STATUSES)),
  series: fc.constantFrom(undefined, 'A', 'BASE'),
  archived: fc.constantFrom(undefined, true, false),
});

/** What a scan of all packs knows of one. */
interface Known {
  number: number;
  gtin: string;
  series: string;
  state: PackState;
  archived: boolean;
}

/** Changes a pack in the index, and in the truth beside it. */
function apply(change: Change, index: PackIndex, truth: Map<string, Known>): void {
  const { pack, owner, status, series, archive } = change;
  const gtin = GTINS[pack % 2] as string;
  const sgtin = `${gtin}SERIAL${String(pack).padStart(7, '0')}`;
  const state: PackState = { owner, status, place: '1', series };
  const known = truth.get(sgtin);
  if (known === undefined) {
    const number = index.add(sgtin, state, 'BASE');
    truth.set(sgtin, { number, gtin, series: series ?? 'BASE', state, archived: false });
  } else if (archive) {
    index.archive(known.number);
    truth.set(sgtin, { ...known, archived: true });
  } else {
    index.change(known.number, state);
    // Another state of the same status does not bring a pack out of the archive.
    const archived = known.archived && known.state.status === status;
    truth.set(sgtin, { ...known, state, series: series ?? known.series, archived });
  }
}

describe(`the index of packs (seed ${SEED})`, () => {
  it('answers as a scan of all packs would, page by page, after any changes', () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 120 }),
        filters,
        fc.integer({ min: 1, max: 7 }),
        (changes, filter, count) => {
          const index = new PackIndex();
          const truth = new Map<string, Known>();
          for (const one of changes) apply(one, index, truth);
          const wanted = [...truth].filter(([, one]) => fits(one, filter)).map(([sgtin]) => sgtin);
          const pages: string[] = [];
          for (let startFrom = 0; startFrom <= wanted.length; startFrom += count) {
            const page = pageOfClasses(index.select(filter), { startFrom, count });
            expect(page.total).toBe(wanted.length);
            pages.push(...page.numbers.map((number) => index.sgtin(number)));
          }
          expect(pages.sort()).toEqual(wanted.sort());
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });
});

type Filter = {
  gtin?: string | undefined;
  owner?: string | undefined;
  statuses?: Set<string> | undefined;
  series?: string | undefined;
  archived?: boolean | undefined;
};

const fits = (one: Known, filter: Filter): boolean =>
  (filter.gtin === undefined || one.gtin === filter.gtin) &&
  (filter.owner === undefined || one.state.owner === filter.owner) &&
  (filter.statuses === undefined || filter.statuses.has(one.state.status)) &&
  (filter.series === undefined || one.series === filter.series) &&
  (filter.archived === undefined || one.archived === filter.archived);
