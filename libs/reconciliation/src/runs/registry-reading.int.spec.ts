// Left to the soak: each way to read a registry. `npm test` has run.int.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf, sha256Hex } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { zipOf } from '../../test/made-zip.js';
import { writePlantedWorld, type PlantedWorld } from '../../test/planted-world.js';
import { BOX, CUSTOMER, HERE, SERIES } from '../../test/story.js';
import { runOf } from '../comparison/run-comparison.js';
import { comparisonSettings } from '../comparison/settings.js';
import { NEW_ORDER } from '../fetches/export-order.js';
import type { RegistryFetch } from '../fetches/fetch.js';
import { completeFetch, writePage, type FetchedRow } from '../fetches/pages.js';
import { registryFetchSchema } from '../fetches/schema.js';
import { importSnapshot } from '../snapshots/import.js';
import { bucketFiles, readSnapshot } from '../snapshots/manifest.js';
import { mappingOf } from '../snapshots/mapping.js';
import { registryReading } from './registry-reading.js';
import { runsFolder, type ComparingParts, type FileRun } from './run-folder.js';

const LIMITS = { memoryMb: 200, threads: 1 };
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const item = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const PACKS = 6;
/** Sold by the export, which is old, and in circulation by the live registry. */
const DOUBTFUL = 3;
/** The stock tells who paid for it, which the export does not. */
const PAID = 5;
/** The export does not show it. */
const UNSEEN = 4;
const LIVE = '2026-11-25T08:00:00.000Z';
const EXPORTED = '2026-11-24T08:00:00.000Z';

let db: TestDatabase;
let folder: TemporaryFolder;
let sides: Awaited<ReturnType<typeof writePlantedWorld>>;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [registryFetchSchema, subscriptionsSchema]);
  // Of the read model the two columns that count here.
  await db.pool.query('CREATE TABLE suspension (matched jsonb, position bigint)');
  sides = await writePlantedWorld(join(folder.path, 'sides'), world());
});
afterAll(() => Promise.all([db.drop(), folder.remove()]));

const SHELF = { series: SERIES, expiry: '2030-01-31', state: 'sellable', twice: false };

function world(): PlantedWorld {
  const all = Array.from({ length: PACKS }, (_, n) => ({ item: item(n), place: HERE }));
  return {
    ...{ registry: [], disposals: [], documents: [], expected: [], explained: {}, storyOf: new Map() },
    stock: all.map((one, n) => ({ ...one, ...SHELF, funding: n === PAID ? '3' : null })),
    record: all.map((one) => ({ ...one, status: 'in_circulation', container: null, uncertain: false, known_from: 10 })),
  };
}

const HEAD = 'sgtin,status,branch_id,sscc,batch,expiration_date,status_date';
const MAPPING = {
  format: 'csv',
  columns: {
    ...{ item: 'sgtin', status: 'status', place: 'branch_id', container: 'sscc', series: 'batch' },
    ...{ expiry: 'expiration_date', moved_at: 'status_date' },
  },
};
const csv = [...Array(PACKS).keys()]
  .filter((n) => n !== UNSEEN)
  .map((n) => `${item(n)},${n === DOUBTFUL ? 'in_sale' : 'in_circulation'},${HERE},,${SERIES},2030-01-31,${EXPORTED}`);

const WRONG = `no pack,in_circulation,${HERE},,${SERIES},2030-01-31,${EXPORTED}`;

/** A line of an export that is refused: there is no such day. */
const lineOf = (n: number): string => `${item(n)},in_sale,${HERE},,${SERIES},2030-02-31,${EXPORTED}`;
const refusedLines: string[] = [];
const exportedCsv = (): Buffer => Buffer.from(`${[HEAD, ...csv, WRONG, ...refusedLines].join('\r\n')}\r\n`);

/** In place of a worker, with a registry that has all packs on their shelf. */
async function bring({ fetchId, way }: RegistryFetch): Promise<void> {
  const about = { missing: [], unanswered: [], fetchedAt: new Date(LIVE) };
  await inTransaction(db.pool, async (tx) => {
    if (way === 'export') {
      const zip = zipOf([{ name: 'SGTINS.csv', content: exportedCsv() }]);
      const file = { bytes: zip.length, sha256: sha256Hex(zip), csvBytes: 10_000, mapping: MAPPING, moment: EXPORTED };
      await tx.query('UPDATE registry_fetch SET export_order = $2 WHERE fetch_id = $1', [
        ...[fetchId, JSON.stringify({ ...NEW_ORDER, file })],
      ]);
      await writePage(tx, { fetchId, phase: 'export_file', n: 0 }, { ...about, rows: [], answer: zip });
    } else {
      const { rows } = await tx.query<{ items: string }>(
        'SELECT items FROM registry_fetch_asked WHERE fetch_id = $1 ORDER BY n',
        [fetchId],
      );
      const named = rows.flatMap(({ items }) => items.split('\n'));
      const told = { answer: 'found', status: 'in_circulation', place: HERE, series: SERIES, moment: LIVE } as const;
      const answers = named.map((one): FetchedRow => ({ item: one, ...told }));
      await writePage(tx, { fetchId, phase: 'list', n: 0 }, { ...about, rows: answers, answer: Buffer.from('{}') });
    }
    await completeFetch(tx, fetchId);
  });
}

/** `dies`: this process ends while the registry is asked by name. */
function partsOf(dies: boolean): ComparingParts {
  let seen: RegistryFetch | undefined;
  const wait = async (): Promise<void> => {
    if (seen === undefined) throw new Error('nothing is waited for');
    if (dies && seen.way === 'list') throw new Error('died');
    await bring(seen);
  };
  return {
    settings: { folder: join(folder.path, 'segments'), ...LIMITS },
    ...{
      pool: db.pool,
      actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' },
      schedule: () => Promise.resolve(),
    },
    ...{ say: () => undefined, onFetch: (fetch) => void (seen = fetch), clock: { wait, now: () => new Date(LIVE) } },
  };
}

/** The same file, as a person gives it. */
async function imported(): Promise<string> {
  const path = join(folder.path, `${randomUUID()}.csv`);
  writeFileSync(path, exportedCsv());
  const out = join(folder.path, `given-${randomUUID()}`);
  await importSnapshot({
    ...{ kind: 'registry', path, out, moment: EXPORTED, duck: LIMITS, confirmed: true },
    mapping: mappingOf(MAPPING, 'registry'),
  });
  return out;
}

function begunRun(): FileRun {
  const run: FileRun = {
    ...{ runId: randomUUID(), stock: sides.stock, mapping: null, moment: null, branch: null, asOf: null },
    ...{ account: 'main', way: 'export', registry: null, disposals: null, settings: comparisonSettings({}) },
    ...{ dryRun: false, processes: 1, reason: 'spec' },
  };
  mkdirSync(join(runsFolder(join(folder.path, 'segments')), run.runId), { recursive: true });
  return run;
}

async function rowsIn(snapshot: string): Promise<string[]> {
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'duck') });
  try {
    const rows = await duck.rows<{ item: string; status: string; moment: bigint }>(
      `SELECT item, status, moment FROM ${parquet(bucketFiles(snapshot))} ORDER BY item`,
    );
    return rows.map(
      (one) => `${Number(one.item.slice(14))} ${one.status} ${new Date(Number(one.moment)).toISOString()}`,
    );
  } finally {
    await duck.close();
  }
}

const READ = [...Array(PACKS).keys()].map(
  (n) => `${n} in_circulation ${[DOUBTFUL, UNSEEN, PAID].includes(n) ? LIVE : EXPORTED}`,
);

describe('a run by export', () => {
  it('asks the live registry about each pack of which the export would make a finding, or that it does not show', async () => {
    const run = begunRun();
    const { registry = '', reading } = await registryReading(partsOf(false), { run, ...sides });
    expect(await rowsIn(registry)).toEqual(READ);
    expect(reading?.exported).toEqual({ moment: EXPORTED, rows: PACKS - 1, refused: 1, stood: PACKS - 3 });
    // The answers lie beside it, also those of the export.
    const index = readFileSync(join(registry, 'answers.ndjson'), 'utf8').trim().split('\n');
    expect(index.map((line) => (JSON.parse(line) as { phase: string }).phase)).toEqual(['export_file', 'list']);
  }, 60_000);

  it('goes on after a crash with the rows that stood, whatever was decided since: no pack is lost', async () => {
    const run = begunRun();
    await expect(registryReading(partsOf(true), { run, ...sides })).rejects.toThrow('died');
    await db.pool.query('INSERT INTO suspension VALUES ($1, 1)', [JSON.stringify([{ gtin: GTIN, series: SERIES }])]);
    const { registry = '' } = await registryReading(partsOf(false), { run, ...sides });
    expect(await rowsIn(registry)).toEqual(READ);
  }, 60_000);
});

describe('a list of suspensions that is behind our record', () => {
  const readTo = (position: number) =>
    db.pool.query(
      `INSERT INTO checkpoint (name, position, updated_at) VALUES ('projection:suspensions', $1, now())
       ON CONFLICT (name) DO UPDATE SET position = EXCLUDED.position`,
      [position],
    );
  afterEach(() => db.pool.query('DELETE FROM checkpoint; DELETE FROM suspension'));

  it('is waited for, before it is said which rows stand', async () => {
    await db.pool.query('DELETE FROM suspension');
    await readTo(0);
    const parts = partsOf(false);
    const wait = async (delayMs: number): Promise<void> => {
      const { rows } = await db.pool.query("SELECT 1 FROM registry_fetch WHERE phase = 'plan'");
      if (rows.length > 0) return parts.clock?.wait(delayMs);
      await db.pool.query('INSERT INTO suspension VALUES ($1, 1)', [JSON.stringify([{ gtin: GTIN, series: SERIES }])]);
      await readTo(1);
    };
    const clock = { wait, now: () => new Date(LIVE) };
    const { reading } = await registryReading({ ...parts, clock }, { run: begunRun(), ...sides });
    expect(reading?.exported?.stood).toBe(0);
  }, 60_000);
});

describe('a run by list', () => {
  it('says of its rows, and of its comparison, that packs which only the registry has are not among them', async () => {
    const told = async (way: FileRun['way']): Promise<(boolean | undefined)[]> => {
      const run: FileRun = { ...begunRun(), way };
      const { registry = '' } = await registryReading(partsOf(false), { run, ...sides });
      const record = await runOf({ ...sides, registry, settings: run.settings });
      return [(await readSnapshot(registry, 'registry')).namedOnly, record.namedOnly];
    };
    expect(await told('list')).toEqual([true, true]);
    expect(await told('export')).toEqual([undefined, undefined]);
  }, 60_000);
});

describe('packs that have left by our record', () => {
  it('are asked about by list alone: a list of all packs tells that they are not ours', async () => {
    await db.pool.query('DELETE FROM suspension');
    const { stock, record, ...none } = world();
    const known = (n: number, over: object) => ({ ...(record[0] as (typeof record)[0]), item: item(n), ...over });
    const left = [
      known(10, { status: 'in_sale' }),
      known(11, { place: CUSTOMER }),
      known(12, { status: 'in_realization', place: CUSTOMER }),
      known(13, { status: 'disposed', place: null }),
      known(14, { status: 'in_sale' }),
    ];
    const expected = [
      known(20, {}),
      known(21, { status: 'in_realization' }),
      known(22, { status: 'paused_circulation', place: null }),
      known(23, { status: 'in_sale', uncertain: true }),
      known(25, { status: null }),
    ];
    const boxed = known(24, { status: 'in_sale', container: BOX });
    const made = await writePlantedWorld(join(folder.path, 'left'), {
      ...none,
      stock: [...stock, { item: BOX, place: HERE, ...SHELF }],
      record: [...record, ...left, ...expected, boxed],
    });
    const read = async (way: FileRun['way'], given: string | null = null): Promise<unknown[]> => {
      const run: FileRun = { ...begunRun(), way, registry: given };
      const { registry = '' } = await registryReading(partsOf(false), { run, ...made });
      const { rows } = await db.pool.query('SELECT expected FROM registry_fetch WHERE fetch_id = $1', [run.runId]);
      return [(await rowsIn(registry)).map((one) => Number(one.split(' ')[0])), ...rows];
    };
    const expectedHere = { expected: PACKS + expected.length };
    const all = [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25];
    expect(await read('export')).toEqual([all.filter((n) => n < 10 || n > 14), expectedHere]);
    expect(await read('list')).toEqual([all, expectedHere]);
    // A person's file may be of some packs alone.
    expect((await read('auto', await imported()))[0]).toEqual(all);
    // What the export has in a row that cannot be read may be ours there.
    refusedLines.push(lineOf(14));
    expect(await read('export')).toEqual([all.filter((n) => n < 10 || n >= 14), expectedHere]);
    refusedLines.pop();
  }, 120_000);
});

describe('a run with an export that a person has downloaded', () => {
  it('asks the live registry about each pack of which it would make a finding, as of an export of its own', async () => {
    await db.pool.query('DELETE FROM suspension');
    const given = await imported();
    const run: FileRun = { ...begunRun(), way: 'auto', registry: given };
    await expect(registryReading(partsOf(true), { run, ...sides })).rejects.toThrow('died');
    const { registry = '', reading } = await registryReading(partsOf(false), { run, ...sides });
    expect(await rowsIn(registry)).toEqual(READ);
    const { digest } = await readSnapshot(given, 'registry');
    const stood = { moment: EXPORTED, rows: PACKS - 1, refused: 1, stood: PACKS - 3, given: digest };
    expect(reading?.exported).toEqual(stood);
    expect((await runOf({ ...sides, registry, settings: run.settings })).unconfirmed).toBeUndefined();
  }, 60_000);

  it('is taken as it is without an account, and its comparison says that nobody has confirmed it', async () => {
    const registry = await imported();
    const run: FileRun = { ...begunRun(), account: null, registry };
    expect(await registryReading(partsOf(false), { run, ...sides })).toEqual({ registry, reading: undefined });
    expect((await runOf({ ...sides, registry, settings: run.settings })).unconfirmed).toBe(true);
  }, 60_000);
});
