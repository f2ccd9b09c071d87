import { createWriteStream, existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PedigreeError, type Sha256 } from '#kernel';
import { digestOfFile, Duck, parquet, quoted, type DuckOptions } from '#duckdb';
import type { Pool, Transaction } from '#postgres';
import { importSnapshot, type SnapshotRequest } from '../snapshots/import.js';
import { columnsOf } from '../snapshots/kinds.js';
import {
  ANSWERS_FILE,
  ANSWERS_INDEX,
  bucketFiles,
  readSnapshot,
  REFUSED,
  REFUSED_ITEMS,
  type SnapshotManifest,
} from '../snapshots/manifest.js';
import { withDraft } from '../snapshots/draft.js';
import { mappingOf } from '../snapshots/mapping.js';
import { NewFile } from '../snapshots/new-file.js';
import { orderOf } from './export-pages.js';
import { CALLING_PHASES, findFetch, type RegistryFetch } from './fetch.js';
import { unzipOne } from './zip.js';

const PAGES_AT_ONCE = 20;

export interface GatherRequest {
  pool: Pool;
  /** Complete fetches, in their order: of an item that several tell, the last one counts. */
  fetchIds: readonly string[];
  /** Of these only the answers are kept beside the snapshot, and no row is in it. */
  answersOnly?: readonly string[];
  /** Snapshots of the registry beneath them. */
  base?: readonly string[];
  /** Of the snapshot, where no fetch tells it: ISO 8601. */
  moment?: string;
  /** Only packs that were named were asked for. */
  namedOnly?: boolean;
  /** The folder that becomes the snapshot. */
  out: string;
  duck: Omit<DuckOptions, 'temporary'>;
}

/**
 * Makes a registry snapshot of what fetches have brought, with the answers of the registry beside it, byte for byte.
 * The same fetches give the same digest. @throws PedigreeError `not_found` for a fetch that is not complete.
 */
export async function gatherFetches({
  pool,
  fetchIds,
  answersOnly = [],
  base = [],
  moment,
  namedOnly = false,
  out,
  duck,
}: GatherRequest): Promise<SnapshotManifest> {
  const fetches = await completeOnes(pool, fetchIds);
  const at = fetches.at(-1)?.completedAt?.toISOString() ?? moment;
  if (at === undefined) throw new PedigreeError('invalid_parameter', 'no fetch is given', {});
  return withDraft(out, async (work) => {
    const beside = [join(work, ANSWERS_FILE), join(work, ANSWERS_INDEX)];
    const rows = join(work, 'rows.ndjson');
    const [answers, index] = beside as [string, string];
    await writeStaged(pool, { fetches, answersOnly }, { rows, answers, index, zips: work });
    const exported = fetches.filter(({ fetchId, way }) => way === 'export' && !answersOnly.includes(fetchId));
    const exports = [];
    for (const fetch of exported) exports.push(await importExport(fetch, { work, duck }));
    for (const { refused } of exports) beside.push(...refused);
    const path = join(work, 'rows.parquet');
    const beneath = [...base, ...exports.map(({ folder }) => folder)];
    await newestOfEach({ rows, base: beneath, path }, { ...duck, temporary: work });
    return await importRows({ path, out, duck, beside, namedOnly, moment: at });
  });
}

const NAMES = columnsOf('registry').map(({ name }) => name);

/** Makes the snapshot of a Parquet file of rows, each column as {@link REGISTRY_CELLS} has it. */
export function importRows(
  rows: Pick<SnapshotRequest, 'path' | 'out' | 'duck' | 'moment' | 'beside' | 'namedOnly'>,
): Promise<SnapshotManifest> {
  const columns = Object.fromEntries(['item', ...NAMES].map((name) => [name, name]));
  return importSnapshot({
    ...{ kind: 'registry', ...rows, confirmed: true },
    mapping: mappingOf({ format: 'parquet', columns }, 'registry'),
  });
}

async function completeOnes(pool: Pool, fetchIds: readonly string[]): Promise<RegistryFetch[]> {
  const found = await Promise.all(fetchIds.map((id) => findFetch(pool, id)));
  return found.map((fetch, n) => {
    if (fetch?.phase === 'complete' && fetch.way !== 'decisions') return fetch;
    const why =
      fetch === undefined
        ? 'is not known'
        : fetch.way === 'decisions'
          ? 'tells no packs'
          : `is in phase ${fetch.phase}`;
    throw new PedigreeError('not_found', `the fetch ${fetchIds[n]} ${why}: only a complete one is gathered`, {});
  });
}

/** What one call brought, as it waits. */
export interface Staged {
  phase: string;
  n: number;
  rows: string;
  row_count: number;
  unanswered: string[];
  answer: Buffer;
  sha256: Sha256;
  fetched_at: Date;
}

/** Writes rows, answers and their index, and the zips of exports, some pages at a time. */
async function writeStaged(
  pool: Pool,
  { fetches, answersOnly }: { fetches: RegistryFetch[]; answersOnly: readonly string[] },
  paths: { rows: string; answers: string; index: string; zips: string },
): Promise<void> {
  const files = [paths.rows, paths.answers, paths.index].map(newFile);
  try {
    await writePages(pool, { fetches, answersOnly }, { files, zips: paths.zips });
    for (const file of files) await file.end();
  } finally {
    for (const file of files) file.close();
  }
}

/** `files`: rows, answers and their index; the zips come behind them. */
async function writePages(
  pool: Pool,
  { fetches, answersOnly }: { fetches: RegistryFetch[]; answersOnly: readonly string[] },
  { files, zips }: { files: NewFile[]; zips: string },
): Promise<void> {
  const [rows, answers, index] = files as [NewFile, NewFile, NewFile];
  let [offset, order] = [0, 0];
  for (const fetch of fetches) {
    const { fetchId } = fetch;
    const { firstPiece } = orderOf(fetch);
    const zip = newFile(zipOf(zips, fetchId));
    files.push(zip);
    for await (const { phase, n, sha256, fetched_at: at, ...page } of stagedPages(pool, fetchId)) {
      if (phase === 'export_file' && n < firstPiece) continue;
      // The order of the pages decides which of two rows of an item is the newer one.
      if (!answersOnly.includes(fetchId)) await rows.write(page.rows.replaceAll(/^\{/gm, `{"page":${(order += 1)},`));
      if (phase === 'export_file') await zip.write(gunzipSync(page.answer));
      await answers.write(page.answer);
      const entry = { fetchId, phase, page: n + 1, fetchedAt: at.toISOString(), rows: page.row_count, sha256 };
      const bytes = page.answer.length;
      await index.write(`${JSON.stringify({ ...entry, unanswered: page.unanswered, offset, bytes })}\n`);
      offset += bytes;
    }
  }
}

const newFile = (path: string): NewFile => new NewFile(createWriteStream(path));

const zipOf = (folder: string, fetchId: string): string => join(folder, `export-${fetchId}.zip`);

/** Beside a snapshot with an export: a line for each row of it that was refused. */
export const refusedOf = (fetchId: string): string => `export-${fetchId}-refused.ndjson`;

/** Makes a registry snapshot of the file of an export. Rows that were refused are listed beside it. */
async function importExport(
  fetch: RegistryFetch,
  { work, duck }: { work: string; duck: GatherRequest['duck'] },
): Promise<{ folder: string; refused: string[] }> {
  const { file } = orderOf(fetch);
  if (file === null) throw new Error(`the export ${fetch.fetchId} is complete without a file`);
  const at = (name: string): string => join(work, `export-${fetch.fetchId}${name}`);
  if ((await digestOfFile(zipOf(work, fetch.fetchId))).sha256 !== file.sha256)
    throw new Error(`the export ${fetch.fetchId} is not the file that was downloaded`);
  await unzipOne(zipOf(work, fetch.fetchId), file.csvBytes, createWriteStream(at('.csv')));
  await importSnapshot({
    ...{ kind: 'registry', path: at('.csv'), out: at(''), moment: file.moment, duck, confirmed: true },
    mapping: mappingOf(file.mapping, 'registry'),
  });
  await rm(at('.csv'));
  const refused = join(work, refusedOf(fetch.fetchId));
  await copyFile(join(at(''), REFUSED), refused);
  if (!existsSync(join(at(''), REFUSED_ITEMS))) return { folder: at(''), refused: [refused] };
  await copyFile(join(at(''), REFUSED_ITEMS), at(`-${REFUSED_ITEMS}`));
  return { folder: at(''), refused: [refused, at(`-${REFUSED_ITEMS}`)] };
}

/** Pages of a fetch in the order in which they were read: of packs the filter, then the list, then the archive. */
export async function* stagedPages(pool: Pool, fetchId: string): AsyncGenerator<Staged> {
  for (const phase of CALLING_PHASES) {
    for (let behind = -1; ;) {
      const { rows } = await pool.query<Staged>(
        `SELECT phase, n, rows, row_count, unanswered, answer, sha256, fetched_at FROM registry_fetch_page
         WHERE fetch_id = $1 AND phase = $2 AND n > $3 ORDER BY n LIMIT $4`,
        [fetchId, phase, behind, PAGES_AT_ONCE],
      );
      yield* rows;
      if (rows.length < PAGES_AT_ONCE) break;
      behind = rows.at(-1)?.n ?? behind;
    }
  }
}

const instant = (name: string): string => `strftime(make_timestamp_ms(${name}), '%Y-%m-%dT%H:%M:%S.%gZ') AS ${name}`;

/** The columns of a registry snapshot as cells of a file, for a SELECT. */
export const REGISTRY_CELLS = ['item', ...NAMES]
  .map((name) =>
    name === 'moment' || name === 'moved_at' ? instant(name) : name === 'expiry' ? 'expiry::VARCHAR AS expiry' : name,
  )
  .join(', ');

/** One row for each item: the newest of the pages, or else that of the last snapshot beneath them. */
async function newestOfEach(
  { rows, base, path }: { rows: string; base: readonly string[]; path: string },
  options: DuckOptions,
): Promise<void> {
  const duck = await Duck.open(options);
  const fields = ['item', ...NAMES].map((name) => `${name}: 'VARCHAR'`).join(', ');
  try {
    const sources = [
      `SELECT page, item, ${NAMES.join(', ')} FROM read_json(${quoted(rows)}, format = 'newline_delimited',
         maximum_object_size = 1000000, columns = {page: 'BIGINT', ${fields}})`,
    ];
    for (const [n, folder] of base.entries()) {
      await readSnapshot(folder, 'registry');
      sources.push(`SELECT ${n - base.length} AS page, ${REGISTRY_CELLS} FROM ${parquet(bucketFiles(folder))}`);
    }
    await duck.run(`COPY (SELECT * EXCLUDE (page) FROM (${sources.join(' UNION ALL ')})
      QUALIFY row_number() OVER (PARTITION BY item ORDER BY page DESC) = 1) TO ${quoted(path)} (FORMAT parquet)`);
  } finally {
    await duck.close();
  }
}

/**
 * Removes what lies in a snapshot now. The fetch itself stays, as a line in the list. Its phase comes first: a complete
 * fetch has all its pages, wherever a crash ends this, and what is left behind goes when it is old.
 */
export async function removeStaged(pool: Pool, fetchId: string): Promise<void> {
  await pool.query(`UPDATE registry_fetch SET phase = 'gathered' WHERE fetch_id = $1 AND phase = 'complete'`, [
    fetchId,
  ]);
  await pool.query('DELETE FROM registry_fetch_page WHERE fetch_id = $1', [fetchId]);
  await pool.query('DELETE FROM registry_fetch_asked WHERE fetch_id = $1', [fetchId]);
}

/**
 * Removes some rows of fetches that were asked for so many days ago. The fetch fails, for it is not whole any more.
 * Returns how many rows went.
 */
export async function removeFetched(
  tx: Transaction,
  {
    table,
    limit,
    keptDays,
  }: { table: 'registry_fetch_page' | 'registry_fetch_asked'; limit: number; keptDays: number },
): Promise<number> {
  await tx.query(
    `UPDATE registry_fetch SET phase = 'failed', failed_phase = NULL, problem = 'its pages were removed: too old'
     WHERE phase NOT IN ('failed', 'gathered') AND requested_at < statement_timestamp() - $1::int * interval '1 day'`,
    [keptDays],
  );
  const { rowCount } = await tx.query(
    `DELETE FROM ${table} WHERE ctid IN (SELECT p.ctid FROM ${table} p JOIN registry_fetch f USING (fetch_id)
       WHERE f.requested_at < statement_timestamp() - $1::int * interval '1 day' LIMIT $2)`,
    [keptDays, limit],
  );
  return rowCount ?? 0;
}
