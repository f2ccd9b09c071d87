import { PedigreeError } from '#kernel';
import { databaseIsAway, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { sentenceOf } from '#service';
import type { CliConfig } from '../config.js';
import { DataDir } from './data-dir.js';

/** Opens the configured database, or the embedded one, which is started for it and left as it was found. */
export async function withDatabase<T>(
  { databaseUrl, dataDir }: CliConfig,
  work: (pool: Pool, connectionString: string) => Promise<T>,
): Promise<T> {
  const embedded =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: new DataDir(dataDir).file('postgres') })
      : undefined;
  const connectionString = databaseUrl ?? (embedded?.url as string);
  const pool = openPool({ connectionString, maxConnections: 4, applicationName: 'pedigree-cli' });
  try {
    return await work(pool, connectionString);
  } catch (error) {
    if (databaseIsAway(error))
      throw new PedigreeError('unavailable', `the database does not answer: ${sentenceOf(error)}`);
    throw error;
  } finally {
    await pool.end();
    if (embedded?.reused === false) await embedded.stop();
  }
}
