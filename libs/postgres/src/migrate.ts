import { readdir, readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { invalidConfiguration, PedigreeError } from '#kernel';
import { onSession, type Pool, type Queryable, type Transaction } from './pool.js';
import { asLongJob, nameTransaction, transactionError } from './transaction-limit.js';

/** The tables of one library: every .sql file of `directory`, applied in file-name order. */
export interface MigrationSet {
  /** The library's name; with the file name it is the identity of a migration for ever. */
  name: string;
  directory: URL;
}

interface MigrationFile {
  setName: string;
  fileName: string;
  sql: string;
  /** Of the file's bytes, lower-case hexadecimal. */
  sha256: string;
}

export interface MigrateOptions {
  /** Names as `<set>/<file>`: no others are applied. For a restore, which has to meet the tables as they were. */
  only?: ReadonlySet<string>;
}

/** Any number will do, as long as every version of Pedigree uses the same one. Advisory locks are per database. */
const LOCK_KEY = 0x7065_6469;
/** A process that waits for another's migrations, or for a table, gives up after this time: a stuck one is noticed. */
const LOCK_WAIT_MS = 300_000;

const CREATE_SCHEMA_MIGRATION = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    set_name   text        NOT NULL,
    file_name  text        NOT NULL,
    sha256     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (set_name, file_name)
  )`;

/**
 * Applies what is missing of each set, in the order of `sets` and within a set in file-name order; each file once and
 * in a transaction of its own. Processes that start together wait for one another on a session lock, which the server
 * frees when a process dies. A migration that is recorded but no longer in the folder is left alone: a newer version
 * made it.
 * @returns the names applied now, as `<set>/<file>`; empty when everything was there.
 * @throws PedigreeError `invalid_configuration` when a file changed after it was applied, when a new file sorts before
 *   an
 *   applied one (forward only), or when two sets share a name. Errors of the SQL itself carry the file's name.
 */
export async function migrate(pool: Pool, sets: MigrationSet[], { only }: MigrateOptions = {}): Promise<string[]> {
  const files = (await readSets(sets)).filter((file) => only?.has(qualifiedName(file)) ?? true);
  return inLockedSession(pool, (session) => applyMissing(session, files));
}

/**
 * Whether this role makes tables. Where each program has a role of its own, it may not: then somebody else migrates
 * (`pedigree database migrate`).
 */
export async function mayMigrate(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ may: boolean | null }>(
    `SELECT has_schema_privilege(current_schema(), 'CREATE') AS may`,
  );
  return rows[0]?.may === true;
}

/**
 * What a program does at its start: applies what is missing where its role may, as `migrate`; else only looks whether
 * something is. Migrations that run at this moment are waited for.
 * @throws PedigreeError `invalid_configuration` also where something is missing, with what to do.
 */
export async function migrateOrCheck(pool: Pool, sets: MigrationSet[]): Promise<void> {
  await ((await mayMigrate(pool)) ? migrate(pool, sets) : requireMigrated(pool, sets));
}

/** Throws PedigreeError `invalid_configuration` where a migration of these sets is missing, with what to do. */
export async function requireMigrated(pool: Pool, sets: MigrationSet[]): Promise<void> {
  const files = await readSets(sets);
  const missing = await inLockedSession(pool, async (session) => missingOf(files, await readApplied(session))).catch(
    (error: { code?: string }) => Promise.reject(notOurs(error.code) ?? (error as Error)),
  );
  if (missing.length === 0) return;
  const names = missing.slice(0, MOST_NAMED).map(qualifiedName).join(', ');
  const more = missing.length > MOST_NAMED ? ` and ${String(missing.length - MOST_NAMED)} more` : '';
  throw notReady(`the migrations ${names}${more} are missing`, 'migrate');
}

const MOST_NAMED = 3;

const notReady = (reason: string, command: 'migrate' | 'grants'): PedigreeError =>
  invalidConfiguration(
    'DATABASE_URL',
    `${reason}; run pedigree database ${command} with the role that owns the tables`,
  );

/** What the server says to a role that finds no tables, and to one that may not read them. */
function notOurs(code: string | undefined): PedigreeError | undefined {
  if (code === '42P01') return notReady('this role finds no tables of Pedigree', 'migrate');
  if (code === '42501') return notReady('this role may not read the tables of Pedigree', 'grants');
  return undefined;
}

/** A session of its own that holds the lock of migrations. */
const inLockedSession = <T>(pool: Pool, work: (session: Transaction) => Promise<T>): Promise<T> =>
  onSession(pool, (session) => underLock(session, () => work(session)));

async function readSets(sets: MigrationSet[]): Promise<MigrationFile[]> {
  const names = new Set<string>();
  const files: MigrationFile[] = [];
  for (const set of sets) {
    if (names.has(set.name)) throw refused(set.name, 'two migration sets have this name');
    names.add(set.name);
    files.push(...(await readSet(set)));
  }
  return files;
}

async function readSet(set: MigrationSet): Promise<MigrationFile[]> {
  const fileNames = (await readdir(set.directory)).filter((name) => name.endsWith('.sql')).sort();
  // An empty folder is a build that forgot to copy the .sql files, never a library without tables.
  if (fileNames.length === 0) throw refused(set.name, `no .sql file in ${set.directory.href}`);
  return Promise.all(
    fileNames.map(async (fileName) => {
      const bytes = await readFile(new URL(encodeURIComponent(fileName), folderUrl(set.directory)));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { setName: set.name, fileName, sql: bytes.toString('utf8'), sha256 };
    }),
  );
}

/** A URL without the closing slash names a file, and its last part would be lost when a name is resolved against it. */
function folderUrl(directory: URL): URL {
  return directory.href.endsWith('/') ? directory : new URL(`${directory.href}/`);
}

function underLock<T>(session: Transaction, work: () => Promise<T>): Promise<T> {
  return asLongJob(session, 'migration', async () => {
    await session.query(`SET lock_timeout = ${LOCK_WAIT_MS}`);
    await session.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    const done = await work();
    await session.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]);
    await session.query('RESET lock_timeout');
    return done;
  });
}

async function applyMissing(session: Transaction, files: MigrationFile[]): Promise<string[]> {
  await session.query(CREATE_SCHEMA_MIGRATION);
  // Everything is checked before anything is applied, so that a refusal leaves the database as it was.
  const missing = missingOf(files, await readApplied(session));
  for (const file of missing) await applyFile(session, file);
  return missing.map(qualifiedName);
}

const missingOf = (files: MigrationFile[], applied: Map<string, Map<string, string>>): MigrationFile[] =>
  files.filter((file) => isMissing(file, applied.get(file.setName) ?? new Map()));

/** Per set name: file name -> SHA-256 at the time it was applied. */
async function readApplied(session: Transaction): Promise<Map<string, Map<string, string>>> {
  const { rows } = await session.query<{ set_name: string; file_name: string; sha256: string }>(
    'SELECT set_name, file_name, sha256 FROM schema_migration',
  );
  const applied = new Map<string, Map<string, string>>();
  for (const row of rows) {
    const ofSet = applied.get(row.set_name) ?? new Map<string, string>();
    applied.set(row.set_name, ofSet.set(row.file_name, row.sha256));
  }
  return applied;
}

/** A file may be mended for databases to come, such as for its cost, when it does what an earlier form of it did. */
const doesTheSameAs = (sha256: string, { sql }: MigrationFile): boolean =>
  sql.includes(`-- Does the same as the form with SHA-256 ${sha256}.\n`);

function isMissing(file: MigrationFile, appliedOfSet: Map<string, string>): boolean {
  const known = appliedOfSet.get(file.fileName);
  if (known !== undefined) {
    if (known === file.sha256 || doesTheSameAs(known, file)) return false;
    throw refused(
      qualifiedName(file),
      `changed after it was applied (SHA-256 was ${known}, is ${file.sha256}); restore the file and add a new ` +
        'one for the change',
    );
  }
  const later = [...appliedOfSet.keys()].find((name) => name > file.fileName);
  if (later !== undefined)
    throw refused(
      qualifiedName(file),
      `is new but sorts before ${later}, which is applied already; give it a later number`,
    );
  return true;
}

async function applyFile(session: Transaction, file: MigrationFile): Promise<void> {
  try {
    nameTransaction(session, `migration ${qualifiedName(file)}`);
    await session.query('BEGIN');
    await session.query(file.sql);
    await session.query('INSERT INTO schema_migration (set_name, file_name, sha256) VALUES ($1, $2, $3)', [
      file.setName,
      file.fileName,
      file.sha256,
    ]);
    await session.query('COMMIT');
  } catch (thrown) {
    const error = transactionError(session, thrown);
    throw new Error(`migration ${qualifiedName(file)} failed: ${(error as Error).message}`, { cause: error });
  }
}

function qualifiedName(file: MigrationFile): string {
  return `${file.setName}/${file.fileName}`;
}

function refused(item: string, reason: string): PedigreeError {
  return new PedigreeError('invalid_configuration', `migration ${item}: ${reason}`, { item });
}

/** The names of all files of these sets, as `<set>/<file>`. */
export async function migrationNames(sets: MigrationSet[]): Promise<string[]> {
  return (await readSets(sets)).map(qualifiedName);
}
