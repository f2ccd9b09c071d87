import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, type DuckOptions, type FileStore, type StoredFile } from '#duckdb';
import { PedigreeError } from '#kernel';
import { hashesIn, treeInMemory } from '#merkle';
import { underLocks, type Pool, type Queryable, type Transaction } from '#postgres';
import type { TypeKnowledge } from '#documents';
import { readBlocks, type Blocks, type SegmentFiles } from './blocks.js';
import type { Movements } from './fold/documents.js';
import { foldStates, type States } from './fold/state.js';
import { historyUpTo, nextRange, rangesOf, SEGMENT_ROWS } from './ranges.js';
import { FILES, FORMAT } from './rows.js';
import { writeFiles, type Range, type Written } from './write-files.js';

export interface SegmentParts {
  pool: Pool;
  files: FileStore;
  duck: DuckOptions;
  /** Default: SEGMENT_ROWS. Another one gives other segments, so it never changes in an installation. */
  rows?: number;
}

export interface Segment extends Range {
  packRows: number;
  containerRows: number;
  rowsSha256: string;
  files: StoredFile[];
  recordedAt: Date | null;
  format: number;
  /** What its rows are under one root; null until that is worked out. */
  root: string | null;
  closings: number | null;
  closingsSha256: string | null;
  /** Of the event that says so. */
  sealedPosition: bigint | null;
}

/** Whoever writes segments holds this lock, so that two do not write the same files. Per database. */
const LOCK_KEY = 0x7365_676d;

const SELECT = `SELECT from_position AS "from", to_position AS "to", pack_rows AS "packRows", container_rows AS
  "containerRows",
  rows_sha256 AS "rowsSha256", files, recorded_at AS "recordedAt", format, root, closings, closings_sha256 AS
  "closingsSha256", sealed_position AS "sealedPosition" FROM segment`;

/** All segments, in the order of the log. */
export const segments = async (db: Queryable): Promise<Segment[]> =>
  (await db.query<Segment>(`${SELECT} ORDER BY to_position`)).rows;

export const firstUnsealed = async (db: Queryable): Promise<Segment | undefined> =>
  (await db.query<Segment>(`${SELECT} WHERE sealed_position IS NULL ORDER BY to_position LIMIT 1`)).rows[0];

/** How long ago the log recorded what the newest segment ends with; undefined while there is none. */
export async function newestSegmentSeconds(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ seconds: number | null }>(
    `SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS seconds FROM segment
     ORDER BY to_position DESC LIMIT 1`,
  );
  return rows[0]?.seconds ?? undefined;
}

/** A set of files for each range. */
export const setOf = ({ from, to }: Range): string => `${padded(from)}-${padded(to)}`;
const padded = (position: bigint): string => String(position).padStart(20, '0');

/**
 * Writes the next segment, when its range is complete. Files are durable before the row that names them; a crash
 * between the two leaves files without a row, which the next attempt replaces.
 * @returns its range, `none` when no range is complete, `busy` when another process writes one.
 */
export async function writeNextSegment(parts: SegmentParts): Promise<Range | 'none' | 'busy'> {
  return locked(parts.pool, async () => {
    const last = (await parts.pool.query<{ to: bigint | null }>('SELECT max(to_position) AS "to" FROM segment'))
      .rows[0];
    const upTo = await historyUpTo(parts.pool);
    const range = await nextRange(parts.pool, { from: last?.to ?? 0n, upTo, rows: parts.rows ?? SEGMENT_ROWS });
    if (range === undefined) return 'none';
    const tables = await tablesNow(parts.pool);
    const { folder, ...written } = await writeDraft(parts, range);
    if ((await parts.pool.query(`SELECT WHERE ${IS_NEXT}`, [range.from, tables])).rowCount === 0) {
      await rm(folder, { recursive: true, force: true });
      return 'busy';
    }
    const segment = { ...range, ...written, files: await parts.files.keep(setOf(range), folder) };
    const { rowCount } = await parts.pool.query(
      `INSERT INTO segment (from_position, to_position, pack_rows, container_rows, rows_sha256, files, recorded_at,
         format)
       SELECT $1::bigint, $3::bigint, $4::integer, $5::integer, $6, $7::jsonb, $8::timestamptz, $9::integer
       WHERE ${IS_NEXT}`,
      [
        segment.from,
        tables,
        segment.to,
        segment.packRows,
        segment.containerRows,
        segment.rowsSha256,
        JSON.stringify(segment.files),
        segment.recordedAt,
        FORMAT,
      ],
    );
    if (rowCount === 1) return segment;
    // Another process may have the row of this set, and these are not its files: a sweep writes those again.
    await parts.files.remove(setOf(range));
    return 'busy';
  });
}

/** Which tables hold the movements: a rebuild puts others in their place. */
const TABLES_NOW = `'movement_document'::regclass::oid::bigint`;
const tablesNow = async (db: Queryable): Promise<bigint> =>
  (await db.query<{ tables: bigint }>(`SELECT ${TABLES_NOW} AS tables`)).rows[0]?.tables ?? 0n;
/**
 * Of a segment from $1 on, written from tables $2. Whoever lost the lock meanwhile may have rows of tables that are
 * gone, or of a range that others have written.
 */
const IS_NEXT = `$1::bigint = coalesce((SELECT max(to_position) FROM segment), 0) AND ${TABLES_NOW} = $2::bigint`;

type Draft = Written & { folder: string };

/** What the tables say of a range, as files that are no set yet. */
async function writeDraft({ pool, files, duck: options }: SegmentParts, range: Range): Promise<Draft> {
  const earlier = (await segments(pool)).filter(({ to }) => to <= range.from);
  await checkFiles(files, earlier);
  const duck = await Duck.open(options);
  try {
    const folder = await files.draft(setOf(range));
    const written = writeFiles({ pool, duck }, [range], { folder, earlier: itemsOf(files, earlier) });
    // Where the disk is full, what is half written would fill it, and each attempt would leave more.
    return { folder, ...(await written.catch((error: unknown) => removed(folder, error))) };
  } finally {
    await duck.close();
  }
}

async function removed(folder: string, error: unknown): Promise<never> {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  throw error;
}

/** While nobody else writes segments. */
export const locked = <T>(pool: Pool, work: () => Promise<T>): Promise<T | 'busy'> =>
  underLocks(pool, [LOCK_KEY], work);

/**
 * For whoever puts other movements in the place of those that segments were written from: the reconciler writes all of
 * them again, and until then states come from the tables. A segment that is being written is waited for.
 */
export const forgettingSegments = {
  lock: async (tx: Transaction): Promise<void> => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK_KEY]);
  },
  change: forgetSegments,
};

async function forgetSegments(tx: Transaction): Promise<void> {
  const { rows } = await tx.query<{ there: boolean }>(`SELECT to_regclass('segment') IS NOT NULL AS there`);
  // Where no reconciler ever ran there is no table.
  if (rows[0]?.there !== true) return;
  // Until the switch is committed nobody adds a row: whoever lost the lock would still see the segments and the tables
  // of before. Readers are not in the way, and writers hold it for one statement.
  await tx.query('LOCK TABLE segment IN SHARE ROW EXCLUSIVE MODE');
  await tx.query('DELETE FROM segment');
}

/** What a sweep found, and what became of it. */
export interface SweepFinding {
  set: string;
  fault: string;
  mended: boolean;
}

/**
 * Compares files and rows. Files that are missing or damaged are written again from the tables, and must hold the same
 * rows as before; files without a row are removed. Without `mend` it only tells.
 */
export async function sweepSegments(
  parts: SegmentParts,
  { deep, mend }: { deep: boolean; mend: boolean },
): Promise<SweepFinding[] | 'busy'> {
  return locked(parts.pool, async () => {
    const found: SweepFinding[] = [];
    const known = await segments(parts.pool);
    const named = new Set(known.map(setOf));
    if (mend) await parts.files.removeDrafts();
    for (const set of await parts.files.sets()) {
      if (named.has(set)) continue;
      if (mend) await parts.files.remove(set);
      found.push({ set, fault: 'no row names these files', mended: mend });
    }
    for (const segment of known) {
      const fault = await faultOf(parts.files, segment, { deep });
      if (fault !== undefined)
        found.push({ set: setOf(segment), fault, mended: mend && (await rewrite(parts, segment)) });
    }
    return found;
  });
}

/** False when the tables do not know the range (yet, while they are rebuilt) or hold other rows now. */
async function rewrite(parts: SegmentParts, segment: Segment): Promise<boolean> {
  if ((await historyUpTo(parts.pool)) < segment.to) return false;
  // It names packs that no earlier one names, so those come first: a sweep goes in their order.
  for (const earlier of await segments(parts.pool))
    if (earlier.to < segment.to && (await faultOf(parts.files, earlier, { deep: false })) !== undefined) return false;
  const draft = await writeDraft(parts, segment);
  if (!(await hasItsRows(parts, segment, draft))) {
    await rm(draft.folder, { recursive: true });
    return false;
  }
  const files = await parts.files.keep(setOf(segment), draft.folder);
  const { rowCount } = await parts.pool.query(
    'UPDATE segment SET files = $3, format = $4 WHERE to_position = $1 AND files = $2',
    [segment.to, JSON.stringify(segment.files), JSON.stringify(files), FORMAT],
  );
  // Whoever lost the lock meanwhile has put its files in the place of others.
  if (rowCount === 0) await parts.files.remove(setOf(segment));
  return rowCount === 1;
}

/** The digest of rows is of packs, and only of which effect they have. The root is of all that the rows say. */
async function hasItsRows(parts: SegmentParts, segment: Segment, draft: Draft): Promise<boolean> {
  const { rowsSha256, containerRows } = draft;
  if (rowsSha256 !== segment.rowsSha256 || containerRows !== segment.containerRows) return false;
  if (segment.root === null) return true;
  const { root, closingsSha256 } = await rootedRows(
    parts,
    filesBy((name) => join(draft.folder, name)),
  );
  return root === segment.root && closingsSha256 === segment.closingsSha256;
}

/** The rows of a segment, as files have them, under one root. */
export async function rootedRows(parts: SegmentParts, files: SegmentFiles): Promise<Blocks & { root: string }> {
  const blocks = await withDuck(parts, (duck) => readBlocks(duck, files));
  return { ...blocks, root: treeInMemory(hashesIn(blocks.hashes)).root.toString('hex') };
}

export const filesOf = ({ files }: SegmentParts, segment: Range): SegmentFiles =>
  filesBy((name) => files.path(setOf(segment), name));

const filesBy = (path: (name: string) => string): SegmentFiles => ({
  packs: path(FILES.packs),
  containers: path(FILES.containers),
  documents: path(FILES.documents),
  effects: path(FILES.effects),
  closings: path(FILES.closings),
});

export async function withDuck<T>(parts: SegmentParts, work: (duck: Duck) => Promise<T>): Promise<T> {
  const duck = await Duck.open(parts.duck);
  try {
    return await work(duck);
  } finally {
    await duck.close();
  }
}

export interface StatesRequest {
  /** Log position; default: as far as the history of packs has read the log. */
  at?: bigint;
  /** Folder for the files of the answer. */
  out: string;
  types: TypeKnowledge;
  /** Before anything is written, once it is clear that it can be. */
  onBegin?: () => Promise<void>;
}

/**
 * The state of all packs at a log position: from the segments up to it, and from the tables what is younger than they
 * are.
 * @throws PedigreeError `invalid_parameter` for a position that the history has not reached, and `not_found` when the
 *   files of a segment are missing or damaged.
 */
export async function statesAt(
  parts: SegmentParts,
  { at: wanted, out, types, onBegin }: StatesRequest,
): Promise<States> {
  const upTo = await historyUpTo(parts.pool);
  const at = wanted ?? upTo;
  if (at < 0n || at > upTo)
    throw new PedigreeError(
      'invalid_parameter',
      `position ${at} is not one that the history of packs knows: 0 to ${upTo}`,
      {
        field: 'at',
      },
    );
  const tables = await tablesNow(parts.pool);
  const used = (await segments(parts.pool)).filter(({ from }) => from < at);
  await checkFiles(parts.files, used);
  await onBegin?.();
  const duck = await Duck.open(parts.duck);
  try {
    const tail = await tailOf(parts, duck, { used, to: at });
    const named = (name: keyof typeof FILES): string[] => [
      ...used.map((one) => parts.files.path(setOf(one), FILES[name])),
      join(tail, FILES[name]),
    ];
    const movements = Object.fromEntries(Object.keys(FILES).map((name) => [name, named(name as keyof typeof FILES)]));
    const states = await foldStates(duck, { movements: movements as unknown as Movements, at, types, out });
    await mustBeAsUsed(parts.pool, { used, tables });
    return states;
  } finally {
    await duck.close();
  }
}

/** Throws PedigreeError `unavailable` where a rebuild has put other rows in the place of those that were read. */
async function mustBeAsUsed(pool: Pool, { used, tables }: { used: readonly Segment[]; tables: bigint }): Promise<void> {
  const now = new Map((await segments(pool)).map((one) => [setOf(one), JSON.stringify(one.files)]));
  const areSame = used.every((one) => now.get(setOf(one)) === JSON.stringify(one.files));
  // What no segment has yet was read from the tables.
  if (areSame && (await tablesNow(pool)) === tables) return;
  throw new PedigreeError('unavailable', 'a rebuild put other rows in their place while they were read: ask again', {});
}

const itemsOf = (files: FileStore, of: readonly Segment[]): string[] =>
  of.map((one) => files.path(setOf(one), FILES.items));

/** What is wrong with a segment's files. */
const faultOf = async (files: FileStore, segment: Segment, options: { deep: boolean }): Promise<string | undefined> =>
  segment.format === FORMAT
    ? files.fault(setOf(segment), segment.files, options)
    : `${setOf(segment)} has the format ${segment.format} instead of ${FORMAT}`;

/** `deep`: by their digests too, and not only by their lengths. Throws PedigreeError `not_found`. */
export async function checkFiles(
  files: FileStore,
  used: readonly Segment[],
  { deep = false }: { deep?: boolean } = {},
): Promise<void> {
  for (const segment of used) {
    const fault = await faultOf(files, segment, { deep });
    if (fault !== undefined) {
      const message = `${fault}; the reconciler writes again what is missing or damaged`;
      throw new PedigreeError('not_found', message, {});
    }
  }
}

/** Rows that no segment has yet, as files beside DuckDB's own; none when the position lies within a segment. */
async function tailOf(parts: SegmentParts, duck: Duck, { used, to }: { used: Segment[]; to: bigint }): Promise<string> {
  const folder = join(duck.temporary, 'tail');
  await mkdir(folder, { recursive: true });
  const from = used.at(-1)?.to ?? 0n;
  const ranges = await rangesOf(parts.pool, { from: to < from ? to : from, to }, parts.rows ?? SEGMENT_ROWS);
  await writeFiles({ pool: parts.pool, duck }, ranges, { folder, earlier: itemsOf(parts.files, used) });
  return folder;
}
