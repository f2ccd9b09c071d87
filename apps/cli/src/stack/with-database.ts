import { existsSync } from 'node:fs';
import { refuseUnfinishedRestore } from '#backup';
import { openEventStore, type EventStore } from '#event-store';
import { invalidConfiguration, PedigreeError } from '#kernel';
import { databaseIsAway, openPool, startEmbeddedPostgres, type EmbeddedPostgres, type Pool } from '#postgres';
import { sentenceOf } from '#service';
import type { CliConfig } from '../config.js';
import { DataDir } from './data-dir.js';

/**
 * The server under DATA_DIR. Throws PedigreeError `unavailable` with what is wrong there: a machine that it does not
 * run on, a full disk, files of another version.
 */
export async function embeddedPostgres(dataDir: DataDir): Promise<EmbeddedPostgres> {
  try {
    return await startEmbeddedPostgres({ dataDir: dataDir.file('postgres') });
  } catch (error) {
    throw new PedigreeError('unavailable', (error as Error).message);
  }
}

/** PostgreSQL: a table is not there. */
const UNDEFINED_TABLE = '42P01';

/** What it means that a table is missing: no program has ever migrated here, or only those of an older version have. */
async function tableMissing(pool: Pool, error: unknown): Promise<PedigreeError> {
  const { rows } = await pool.query<{ there: boolean }>(`SELECT to_regclass('schema_migration') IS NOT NULL AS there`);
  const why =
    rows[0]?.there === true
      ? 'not migrated to this version yet; run pedigree database migrate, or start Pedigree of this version on it'
      : 'never used; start Pedigree on it first (npm start)';
  return new PedigreeError('unavailable', `${sentenceOf(error)}: this database was ${why}`);
}

/** For commands that only look: they make no installation. @throws PedigreeError `invalid_configuration`. */
export function mustBeInstalled({ databaseUrl, dataDir }: Pick<CliConfig, 'databaseUrl' | 'dataDir'>): void {
  if (databaseUrl === undefined && !existsSync(new DataDir(dataDir).file('postgres')))
    throw invalidConfiguration(
      'DATA_DIR',
      `${dataDir} holds no installation: \`pedigree up\` makes one, and DATABASE_URL names a database elsewhere`,
    );
}

/**
 * Opens the configured database, or the embedded one, which is started for it and left as it was found, or to
 * those that use it besides. Throws PedigreeError where a restore into it is unfinished, but for what restores.
 */
export async function withDatabase<T>(
  { databaseUrl, dataDir, restores = false }: CliConfig & { restores?: boolean },
  work: (pool: Pool, connectionString: string) => Promise<T>,
): Promise<T> {
  const embedded = databaseUrl === undefined ? await embeddedPostgres(new DataDir(dataDir)) : undefined;
  const connectionString = databaseUrl ?? (embedded?.url as string);
  const pool = openPool({ connectionString, maxConnections: 4, applicationName: 'pedigree-cli' });
  try {
    if (!restores) await refuseUnfinishedRestore(pool);
    return await work(pool, connectionString);
  } catch (error) {
    if (databaseIsAway(error))
      throw new PedigreeError('unavailable', `the database does not answer: ${sentenceOf(error)}`);
    throw (error as { code?: unknown }).code === UNDEFINED_TABLE ? await tableMissing(pool, error) : error;
  } finally {
    await pool.end();
    await embedded?.leave();
  }
}

/** Opens the event log of the installation, and closes it after the work. */
export async function withStore<T>(
  { eventStoreUrl }: Pick<CliConfig, 'eventStoreUrl'>,
  pool: Pool,
  work: (store: EventStore) => Promise<T>,
): Promise<T> {
  const store = await openEventStore({ pool, eventStoreUrl });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
