import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalJson, defined, sha256Hex } from '#kernel';
import { eventStoreSchema } from '#event-store';
import { installationSchema, migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { SNAPSHOT_FORMAT, snapshotDigest } from '../snapshots/manifest.js';
import { removeRunFiles } from './remove-files.js';
import { findRequest, keepRequest, reconciliationSchema } from './request.js';

const NOW = new Date('2026-11-23T12:00:00Z');
const KEPT_DAYS = 100;
const ago = (days: number): Date => new Date(NOW.getTime() - days * 86_400_000);
const inputsOf = (runId: string): string => sha256Hex(runId);

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  const stored = [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas, reconciliationSchema];
  await migrate(db.pool, stored);
});
afterAll(async () => {
  await Promise.all([db.drop(), folder.remove()]);
});

const runs = (): string => join(folder.path, 'runs');
const snapshots = (): string => join(folder.path, 'snapshots');

/** Everything in it was last written so many days ago. */
async function age(path: string, days: number): Promise<void> {
  for (const name of await readdir(path, { recursive: true })) await utimes(join(path, name), ago(days), ago(days));
  await utimes(path, ago(days), ago(days));
}

interface Run {
  places?: string[];
  /** Names of snapshots. */
  of?: string[];
  isWhole?: boolean;
  ended?: 'completed' | null;
}

async function run(runId: string, days: number, { places = ['P1'], of = [], isWhole = true, ended }: Run = {}) {
  const comparison = join(runs(), runId, 'comparison');
  await mkdir(comparison, { recursive: true });
  const legs = Object.fromEntries(of.map((name) => [name, { folder: `/moved/${name}`, digest: digestOf(name, days) }]));
  const record = { inputs: inputsOf(runId), moment: ago(days).toISOString(), places, legs };
  await writeFile(join(comparison, 'run.json'), JSON.stringify(record));
  if (isWhole) await writeFile(join(comparison, 'result.json'), '{}');
  if (ended !== undefined) await writeFile(join(runs(), runId, 'schedule.json'), JSON.stringify({ ended }));
  await age(join(runs(), runId), days);
  const actor = { kind: 'system', name: 't', authenticatedBy: 't' } as const;
  await keepRequest(db.pool, { runId, reason: 'why', actor, kind: 'packs' });
}

const scopeOf = (name: string, days: number) => ({
  ...{ kind: 'stock' as const, moment: ago(days).toISOString(), branch: name.slice(0, 1), places: [name.slice(0, 1)] },
});
const digestOf = (name: string, days: number) => snapshotDigest(scopeOf(name, days), []);

async function snapshot(name: string, days: number, importedAt = ago(days)): Promise<void> {
  const own = join(snapshots(), name);
  await mkdir(own, { recursive: true });
  const made = { importedAt: importedAt.toISOString(), buckets: [], digest: digestOf(name, days) };
  const manifest = { format: SNAPSHOT_FORMAT, ...scopeOf(name, days), ...made };
  await writeFile(join(own, 'manifest.json'), canonicalJson(manifest));
  await age(own, days);
}

async function openCase(runId: string, phase: string): Promise<void> {
  await db.pool.query(
    `INSERT INTO reconciliation_case (case_id, opened_position, position, version, code, severity, phase, cause_kind,
       first_seen_at, last_seen_at, run_kind, last_run, packs_runs, runs_seen, item_count, due_at, state)
     VALUES ($1, 1, 1, 0, 'missing_locally', 'warning', $2, 'series', now(), now(), 'documents', 'of documents',
       jsonb_build_array('another', $3::text), 1, 1, now(), '{}')`,
    [`case of ${runId}`, phase, inputsOf(runId)],
  );
}

const removed = async (
  keptDays = KEPT_DAYS,
  mostRemoved?: number,
  onUnclear?: (file: string) => void,
): Promise<string[]> => {
  const told: string[] = [];
  const onRemove = ({ folder: one }: { folder: string }) => void told.push(one.slice(folder.path.length + 1));
  const of = {
    db: db.pool,
    folder: folder.path,
    keptDays,
    now: NOW,
    ...defined({ mostRemoved, onUnclear }),
  };
  const count = await removeRunFiles({ ...of, onRemove });
  expect(count).toBe(told.length);
  for (const one of told) expect(existsSync(join(folder.path, one))).toBe(false);
  return told.sort();
};

describe('old files of runs', () => {
  it('of two snapshots of one moment, the one that was imported last is the newest', async () => {
    await snapshot('E-1', 200, ago(200));
    await snapshot('E-2', 200, ago(199));
    expect(await removed()).toEqual(['snapshots/E-1']);
    await rm(snapshots(), { recursive: true });
  });

  it('go, and those stay that a case names, that are new, the newest of a branch, or under way', async () => {
    await run('old', 200);
    await run('old-resolved', 190);
    await openCase('old-resolved', 'resolved');
    await run('old-named', 180);
    await openCase('old-named', 'explained');
    await run('old-waiting', 180, { isWhole: false, ended: null });
    await run('old-ended', 180, { ended: 'completed' });
    await run('old-abandoned', 150, { isWhole: false });
    await run('of-other-branch', 300, { places: ['P2'] });
    await run('fresh', 99);
    await run('begun', 200, { isWhole: false });
    await writeFile(join(runs(), 'begun', 'comparison', 'findings-0.json'), '{}');
    await utimes(join(runs(), 'begun', 'comparison'), ago(1), ago(1));
    expect(await removed()).toEqual(['runs/old', 'runs/old-abandoned', 'runs/old-ended', 'runs/old-resolved']);
    expect((await findRequest(db.pool, 'old'))?.findingsRemovedAt).toBeInstanceOf(Date);
    expect((await findRequest(db.pool, 'old-named'))?.findingsRemovedAt).toBeUndefined();
    expect(await removed()).toEqual([]);
    // The newest of its branch stays, however old it is.
    expect(await removed(1)).toEqual([]);
    await run('newer', 50);
    expect(await removed(30)).toEqual(['runs/fresh']);
    expect(await readdir(join(folder.path, 'removed'))).toEqual([]);
  });

  it('go beside a run whose schedule is damaged, which stays', async () => {
    for (const name of ['damaged', 'beside-damaged']) await run(name, 200, { places: ['P6'] });
    await run('newest-of-place', 199, { places: ['P6'] });
    await writeFile(join(runs(), 'damaged', 'schedule.json'), '{"attempts":');
    await age(join(runs(), 'damaged'), 200);
    expect(await removed()).toEqual(['runs/beside-damaged']);
  });

  it('go beside a run whose record is damaged, which a case may name; none goes while one cannot be read', async () => {
    for (const name of ['torn', 'beside-torn']) await run(name, 200, { places: ['P7'] });
    await run('newest-beside', 150, { places: ['P7'] });
    const record = join(runs(), 'torn', 'comparison', 'run.json');
    await writeFile(record, '{"inputs":');
    await age(join(runs(), 'torn'), 200);
    expect(await removed()).toEqual(['runs/beside-torn']);
    await rm(record);
    await mkdir(record);
    await run('beside-unread', 200, { places: ['P7'] });
    await age(join(runs(), 'torn'), 200);
    await expect(removed()).rejects.toThrow(/EISDIR/);
    await rm(join(runs(), 'torn'), { recursive: true });
    expect(await removed()).toEqual(['runs/beside-unread']);
    await rm(join(runs(), 'newest-beside'), { recursive: true });
  });

  it('go with their snapshots, and not those that a run which stays was made of', async () => {
    await Promise.all([
      snapshot('A-old', 400),
      snapshot('A-of-run', 399),
      snapshot('A-older', 398),
      snapshot('B', 500),
    ]);
    await snapshot('A-fresh-copy', 10);
    await run('made-of-snapshot', 399, { of: ['A-of-run'], places: ['P9'] });
    expect(await removed()).toEqual(['snapshots/A-old', 'snapshots/A-older']);
  });

  it('go without the answers behind rows that a run which stays took over', async () => {
    await Promise.all([snapshot('registry-full', 400), snapshot('registry-other', 399), snapshot('registry-new', 10)]);
    await run('stands-on-others', 399, { places: ['P8'] });
    await writeFile(join(runs(), 'stands-on-others', 'reading.json'), JSON.stringify({ chain: ['full'] }));
    expect(await removed()).toEqual(['snapshots/registry-other']);
  });

  it('go beside a stray file, which stays, and beside a run in which a file lies where a folder belongs', async () => {
    for (const name of ['beside-stray', 'odd']) await run(name, 200, { places: ['P5'] });
    await run('newest-beside-stray', 150, { places: ['P5'] });
    await writeFile(join(runs(), '.DS_Store'), '');
    await utimes(join(runs(), '.DS_Store'), ago(300), ago(300));
    await rm(join(runs(), 'odd', 'comparison'), { recursive: true });
    await writeFile(join(runs(), 'odd', 'comparison'), '');
    await age(join(runs(), 'odd'), 200);
    expect(await removed()).toEqual(['runs/beside-stray', 'runs/odd']);
    expect(existsSync(join(runs(), '.DS_Store'))).toBe(true);
    await rm(join(runs(), '.DS_Store'));
  });

  it.each([
    ['request.json', '{"stock":'],
    ['request.json', 'null'],
    ['request.json', '{"stock":"a","registry":7}'],
    ['reading.json', '{"chain":'],
    ['reading.json', 'null'],
    ['reading.json', '{"chain":"full"}'],
  ])('go without any snapshot while a run that stays does not tell which it needs: %s with %s', async (file, text) => {
    await Promise.all([snapshot('D-old', 400), snapshot('D-new', 10)]);
    await run('tells-nothing', 399, { places: ['P4'] });
    await run('beside-it', 400, { places: ['P4'] });
    await writeFile(join(runs(), 'tells-nothing', file), text);
    await age(join(runs(), 'tells-nothing'), 399);
    const unclear: string[] = [];
    expect(await removed(KEPT_DAYS, undefined, (one) => unclear.push(one))).toEqual(['runs/beside-it']);
    expect(unclear).toEqual([join(runs(), 'tells-nothing', file)]);
    // As soon as it may go itself it is in nobody's way.
    await run('newer-than-it', 1, { places: ['P4'] });
    expect(await removed()).toEqual(['runs/tells-nothing', 'snapshots/D-old']);
    await rm(join(runs(), 'newer-than-it'), { recursive: true });
  });

  it('go some at a time where they are more than that: a snapshot not before the last run that was made of it', async () => {
    const numbers = [...Array(7).keys()];
    await snapshot('M-shared', 420);
    await snapshot('M-newest', 1);
    for (const n of numbers) await run(`many-${n}`, 420, { of: ['M-shared'], places: ['P7'] });
    await run('many-newest', 1, { places: ['P7'] });
    // More than are removed at a time, and named by cases: they are in nobody's way.
    for (const n of numbers.slice(0, 3)) await openCase(`many-${n}`, 'open');
    expect(await removed(KEPT_DAYS, 2)).toEqual(['runs/many-3', 'runs/many-4']);
    expect(await removed(KEPT_DAYS, 2)).toEqual(['runs/many-5', 'runs/many-6']);
    expect(await removed(KEPT_DAYS, 2)).toEqual([]);
    await db.pool.query("UPDATE reconciliation_case SET phase = 'resolved'");
    const left: string[][] = [];
    for (let gone = await removed(KEPT_DAYS, 2); gone.length > 0; gone = await removed(KEPT_DAYS, 2)) left.push(gone);
    expect(left.flat().filter((one) => one.includes('many') || one.includes('M-'))).toEqual([
      ...['runs/many-0', 'runs/many-1', 'runs/many-2', 'snapshots/M-shared'],
    ]);
    expect(Math.max(...left.map((gone) => gone.filter((one) => one.startsWith('runs')).length))).toBeLessThanOrEqual(2);
  });

  it('go with what was never a whole snapshot', async () => {
    const left = { 'registry-x.draft': 101, 'registry-y.items': 101, 'stock-z.draft': 99 };
    for (const [name, days] of Object.entries(left)) {
      await mkdir(join(snapshots(), name, 'work'), { recursive: true });
      await age(join(snapshots(), name), days);
    }
    expect(await removed()).toEqual(['snapshots/registry-x.draft', 'snapshots/registry-y.items']);
  });

  it('of which a crash has left a part go wholly', async () => {
    await mkdir(join(folder.path, 'removed', 'old', 'comparison'), { recursive: true });
    await removed();
    expect(existsSync(join(folder.path, 'removed'))).toBe(false);
  });
});
