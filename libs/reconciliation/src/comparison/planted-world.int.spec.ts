import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { sized } from '../../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { plantedWorld, writePlantedWorld, type PlantedWorld } from '../../test/planted-world.js';
import { HERE, HERE_TOO, LATE, OURS } from '../../test/story.js';
import { beginGroups, groupFindings } from '../cases/pack-groups.js';
import { doBuckets } from './buckets-of-run.js';
import { findDifferences } from './compare-buckets.js';
import { openRun } from './joined.js';
import { OVERRIDES, RULES, type Rule } from './rules.js';
import { openComparison, resultOf, type ComparisonResult } from './run-comparison.js';
import { readRun } from './run-record.js';
import { comparisonSettings, type ComparisonSettings } from './settings.js';

const { packs, each, seeds, everyRule } = sized({
  test: { packs: 2_000, each: 4, seeds: [11], everyRule: 4 },
  soak: { packs: 100_000, each: 60, seeds: [11, 12, 13], everyRule: 1 },
});
const LIMIT_MS = 600_000;
const LIMITS = { memoryMb: 400, threads: 1 };
const settings = comparisonSettings({ hungDays: 365, owner: OURS });
const learntAfter = { stock: String(LATE), registry: String(LATE) };

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const withDuck = async <T>(work: (duck: Duck) => Promise<T>): Promise<T> => {
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'duck') });
  try {
    return await work(duck);
  } finally {
    await duck.close();
  }
};

interface Found {
  item: string;
  code: string;
  severity: string;
  kind: string;
  cause: string;
}

const run = async (world: PlantedWorld, name: string): Promise<Told> =>
  compared(await writePlantedWorld(join(folder.path, name), world), name);

type Sides = Awaited<ReturnType<typeof writePlantedWorld>>;
interface Told {
  result: ComparisonResult;
  found: Found[];
}

/** A run over the sides of a world, with the cause of each finding as a case would have it. */
async function compared(sides: Sides, name: string, more: Partial<ComparisonSettings> = {}): Promise<Told> {
  const out = join(folder.path, `run-${name}`);
  await openComparison(out, { ...sides, learntAfter, settings: { ...settings, ...more } });
  await doBuckets({ folder: out, ...LIMITS });
  const result = await resultOf(out);
  const found = await withDuck(async (duck) => {
    await beginGroups(duck, { run: await readRun(out), folder: out, result });
    const file = join(out, await groupFindings(duck, out));
    return duck.rows<Found>(`SELECT item, code, severity, kind, c1 AS cause FROM ${parquet([file])}`);
  });
  return { result, found };
}

const key = ({ item, code, severity, kind, cause }: Found): string => [item, code, severity, kind, cause].join(' ');

interface Line {
  code: string;
  planted: number;
  found: number;
  right: number;
  precision: number;
  recall: number;
}

function tableOf(world: PlantedWorld, found: Found[]): Line[] {
  const wanted = new Set(world.expected.map(key));
  const codes = [...new Set([...world.expected, ...found].map(({ code }) => code))].sort();
  return codes.map((code) => {
    const planted = world.expected.filter((one) => one.code === code).length;
    const all = found.filter((one) => one.code === code);
    const right = all.filter((one) => wanted.has(key(one))).length;
    return { code, planted, found: all.length, right, precision: right / all.length, recall: right / planted };
  });
}

/** What went wrong, by story: few lines that say where to look. */
function mistakes(world: PlantedWorld, found: Found[]): string[] {
  const [wanted, told] = [new Set(world.expected.map(key)), new Set(found.map(key))];
  const lines = [
    ...world.expected
      .filter((one) => !told.has(key(one)))
      .map((one) => `missed: ${one.story}: ${one.code} ${one.kind}`),
    ...found
      .filter((one) => !wanted.has(key(one)))
      .map((one) => `false: ${world.storyOf.get(one.item) ?? one.item}: ${one.code} ${one.severity} ${one.kind}`),
  ];
  return [...new Set(lines)].sort();
}

describe('a world with planted differences', () => {
  it.each(seeds)(
    'is told with the right code and cause, and nothing else (seed %d)',
    async (seed) => {
      const world = plantedWorld({ seed, packs, each });
      const { result, found } = await run(world, `world-${seed}`);
      const table = tableOf(world, found);
      process.stdout.write(
        [
          `${packs} packs, seed ${seed}`,
          Object.keys(table[0] ?? {}).join('\t'),
          ...table.map((one) => Object.values(one).join('\t')),
          JSON.stringify(result.quieted),
          '',
        ].join('\n'),
      );
      expect(mistakes(world, found)).toEqual([]);
      expect(found.length).toBe(world.expected.length);
      for (const { precision, recall } of table) expect([precision, recall]).toEqual([1, 1]);
      expect(result.quieted).toEqual(world.explained);
    },
    LIMIT_MS,
  );

  it('has every code that this version knows', () => {
    const world = plantedWorld({ seed: 1, packs, each });
    const told = new Set(world.expected.map(({ code }) => code));
    const codes = [...RULES, ...OVERRIDES].filter(({ quiet }) => quiet !== true).map(({ code }) => code);
    expect(codes.filter((code) => !told.has(code))).toEqual([]);
  });

  it('has no differences of containers where the answers tell no containers at all', async () => {
    const world = plantedWorld({ seed: seeds[0] as number, packs: 500, each: 3 });
    const registry = world.registry.map((row) => ({ ...row, container: null }));
    const { found } = await run({ ...world, registry }, 'no-containers');
    expect(found.filter(({ code }) => code.startsWith('container_'))).toEqual([]);
  });

  it('has differences of containers only where they are compared', async () => {
    const world = plantedWorld({ seed: seeds[0] as number, packs: 400, each: 1 });
    const sides = await writePlantedWorld(join(folder.path, 'containers'), world);
    const ofContainers = (all: readonly { code: string }[]): number =>
      all.filter(({ code }) => code.startsWith('container_')).length;
    const elsewhere = await compared(sides, 'elsewhere', { containers: [HERE_TOO] });
    expect(ofContainers(elsewhere.found)).toBe(0);
    const there = await compared(sides, 'there', { containers: [HERE, HERE_TOO] });
    expect(ofContainers(there.found)).toBe(ofContainers(world.expected));
  });

  it(
    'is told otherwise without any one of the rules (in a short run every fourth of them)',
    async () => {
      const world = plantedWorld({ seed: seeds[0] as number, packs: 500, each: 3, bucket: 'a' });
      const out = join(folder.path, 'rules', 'run');
      const sides = await writePlantedWorld(join(folder.path, 'rules'), world);
      await openComparison(out, { ...sides, learntAfter, settings });
      const record = await readRun(out);
      await withDuck(async (duck) => {
        await openRun(duck, record);
        const told = async (table: Partial<Record<'rules' | 'overrides', readonly Rule[]>>): Promise<string> => {
          await findDifferences(duck, { run: record, buckets: [0xa], ...table });
          const rows = await duck.rows<object>('SELECT item, code, severity, quiet FROM finding ORDER BY ALL');
          return JSON.stringify(rows);
        };
        const whole = await told({});
        const idle: string[] = [];
        for (const [name, all] of Object.entries({ rules: RULES, overrides: OVERRIDES }))
          for (const rule of all.filter((_, n) => n % everyRule === 0))
            if ((await told({ [name]: all.filter((one) => one !== rule) })) === whole) idle.push(nameOf(rule));
        expect(idle).toEqual([]);
      });
    },
    LIMIT_MS,
  );
});

const nameOf = ({ topic, code, when }: Rule): string => `${topic} ${code}: ${when}`;
