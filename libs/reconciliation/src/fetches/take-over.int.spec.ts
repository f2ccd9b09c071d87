import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writePlantedWorld, type PlantedWorld } from '../../test/planted-world.js';
import { GONE_BOX, HERE, OTHER_BOX, OTHER_BRANCH, SERIES } from '../../test/story.js';
import { daysBefore, MOMENT } from '../../test/world.js';
import { doBuckets } from '../comparison/buckets-of-run.js';
import { openComparison, resultOf, runOf } from '../comparison/run-comparison.js';
import { readRun } from '../comparison/run-record.js';
import { comparisonSettings } from '../comparison/settings.js';
import { bucketFile, readSnapshot } from '../snapshots/manifest.js';
import { takeOver, type Fates } from './take-over.js';

const LIMITS = { memoryMb: 200, threads: 1 };
const settings = comparisonSettings({});
const DECIDED = 'ZZ9';
/** Log position of the earlier run's record. */
const BEFORE = 100;

type Change<Row> = Partial<Row> | null;
interface Sides {
  stock?: Change<PlantedWorld['stock'][number]>;
  record?: Change<PlantedWorld['record'][number]>;
  registry?: Partial<PlantedWorld['registry'][number]>;
  documents?: Partial<PlantedWorld['documents'][number]>;
}
interface Story {
  /** Whether the pack is taken over, or why not. */
  fate: keyof Fates;
  earlier?: Sides;
  /** As it is now; absent: as before. The registry's side is that of the earlier run. */
  now?: Sides;
}

const inBox = { record: { container: OTHER_BOX }, registry: { container: OTHER_BOX } };
const STORIES: Record<string, Story> = {
  'is as it was': { fate: 'taken' },
  'lies in a container': { fate: 'taken', earlier: inBox, now: inBox },
  'was refused before, and was asked about since': {
    ...{ fate: 'taken', earlier: { documents: { standing: 'refused', position: '7' } } },
    now: { documents: { standing: 'refused', position: '7' } },
  },
  'has an old answer': { fate: 'old', earlier: { registry: { moment: daysBefore(8) } } },
  'was found by the earlier run': { fate: 'doubtful', earlier: { stock: { place: OTHER_BRANCH } } },
  'has left the shelf': { fate: 'doubtful', now: { stock: null } },
  'is new in another state on the shelf': { fate: 'doubtful', now: { stock: { series: 'QQ' } } },
  'is sold by our record': { fate: 'doubtful', now: { record: { status: 'in_sale', known_from: 120 } } },
  'has another row in our record': { fate: 'touched', now: { record: { known_from: 120 } } },
  'is not in our record any more': { fate: 'touched', now: { record: null } },
  'is in a document on its way': { fate: 'touched', now: { documents: { position: '90' } } },
  'lies in a container that a document names': {
    ...{ fate: 'touched', earlier: { record: { container: GONE_BOX }, registry: { container: GONE_BOX } } },
    now: { record: { container: GONE_BOX }, documents: { item: GONE_BOX } },
  },
  'was in a document on its way': { fate: 'touched', earlier: { documents: { position: '90' } } },
  'was refused since': { fate: 'touched', now: { documents: { standing: 'refused', position: '101' } } },
  'is of a series that was decided on': {
    ...{ fate: 'suspended', earlier: { stock: { series: DECIDED }, registry: { series: DECIDED } } },
    now: { stock: { series: DECIDED } },
  },
  'is archived, and nobody speaks of it any more': {
    ...{ fate: 'left', earlier: { stock: null, registry: { answer: 'archived' } } },
    now: { stock: null, record: null },
  },
};
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const itemOf = (name: string): string => `${GTIN}${String(Object.keys(STORIES).indexOf(name)).padStart(13, '0')}`;

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

function worldOf(when: 'earlier' | 'now'): PlantedWorld {
  const world: PlantedWorld = {
    ...{ stock: [], record: [], registry: [], disposals: [], documents: [], expected: [], explained: {} },
    storyOf: new Map(),
  };
  for (const [name, story] of Object.entries(STORIES)) {
    const { stock = {}, record = {}, documents } = story[when] ?? {};
    const item = itemOf(name);
    const shelf = { item, place: HERE, series: SERIES, expiry: '2030-01-31' };
    const known = { item, place: HERE, status: 'in_circulation', container: null };
    if (stock !== null) world.stock.push({ ...shelf, state: 'sellable', twice: false, ...stock });
    if (record !== null) world.record.push({ ...known, uncertain: false, known_from: 10, ...record });
    const told = { ...known, answer: 'found', series: SERIES, expiry: '2030-01-31', moved_at: daysBefore(3) };
    world.registry.push({ ...told, moment: daysBefore(1), ...story.earlier?.registry });
    if (documents === undefined) continue;
    const document = { item, standing: 'in_flight', document: `of ${name}`, position: '90', moment: MOMENT };
    world.documents.push({ ...document, ...documents });
  }
  return world;
}

async function rowsIn(snapshot: string): Promise<{ item: string; moment: bigint }[]> {
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'duck') });
  const files = [...Array(16).keys()].map((n) => join(snapshot, bucketFile(n)));
  try {
    return await duck.rows(`SELECT item, moment FROM ${parquet(files)} ORDER BY item`);
  } finally {
    await duck.close();
  }
}

describe('rows that an earlier run has read', () => {
  it('are taken over where nothing speaks against them, each with its moment, and always the same', async () => {
    const earlier = await writePlantedWorld(join(folder.path, 'earlier'), worldOf('earlier'));
    const comparison = join(folder.path, 'comparison');
    await openComparison(comparison, { ...earlier, settings });
    await doBuckets({ folder: comparison, ...LIMITS });
    await resultOf(comparison);
    const sides = await writePlantedWorld(join(folder.path, 'now'), worldOf('now'));
    const now = await runOf({ ...sides, registry: earlier.registry, settings });
    const { legs } = await readRun(comparison);
    const taking = {
      earlier: { comparison, legs, recordAt: BigInt(BEFORE) },
      ...{ now, youngest: new Date(daysBefore(7)), decided: [{ gtin: GTIN, series: DECIDED }] },
    };
    const outs = ['one', 'two'].map((name) => join(folder.path, name));
    const fates = await Promise.all(outs.map((out) => takeOver(taking, { out, duck: LIMITS })));
    const wanted = Object.entries(STORIES).filter(([, { fate }]) => fate === 'taken');
    const rows = await rowsIn(outs[0] as string);
    expect(rows.map(({ item }) => Object.keys(STORIES).find((name) => itemOf(name) === item))).toEqual(
      wanted.map(([name]) => name),
    );
    expect(new Set(rows.map(({ moment }) => Number(moment)))).toEqual(new Set([Date.parse(daysBefore(1))]));
    const counted = (fate: string): number => Object.values(STORIES).filter((one) => one.fate === fate).length;
    for (const each of fates)
      expect(each).toEqual(Object.fromEntries(Object.keys(each).map((fate) => [fate, counted(fate)])));
    const [one, two] = await Promise.all(outs.map((out) => readSnapshot(out, 'registry')));
    expect(two?.digest).toBe(one?.digest);
  }, 120_000);
});
