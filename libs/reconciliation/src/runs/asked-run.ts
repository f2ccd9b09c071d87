import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '#event-store';
import { canonicalJson, PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { ageOf, readSnapshot, type SnapshotManifest } from '../snapshots/manifest.js';
import type { SnapshotKind } from '../snapshots/kinds.js';
import { isToCome, mustHaveCome } from '../snapshots/to-come.js';
import { namesIn, runsFolder, snapshotsFolder, writeFileRun, type FileRun } from './run-folder.js';
import { readSchedule, writeSchedule } from './schedule.js';

type Wishes = Pick<
  FileRun,
  'asOf' | 'account' | 'way' | 'freshHours' | 'settings' | 'incremental' | 'dryRun' | 'unconfirmed'
>;

/** A run about packs that the reconciler makes: from snapshots that lie there. */
export interface AskedRun extends Wishes {
  /** Name of a stock snapshot; null: the newest one. */
  stock: string | null;
  /** Of which the newest one is meant; null: of any. */
  branch: string | null;
  /** Names of snapshots. */
  registry: string | null;
  disposals: string | null;
  /** A stock that is older makes a run that has failed, and says so; null: any age. */
  mostHours: number | null;
}

const HOUR_MS = 3_600_000;

/** Keeps what is asked for, once: the same id is one run for ever. Returns whether it is new. */
export async function keepAskedRun(
  db: Queryable,
  { runId, reason, actor, asked }: { runId: string; reason: string; actor: Actor; asked: AskedRun },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `INSERT INTO reconciliation_request (run_id, reason, actor, kind, asked) VALUES ($1, $2, $3, 'packs', $4)
     ON CONFLICT DO NOTHING`,
    [runId, reason, canonicalJson(actor), canonicalJson(asked)],
  );
  return rowCount === 1;
}

/** Runs that no reconciler has taken yet, the oldest first. */
export async function untakenRuns(
  db: Queryable,
  limit: number,
): Promise<{ runId: string; reason: string; asked: AskedRun }[]> {
  const { rows } = await db.query<{ runId: string; reason: string; asked: string }>(
    `SELECT run_id AS "runId", reason, asked FROM reconciliation_request
     WHERE asked IS NOT NULL AND taken_at IS NULL ORDER BY requested_at, run_id LIMIT $1`,
    [limit],
  );
  return rows.map((row) => ({ ...row, asked: JSON.parse(row.asked) as AskedRun }));
}

export async function noteTaken(db: Queryable, runId: string): Promise<void> {
  await db.query('UPDATE reconciliation_request SET taken_at = statement_timestamp() WHERE run_id = $1', [runId]);
}

/**
 * Writes the folder of an asked run, from which it is made and goes on. What is there already stays.
 * @throws PedigreeError `not_found` where a snapshot is not there, or the stock is too old; `invalid_parameter` where
 * the moment of the stock is to come.
 */
export async function prepareAskedRun(
  folder: string,
  { runId, reason, asked }: { runId: string; reason: string; asked: AskedRun },
  now: Date,
): Promise<void> {
  const own = join(runsFolder(folder), runId);
  if (readSchedule(own) !== undefined) return;
  const { mostHours, stock: named, registry, disposals, ...rest } = asked;
  const stock =
    named === null ? await newestStock(folder, asked.branch, now) : await snapshotNamed(folder, named, 'stock');
  mustHaveCome(stock.manifest.moment, now, { field: 'stock', what: stock.folder });
  const ageHours = (now.getTime() - Date.parse(stock.manifest.moment)) / HOUR_MS;
  if (mostHours !== null && ageHours > mostHours)
    throw new PedigreeError(
      'not_found',
      `the newest stock is true as of ${stock.manifest.moment}: ${Math.floor(ageHours)} hours ago, and at most ` +
        `${mostHours} are allowed (${stock.folder})`,
      { item: stock.manifest.moment },
    );
  const run: FileRun = {
    ...{ runId, reason, ...rest, stock: stock.folder, mapping: null, moment: null, processes: 1 },
    registry: registry === null ? null : (await snapshotNamed(folder, registry, 'registry')).folder,
    disposals: disposals === null ? null : (await snapshotNamed(folder, disposals, 'disposals')).folder,
  };
  mkdirSync(own, { recursive: true });
  writeFileRun(own, run);
  writeSchedule(own, { attempts: 0, notBefore: null, ended: null, atAnyHour: true });
}

interface Found {
  folder: string;
  manifest: SnapshotManifest;
}

async function snapshotNamed(folder: string, name: string, kind: SnapshotKind): Promise<Found> {
  const at = join(snapshotsFolder(folder), name);
  if (!/^[A-Za-z0-9_+-]{1,200}$/.test(name) || !existsSync(at))
    throw new PedigreeError('not_found', `there is no snapshot ${name}`, { field: kind, item: name });
  return { folder: at, manifest: await readSnapshot(at, kind) };
}

/** By its moment; of equal ones that which was imported last. One whose moment is to come would be it for years. */
async function newestStock(folder: string, branch: string | null, now: Date): Promise<Found> {
  const names = (await namesIn(snapshotsFolder(folder))).filter((name) => name.startsWith('stock-'));
  let newest: Found | undefined;
  for (const name of names) {
    const at = join(snapshotsFolder(folder), name);
    const manifest = await readSnapshot(at, 'stock').catch(() => undefined);
    if (manifest === undefined || isToCome(manifest.moment, now)) continue;
    if (branch !== null && !isOf(manifest, branch)) continue;
    if (newest === undefined || ageOf(manifest) > ageOf(newest.manifest)) newest = { folder: at, manifest };
  }
  if (newest !== undefined) return newest;
  const of = branch === null ? '' : ` of ${branch}`;
  throw new PedigreeError('not_found', `there is no stock${of} yet: no stock file was imported`, { field: 'stock' });
}

const isOf = ({ branch, places }: SnapshotManifest, wanted: string): boolean =>
  branch === wanted || (places?.includes(wanted) ?? false);
