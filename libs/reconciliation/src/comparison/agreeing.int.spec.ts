// Left to the soak: sweeps over rules. `npm test` has planted-world.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex, type Sha256 } from '#kernel';
import { Duck, parquet, quoted } from '#duckdb';
import { sized } from '../../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { RUN } from '../snapshots/codes.js';
import { REFUSED_ITEMS } from '../snapshots/manifest.js';
import { findDifferences, type BucketsOfRun } from './compare-buckets.js';
import { differing, openRun } from './joined.js';
import type { Leg } from './rules.js';
import type { RunRecord } from './run-record.js';
import { comparisonSettings } from './settings.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const ITEMS = sized({ test: 20_000, soak: 100_000 });
const MOMENT_MS = Date.parse('2026-11-23T05:00:00.000Z');
const DAY_MS = 86_400_000;
const BOX = '046012345678900017';
/** Of no row of the stock but one that was refused, where rows were. */
const REFUSED_BOX = '046012345678900024';

/** Values of a column: most items have the first. Each column of an item is drawn by itself. */
const oneOf = (name: string, usual: string, ...others: string[]): string => {
  const drawn = `hash(i, ${SEED}, ${quoted(name)})`;
  const cases = others.map((value, n) => `WHEN ${n} THEN ${value}`).join(' ');
  return `CASE WHEN ${drawn} % 100 < 92 THEN ${usual} ELSE CASE (${drawn} >> 20) % ${others.length} ${cases} END END`;
};
const daysBefore = (days: number): string => String(MOMENT_MS - days * DAY_MS);
const placeOf = (leg: string): string => oneOf(`${leg} place`, `'P1'`, `'P2'`, 'NULL');
const seriesOf = (leg: string): string => oneOf(`${leg} series`, `'AB1'`, `'АB1'`, `'CD2'`, 'NULL');
const containerOf = (leg: string): string => oneOf(`${leg} container`, 'NULL', quoted(BOX), quoted(REFUSED_BOX));
const expiryOf = (leg: string): string =>
  oneOf(`${leg} expiry`, `DATE '2027-01-31'`, `DATE '2026-11-22'`, `DATE '2026-11-23'`, 'NULL');
const fundingOf = (leg: string): string => oneOf(`${leg} funding`, 'NULL', `'own'`, `'budget'`);
const partOf = (leg: string): string => oneOf(`${leg} part`, `'1/1'`, `'1/2'`, `'2/2'`, 'NULL');
const ownerOf = (leg: string): string => oneOf(`${leg} owner`, 'NULL', `'7700000001'`, `'7700000002'`);
const STATUSES = [
  ...['in_circulation', 'in_partial_sale', 'in_realization', 'paused_circulation', 'in_sale', 'in_medical_use'],
  ...['ofd_retail_error', 'expired', 'disposed', 'relabeled', 'marked', 'new_word'],
];
const statusOf = (leg: string): string =>
  oneOf(
    `${leg} status`,
    `CASE WHEN i % 3 = 0 THEN 'in_sale' ELSE 'in_circulation' END`,
    ...STATUSES.map(quoted),
    'NULL',
  );

const COLUMNS: Record<Exclude<Leg, 'documents'>, Record<string, string>> = {
  stock: {
    ...{ place: placeOf('stock'), series: seriesOf('stock'), expiry: expiryOf('stock') },
    state: oneOf('state', `'sellable'`, `'reserved'`, `'quarantine'`, `'in_transit'`, 'NULL'),
    moment: daysBefore(0),
    copies: oneOf('copies', '1', '2'),
    ...{ funding: fundingOf('stock'), part: partOf('stock'), owner: ownerOf('stock') },
  },
  record: {
    ...{ status: statusOf('record'), place: placeOf('record'), container: containerOf('record') },
    ...{ known_from: 'i + 1', uncertain: oneOf('uncertain', 'false', 'true') },
    part_left: partOf('record'),
  },
  registry: {
    answer: oneOf('answer', `'found'`, `'archived'`, `'not_found'`, `'denied'`),
    ...{ status: statusOf('registry'), place: placeOf('registry'), container: containerOf('registry') },
    ...{ series: seriesOf('registry'), expiry: expiryOf('registry') },
    ...{ funding: fundingOf('registry'), owner: ownerOf('registry') },
    moved_at: oneOf('moved_at', daysBefore(40), daysBefore(2), daysBefore(400), daysBefore(-1), 'NULL'),
    moment: oneOf('moment', daysBefore(0), daysBefore(3)),
  },
  disposals: {
    place: placeOf('disposals'),
    receipt: `'1/1'`,
    moment: oneOf('disposed', daysBefore(3), daysBefore(20)),
  },
};
/** Of a hundred items, so many are on this side. */
const SHARES = { stock: 65, record: 85, registry: 92, disposals: 30 };
const LEGS = ['stock', 'record', 'registry', 'disposals'] as const;

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
  const duck = await Duck.open({ memoryMb: 300, threads: 1, temporary: join(folder.path, 'duck') });
  await mkdir(join(folder.path, 'legs'));
  const item = `concat('0460123456789', i % 10, lpad(i::VARCHAR, 13, '0'))`;
  for (const leg of LEGS) {
    const columns = Object.entries(COLUMNS[leg]).map(([name, value]) => `${value} AS ${name}`);
    const boxes = leg === 'stock' ? `UNION ALL SELECT ${quoted(BOX)}, ${columns.join(', ')} FROM range(1) b(i)` : '';
    // All in the first bucket.
    await duck.run(`COPY (SELECT *, (${RUN} & 15)::UTINYINT AS run FROM (
        SELECT ${item} AS item, ${columns.join(', ')} FROM range(${ITEMS}) t(i)
        WHERE hash(i, ${SEED}, ${quoted(leg)}) % 100 < ${SHARES[leg]} ${boxes}) ORDER BY run, item)
      TO ${quoted(fileOf(leg))} (FORMAT parquet)`);
  }
  const refused = quoted(join(folder.path, 'legs', REFUSED_ITEMS));
  await duck.run(`COPY (SELECT ${item} AS item FROM range(${ITEMS}) t(i) WHERE hash(i, ${SEED}, 'refused') % 100 < 3
      UNION ALL SELECT ${quoted(REFUSED_BOX)}) TO ${refused} (FORMAT parquet)`);
  await duck.close();
});
afterAll(() => folder.remove());

const fileOf = (leg: Leg): string => join(folder.path, 'legs', `${leg}.parquet`);

const runOf = (given: Partial<RunRecord>, legs: readonly Leg[]): RunRecord => ({
  ...{ format: 1, moment: new Date(MOMENT_MS).toISOString(), settings: comparisonSettings({ hungDays: 100 }) },
  legs: Object.fromEntries(
    legs.map((leg) => [leg, { folder: '', digest: '', rows: ITEMS, files: [fileOf(leg)] }]),
  ) as RunRecord['legs'],
  ...{ places: null, wrongCheckDigits: true, containers: true, unseen: [], inputs: '' as RunRecord['inputs'] },
  ...given,
});

function withRefused(run: RunRecord): RunRecord {
  const { stock } = run.legs;
  if (stock === undefined) return run;
  const refused = { folder: join(folder.path, 'legs'), refused: sha256Hex('') };
  return { ...run, legs: { ...run.legs, stock: { ...stock, ...refused } } };
}

const RUNS: Record<string, () => RunRecord> = {
  'all sides': () => runOf({}, LEGS),
  'no containers or hung stock': () =>
    runOf({ containers: false, wrongCheckDigits: false, settings: comparisonSettings({ containers: false }) }, LEGS),
  'some places': () => runOf({ places: ['P1'] }, LEGS),
  'an owner of ours': () => runOf({ settings: comparisonSettings({ hungDays: 100, owner: '7700000001' }) }, LEGS),
  'refused rows': () => withRefused(runOf({}, LEGS)),
  'refused rows and no containers': () => withRefused(runOf({ containers: false }, LEGS)),
  'no record': () => runOf({}, ['stock', 'registry']),
  'no stock': () => runOf({}, ['record', 'registry', 'disposals']),
  'no registry': () => runOf({}, ['stock', 'record']),
};

/** What a run finds in its first bucket, by code. */
async function told(duck: Duck, of: Omit<BucketsOfRun, 'buckets'>): Promise<object[]> {
  await findDifferences(duck, { ...of, buckets: [0] });
  return duck.rows(`SELECT code, severity, quiet, count(*)::INTEGER AS items, sum(hash(item))::VARCHAR AS which
    FROM finding GROUP BY code, severity, quiet ORDER BY ALL`);
}

async function withRun(run: RunRecord, work: (duck: Duck) => Promise<void>): Promise<void> {
  const duck = await Duck.open({ memoryMb: 300, threads: 1, temporary: join(folder.path, 'duck') });
  try {
    await openRun(duck, run);
    await work(duck);
  } finally {
    await duck.close();
  }
}

describe(`items about which sides agree (seed ${SEED})`, () => {
  it.each(Object.entries(RUNS))('are such of which no rule speaks: %s', async (_, made) => {
    const run = made();
    await withRun(run, async (duck) => {
      const all = await told(duck, { run, withAgreeing: true });
      expect(await told(duck, { run })).toEqual(all);
      expect(all.length).toBeGreaterThan(5);
      const isRefused = run.legs.stock?.refused !== undefined;
      expect(all.some((one) => 'code' in one && one.code === 'row_refused')).toBe(isRefused);
      const items = differing(run, { buckets: [0] });
      if (items === undefined) return;
      // The pass leaves out some, or it proves nothing.
      const [seen] = await duck.rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM (${items})`);
      expect(seen?.n).toBeLessThan(0.95 * ITEMS);
    });
  });
});

describe(`a large bucket (seed ${SEED})`, () => {
  it('has the same findings in slices, and as a whole where a file has no runs', async () => {
    const run = runOf({}, LEGS);
    await withRun(run, async (duck) => {
      const whole = await told(duck, { run });
      expect(await told(duck, { run, mostRows: ITEMS / 4 })).toEqual(whole);
      const file = join(folder.path, 'legs', 'record-of-before.parquet');
      await duck.run(`COPY (SELECT * EXCLUDE (run) FROM ${parquet([fileOf('record')])}) TO ${quoted(file)}`);
      const record = { folder: '', digest: '' as Sha256, rows: ITEMS, files: [file] };
      const before = { ...run, legs: { ...run.legs, record } };
      expect(await told(duck, { run: before, mostRows: ITEMS / 4 })).toEqual(whole);
    });
  });
});
