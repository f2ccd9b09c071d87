import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import type { Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { readStates, segmentsSchema } from '#segments';
import { subscriptionsSchema } from '#subscriptions';
import { buildPrograms, repositoryFile } from '../../../../test/scenarios/built-programs.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeLives, type DocumentOfLife } from '../../../segments/test/lives.js';
import { comparisonSettings } from '../comparison/settings.js';
import { importSnapshot } from '../snapshots/import.js';
import type { SnapshotKind } from '../snapshots/kinds.js';
import { mappingOf } from '../snapshots/mapping.js';
import { compareFile } from './file-run.js';
import type { PackRun } from './pack-run.js';
import { runsFolder, writeFileRun, type ComparingParts, type FileRun } from './run-folder.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const PLACE = '00000000000461';
const LIMITS = { memoryMb: 200, threads: 1 };
/** When the stock was counted. */
const COUNTED = '2026-11-22T22:00:00.000Z';
const at = (hour: number): number => Date.parse(COUNTED) + (hour - 22) * 3_600_000;

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  await buildPrograms();
  [db, folder] = [
    await testDatabase([subscriptionsSchema, ...readModelSchemas, segmentsSchema]),
    await temporaryFolder(),
  ];
  // The tables of item claims, which are a library above this one.
  await db.pool.query(`CREATE TABLE claim_holder (id text PRIMARY KEY, number bigint);
    CREATE TABLE item_claim (item text, holder bigint, is_exclusive boolean)`);
}, 600_000);
afterAll(() => Promise.all([db.drop(), folder.remove()]));
beforeEach(async () => {
  await db.pool.query('TRUNCATE movement_document, movement_effect, item_movement, containment, checkpoint');
});

/** A document of ours that was accepted, as our record has learnt it at an hour. */
const learnt = (knownFrom: number, hour: number, [status, n]: [string, number]): DocumentOfLife => ({
  ...{ knownFrom, orderedAt: at(20), recordedAt: at(hour), operation: knownFrom, docType: 702 },
  ...{ subject: PLACE, counterparty: '', effects: [{ result: 'applied', status, place: PLACE }], rows: [[0, pack(n)]] },
});

async function snapshot(kind: SnapshotKind, moment: string, rows: object[]): Promise<string> {
  const path = join(folder.path, `${randomUUID()}.ndjson`);
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const columns = Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, name]));
  const out = join(folder.path, 'segments', 'snapshots', randomUUID());
  await importSnapshot({
    ...{ kind, path, out, moment, duck: LIMITS, confirmed: true },
    mapping: mappingOf({ format: 'ndjson', columns }, kind),
  });
  return out;
}

const partsOf = (pool: Pool = db.pool): ComparingParts => ({
  settings: { folder: join(folder.path, 'segments'), ...LIMITS },
  ...{ pool, actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' }, say: () => undefined },
  schedule: () => Promise.reject(new Error('nothing is read from the registry')),
  program: repositoryFile('dist/libs/reconciliation/src/comparison/child.js'),
});

async function begunRun(stock: string, over: Partial<FileRun> = {}): Promise<FileRun> {
  const run: FileRun = {
    ...{ runId: randomUUID(), stock, mapping: null, moment: null, branch: null, asOf: null, account: null },
    ...{ way: 'auto', registry: null, disposals: null, settings: comparisonSettings({}), dryRun: false, processes: 1 },
    ...{ reason: 'spec', ...over },
  };
  const own = join(runsFolder(join(folder.path, 'segments')), run.runId);
  await mkdir(own, { recursive: true });
  writeFileRun(own, run);
  return run;
}

const countsOf = async (run: FileRun): Promise<Record<string, number>> =>
  (await compareFile(partsOf(), run, run.stock)).result.counts;

const onShelf = (n: number) => ({ item: pack(n), place: PLACE });

it('what our record has learnt since the stock was counted is no difference yet', async () => {
  const told = [learnt(10, 20, ['in_circulation', 1]), learnt(20, 23, ['in_circulation', 2])];
  await writeLives(db.pool, told, 30);
  const stock = await snapshot('stock', COUNTED, [onShelf(9)]);
  expect(await countsOf(await begunRun(stock))).toEqual({ missing_locally: 1, moved_during_run: 1 });
}, 120_000);

it('an answer of the registry from before our last document about a pack proves no difference', async () => {
  await writeLives(db.pool, [learnt(10, 19, ['in_sale', 1]), learnt(20, 21, ['in_sale', 2])], 30);
  const stock = await snapshot('stock', COUNTED, [onShelf(9)]);
  const asked = [1, 2, 9].map((n) => ({ ...onShelf(n), status: 'in_circulation', moved_at: '2026-01-01T00:00:00Z' }));
  const registry = await snapshot('registry', '2026-11-22T20:00:00.000Z', asked);
  expect(await countsOf(await begunRun(stock, { registry }))).toEqual({
    ...{ sold_here_open_in_registry: 1, stale_snapshot: 1 },
  });
}, 120_000);

it('two that make one run at once make it of one record', async () => {
  const stock = await snapshot('stock', COUNTED, [onShelf(9)]);
  const run = await begunRun(stock);
  await writeLives(db.pool, [learnt(10, 20, ['in_circulation', 1])], 15);
  let other: Promise<PackRun> | undefined;
  /** The other one comes while this one reads the movements, and is done before it goes on. */
  const goesFirst = async (): Promise<void> => {
    other ??= (async () => {
      await writeLives(db.pool, [learnt(20, 21, ['in_circulation', 2])], 30);
      return compareFile(partsOf(), run, stock);
    })();
    await other;
  };
  const pool = Object.assign(Object.create(db.pool) as Pool, {
    connect: () => goesFirst().then(() => db.pool.connect()),
    query: (...args: unknown[]) => (db.pool.query as (...given: unknown[]) => unknown).apply(db.pool, args),
  });
  const made = await compareFile(partsOf(pool), run, stock);
  expect(made.result.digest).toBe((await other)?.result.digest);
  const record = join(runsFolder(join(folder.path, 'segments')), run.runId, 'record');
  expect(await readStates(record)).toMatchObject({ at: '30', packs: 2, digest: made.run.legs.record?.digest });
}, 120_000);

it.each(['has no such position', 'has no room'])(
  'a run whose record %s leaves none of it half made',
  async (why) => {
    const stock = await snapshot('stock', COUNTED, [onShelf(9)]);
    await writeLives(db.pool, [learnt(10, 20, ['in_circulation', 1])], 15);
    const run = await begunRun(stock, why === 'has no such position' ? { asOf: '999' } : {});
    const own = join(runsFolder(join(folder.path, 'segments')), run.runId);
    if (why === 'has no room') await mkdir(join(own, 'record', 'left'), { recursive: true });
    await expect(compareFile(partsOf(), run, stock)).rejects.toThrow(/position|not empty/);
    expect((await readdir(own)).filter((name) => name.startsWith('record'))).toEqual([]);
  },
  120_000,
);
