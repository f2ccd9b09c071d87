import { invalidConfiguration, PedigreeError } from '#kernel';
import type { Pool, Queryable } from '#postgres';
import { FORMAT, writeBackup, type BackupHeader, type BackupSummary, type Piece } from './file.js';
import { Snapshot } from './snapshot.js';
import { TABLES, tablesOf } from './tables.js';

export interface BackupOptions {
  pool: Pool;
  file: string;
  softwareVersion: string;
  /** Default 2,000. */
  pageRows?: number;
  /** How long one transaction reads before another takes its snapshot over. Default 8,000. */
  handOnAfterMs?: number;
  /** Told after each page: rows of this table so far. */
  progress?(table: string, rows: number): void;
  /** Before the file is written, once it is clear that it can be. */
  onBegin?: () => Promise<void>;
}

const PAGE_ROWS = 2_000;
const PAGE_BYTES = 16_000_000;

/**
 * Takes a backup while everything runs. State tables and the log's head are read from one snapshot; then evidence and
 * the events up to that head, which nobody changes, page by page. Evidence is durable before the event that names it,
 * so that none is missing.
 */
export async function takeBackup(options: BackupOptions): Promise<BackupSummary> {
  const { pool, file } = options;
  if (options.onBegin !== undefined) {
    // Refused here, it is not begun; and what is recorded of it is in the backup itself.
    await headerOf(pool, options);
    await options.onBegin();
  }
  const snapshot = await Snapshot.open(pool, options.handOnAfterMs);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await snapshot.close();
    isOpen = false;
  };
  try {
    const header = await headerOf(await snapshot.reader(), options);
    return await writeBackup(file, header, piecesOf(options, { snapshot, header, close }));
  } finally {
    await close();
  }
}

async function headerOf(db: Queryable, { softwareVersion }: BackupOptions): Promise<BackupHeader> {
  await refuseUnknownTables(db);
  const { rows } = await db.query<{ id: string; takenAt: Date; position: bigint; place: string | null }>(
    'SELECT i.id, clock_timestamp() AS "takenAt", c.position, (SELECT place FROM log_place) AS place FROM ' +
      'installation i, event_counter c',
  );
  const [row] = rows;
  if (row === undefined) throw invalidConfiguration('DATABASE_URL', 'this database holds no installation');
  if (row.place === 'server')
    throw new PedigreeError('invalid_configuration', ON_A_SERVER, { field: 'EVENTSTORE_URL' });
  return {
    format: FORMAT,
    installationId: row.id,
    softwareVersion,
    migrations: await migrationsIn(db),
    takenAt: row.takenAt.toISOString(),
    logHead: row.position.toString(),
  };
}

async function migrationsIn(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT set_name || '/' || file_name AS name FROM schema_migration ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** A migration may have added columns, or rewritten a table, which the snapshot then sees as empty. */
async function refuseMigrated(db: Queryable, { migrations }: BackupHeader): Promise<void> {
  if (String(await migrationsIn(db)) === String(migrations)) return;
  throw new PedigreeError('unavailable', 'the database was migrated while the backup was taken: take it again');
}

export const ON_A_SERVER =
  'EVENTSTORE_URL: the log of this installation lies on an EventStoreDB or KurrentDB server, and pedigree backup ' +
  'covers a log in PostgreSQL only; ' +
  'use the backups of both servers, as docs/backup.md says, and pedigree restore --mark after a restore';

/** Tables that are there and that nobody has said anything about could be left out without anybody noticing. */
async function refuseUnknownTables(db: Queryable): Promise<void> {
  const there = await tablesThere(db);
  if (!there.has('installation') || !there.has('event_counter'))
    throw invalidConfiguration('DATABASE_URL', 'this database holds no installation');
  const unknown = [...there].filter((name) => TABLES[name] === undefined);
  if (unknown.length > 0)
    throw invalidConfiguration(
      'DATABASE_URL',
      `this version does not know the tables ${unknown.join(', ')}; take the backup with the ` +
        'version that made them',
    );
}

/** Names of the tables in the schema, without partitions. */
export async function tablesThere(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ name: string }>(
    'SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ' +
      `('r', 'p') AND NOT relispartition ORDER BY 1`,
  );
  return new Set(rows.map((row) => row.name));
}

async function* piecesOf(
  options: BackupOptions,
  { snapshot, header, close }: { snapshot: Snapshot; header: BackupHeader; close(): Promise<void> },
): AsyncGenerator<Piece> {
  const there = await tablesThere(await snapshot.reader());
  for (const table of tablesOf('state').filter((name) => there.has(name))) {
    yield* pagesOf(table, { options, reader: () => snapshot.reader() });
  }
  // From here on nothing that is read changes any more, and the server need not keep what others delete.
  await close();
  const pool = async (): Promise<Queryable> => options.pool;
  for (const table of tablesOf('evidence')) yield* pagesOf(table, { options, reader: pool });
  for (const table of tablesOf('log')) yield* pagesOf(table, { options, reader: pool, upTo: header.logHead });
  await refuseMigrated(options.pool, header);
}

interface Paging {
  options: BackupOptions;
  reader(): Promise<Queryable>;
  /** The highest value of a key of one column. */
  upTo?: string;
}

/** A table in pages by its primary key, none much heavier than PAGE_BYTES. */
async function* pagesOf(table: string, { options, reader, upTo }: Paging): AsyncGenerator<Piece> {
  const { columns, key } = await shapeOf(await reader(), table);
  yield { table, columns };
  let last: string[] | undefined;
  let count = 0;
  for (;;) {
    const db = await reader();
    const { text, values } = pageQuery(table, key, { last, upTo, pageRows: options.pageRows ?? PAGE_ROWS });
    const { rows } = await db.query<{ line: string; key: string[] }>(text, values);
    if (rows.length === 0) return;
    yield { rows: rows.map((row) => row.line) };
    last = rows.at(-1)?.key;
    count += rows.length;
    options.progress?.(table, count);
  }
}

type Key = { name: string; type: string }[];

/** The page after the row with the key `last`: its rows as JSON, each with its key. */
function pageQuery(
  table: string,
  key: Key,
  { last = [], upTo, pageRows }: { last: string[] | undefined; upTo: string | undefined; pageRows: number },
): { text: string; values: string[] } {
  const { weight: heavy, rows } = TABLES[table] ?? {};
  const weight = heavy === undefined ? '0' : `octet_length(t.${quoted(heavy)})`;
  const keyColumns = key.map((one) => `t.${quoted(one.name)}`).join(', ');
  const values: string[] = [];
  const bound = (than: '<=' | '>', bounds: string[]): string => {
    const places = bounds.map((value, i) => `$${values.push(value)}::text::${key[i]?.type}`);
    return `(${keyColumns}) ${than} (${places.join(', ')})`;
  };
  const conditions = [
    ...(rows === undefined ? [] : [rows]),
    ...(upTo === undefined ? [] : [bound('<=', [upTo])]),
    ...(last.length === 0 ? [] : [bound('>', last)]),
  ];
  const condition = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  // Weights are summed over the rows before, so that a page has one row at least, however heavy.
  const text = `WITH page AS MATERIALIZED (
      SELECT ${keyColumns}, sum(${weight}) OVER (ORDER BY ${keyColumns}) - ${weight} AS before FROM (SELECT *
        FROM ${quoted(table)} t ${condition} ORDER BY ${keyColumns} LIMIT ${pageRows}) t
    )
    SELECT row_to_json(t)::text AS line, ARRAY[${key.map((one) => `t.${quoted(one.name)}::text`).join(', ')}] AS key
    FROM page JOIN ${quoted(table)} t USING (${key.map((one) => quoted(one.name)).join(', ')})
      WHERE page.before < ${PAGE_BYTES} ORDER BY ${keyColumns}`;
  return { text, values };
}

async function shapeOf(db: Queryable, table: string): Promise<{ columns: string[]; key: Key }> {
  const { rows } = await db.query<{ name: string; type: string; place: number | null }>(
    `SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type, array_position(i.indkey::int2[],
        a.attnum) AS place
     FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`,
    [table],
  );
  const key = rows.filter((row) => row.place !== null).sort((a, b) => Number(a.place) - Number(b.place));
  if (key.length === 0) throw new Error(`table ${table} has no primary key to page by`);
  return { columns: rows.map((row) => row.name), key };
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
