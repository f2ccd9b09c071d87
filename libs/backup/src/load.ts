import { invalidConfiguration, PedigreeError } from '#kernel';
import {
  asLongJob,
  inTransaction,
  migrate,
  migrationNames,
  tryLock,
  type MigrationSet,
  type Pool,
  type Queryable,
  type Transaction,
} from '#postgres';
import { quoted, tablesThere } from './dump.js';
import { checkBackup, readBackup, type BackupSummary, type Piece } from './file.js';
import { newestRestoration, restorationSchema, type Restoration } from './restoration.js';
import { TABLES, tablesOf } from './tables.js';

export interface RestoreOptions {
  pool: Pool;
  file: string;
  /** Of every program of this version. */
  schemas: MigrationSet[];
  /** Who does it: it is kept. */
  by: string;
  /** Told after each batch: rows of this table so far, of so many. */
  progress?(table: string, rows: number, of: number): void;
  /** Done after everything was loaded and before programs may start: an error leaves the restore unfinished. */
  beforeRelease?(restoration: Restoration, summary: BackupSummary): Promise<void>;
}

const BATCH_ROWS = 1_000;
const BATCH_CHARACTERS = 8_000_000;
/**
 * Held by the session that loads (no other lock has this number): a second restore into the same database is turned
 * away.
 */
const RESTORE_LOCK = 7_031_960_423;

/**
 * Loads a backup into an empty database. The file is read in full and checked before anything is written. Each batch is
 * a transaction of its own; from the first on the database says `loading` and every program refuses it, until all is
 * there and counted. The same call again begins anew. Ends in the state `comparing`. Throws PedigreeError.
 */
export async function restoreBackup(
  options: RestoreOptions,
): Promise<{ restoration: Restoration; summary: BackupSummary }> {
  const { pool, file } = options;
  const summary = await checkBackup(file);
  await refuseNewer(summary, options.schemas);
  return underLock(pool, async (session) => {
    await refuseFilled(session);
    return { restoration: await load(options, summary, session), summary };
  });
}

/**
 * The lock is given back before its session ends: a server may notice only later that a session is gone, and would turn
 * away the next restore.
 */
async function underLock<T>(pool: Pool, work: (session: Transaction) => Promise<T>): Promise<T> {
  const session = await pool.connect();
  try {
    if (!(await tryLock(session, RESTORE_LOCK))) throw notEmpty('another restore is under way in it');
    return await work(session);
  } finally {
    await session.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    session.release(true);
  }
}

async function refuseNewer({ header }: BackupSummary, schemas: MigrationSet[]): Promise<void> {
  const known = new Set(await migrationNames(schemas));
  const unknown = header.migrations.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new PedigreeError(
    'invalid_parameter',
    `the backup was taken by version ${header.softwareVersion}, which is newer than this one: the migration ` +
      `${unknown} is not known here`,
    { field: 'file' },
  );
}

const notEmpty = (why: string): PedigreeError =>
  invalidConfiguration(
    'DATABASE_URL',
    `a backup is restored into a new, empty database only, and ${why}; create one (createdb) and name it`,
  );

/** A restore makes these two before it says that it loads. */
const OF_A_BEGINNING = new Set(['restoration', 'schema_migration']);

async function refuseFilled(db: Queryable): Promise<void> {
  const there = await tablesThere(db);
  const newest = await newestRestoration(db);
  if (newest?.state === 'loading') return;
  if (newest !== undefined) throw notEmpty('this one was restored before');
  if ([...there].every((name) => OF_A_BEGINNING.has(name))) return;
  throw notEmpty(`this one has tables: ${[...there].slice(0, 3).join(', ')}${there.size > 3 ? ' and more' : ''}`);
}

/** What is in the schema but for the restoration, a statement each that removes it. Extensions stay. */
const REMOVALS = `
SELECT format('DROP TABLE IF EXISTS %I CASCADE', relname) AS line FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> ALL ($1::text[])
UNION ALL
SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc p
  WHERE pronamespace = current_schema()::regnamespace AND pg_has_role(proowner, 'USAGE')
    AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')`;

/**
 * Removes what an earlier run left. Its tables may be newer than the backup: rows would not fit into them, or would
 * miss what migrations change.
 */
async function removeRest(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ line: string }>(REMOVALS, [[...OF_A_BEGINNING]]);
  for (const { line } of rows) await pool.query(line);
  await pool.query('DELETE FROM schema_migration WHERE set_name <> $1', [restorationSchema.name]);
}

async function load(options: RestoreOptions, summary: BackupSummary, session: Transaction): Promise<Restoration> {
  const { pool, schemas, beforeRelease } = options;
  await migrate(pool, [restorationSchema]);
  const wasBegun = (await newestRestoration(pool))?.state === 'loading';
  await begin(pool, options, summary);
  if (wasBegun) await removeRest(pool);
  await migrate(pool, schemas, { only: new Set(summary.header.migrations) });
  const there = await tablesThere(pool);
  const filled = tablesOf('state', 'log', 'evidence').filter((table) => there.has(table));
  await pool.query(`TRUNCATE ${filled.map(quoted).join(', ')}`);
  await loadRows(options, summary);
  await asLongJob(session, 'restore', () => compareCounts(session, filled, summary));
  await settle(pool, filled);
  // What is newer here than the backup changes the rows as it would have changed them where they came from.
  await migrate(pool, schemas);
  const restoration = (await newestRestoration(pool)) as Restoration;
  await beforeRelease?.(restoration, summary);
  await pool.query(`UPDATE restoration SET state = 'comparing', loaded_at = clock_timestamp() WHERE state = 'loading'`);
  return (await newestRestoration(pool)) as Restoration;
}

async function begin(pool: Pool, { by }: RestoreOptions, { header, sha256 }: BackupSummary): Promise<void> {
  await inTransaction(
    pool,
    async (tx) => {
      await tx.query(`DELETE FROM restoration WHERE state = 'loading'`);
      const values = [sha256, header.takenAt, header.logHead, by];
      await tx.query(
        `INSERT INTO restoration (state, backup_sha256, taken_at, log_head, restored_by) VALUES ('loading', $1, ` +
          '$2, $3, $4)',
        values,
      );
    },
    { name: 'the beginning of a restore' },
  );
}

async function loadRows({ pool, file, progress }: RestoreOptions, checked: BackupSummary): Promise<void> {
  const loader = new RowLoader(pool, (table, rows) => progress?.(table, rows, checked.rows[table] ?? 0));
  const reading = readBackup(file);
  let next = await reading.next();
  for (; next.done !== true; next = await reading.next()) if (!('format' in next.value)) await loader.take(next.value);
  await loader.flush();
  if (next.value.sha256 !== checked.sha256)
    throw new PedigreeError('invalid_parameter', `${file} was changed while it was read`, { field: 'file' });
}

/** Inserts rows in batches, of one table after the other. */
class RowLoader {
  private into: { table: string; columns: string[] } | undefined;
  private loaded = 0;
  private batch: string[] = [];
  private characters = 0;

  constructor(
    private readonly pool: Pool,
    private readonly progress: (table: string, rows: number) => void,
  ) {}

  async take(piece: Piece): Promise<void> {
    if ('table' in piece) return this.begin(piece);
    for (const row of piece.rows) {
      this.batch.push(row);
      this.characters += row.length;
      if (this.batch.length >= BATCH_ROWS || this.characters >= BATCH_CHARACTERS) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.into === undefined || this.batch.length === 0) return;
    await insert(this.pool, this.into, this.batch);
    this.loaded += this.batch.length;
    [this.batch, this.characters] = [[], 0];
    this.progress(this.into.table, this.loaded);
  }

  private async begin(into: { table: string; columns: string[] }): Promise<void> {
    await this.flush();
    const unknown = `the backup has a table ${into.table.slice(0, 100)}, which is not known here`;
    if (TABLES[into.table] === undefined) throw new PedigreeError('invalid_parameter', unknown, { field: 'file' });
    [this.into, this.loaded] = [into, 0];
  }
}

async function insert(
  pool: Pool,
  { table, columns }: { table: string; columns: string[] },
  rows: string[],
): Promise<void> {
  const names = columns.map(quoted).join(', ');
  await pool.query(
    `INSERT INTO ${quoted(table)} (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM ` +
      `json_populate_recordset(null::${quoted(table)}, $1::json)`,
    [`[${rows.join(',')}]`],
  );
}

async function compareCounts(db: Queryable, tables: string[], { rows }: BackupSummary): Promise<void> {
  for (const table of tables) {
    const { rows: counted } = await db.query<{ n: bigint }>(`SELECT count(*) AS n FROM ${quoted(table)}`);
    const expected = rows[table] ?? 0;
    if (counted[0]?.n !== BigInt(expected))
      throw new Error(`${table} has ${counted[0]?.n} rows after the restore, and should have ${expected}`);
  }
  const { rows: heads } = await db.query<{ counter: bigint; newest: bigint | null }>(
    'SELECT position AS counter, (SELECT max(position) FROM event) AS newest FROM event_counter',
  );
  if (heads[0]?.counter !== (heads[0]?.newest ?? 0n))
    throw new Error(`the log's counter is at ${heads[0]?.counter}, and its newest event at ${heads[0]?.newest}`);
}

/** Numbers go on after the highest that is there; what belonged to processes of the old server is let go. */
async function settle(pool: Pool, tables: string[]): Promise<void> {
  const { rows } = await pool.query<{ table: string; column: string }>(
    'SELECT relname AS table, attname AS column FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE ' +
      `c.relname = ANY ($1) AND c.relnamespace = current_schema()::regnamespace AND attidentity <> ''`,
    [tables],
  );
  for (const { table, column } of rows) {
    await pool.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(${quoted(column)}), 0) + 1, false) FROM ` +
        `${quoted(table)}`,
      [quoted(table), column],
    );
  }
  for (const table of tables) {
    const { afterLoad } = TABLES[table] ?? {};
    if (afterLoad !== undefined) await pool.query(afterLoad);
  }
}
