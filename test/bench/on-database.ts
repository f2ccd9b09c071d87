import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPool, startEmbeddedPostgres, type Pool } from '#postgres';

/** A server of its own for one measurement, with an empty database, and a folder that goes with it. */
export interface BenchDatabase {
  pool: Pool;
  url: string;
  folder: string;
  /** What is started on it, and has to be stopped before it. */
  stops: (() => Promise<unknown>)[];
}

/** Measures on an empty database, and leaves nothing behind. */
export async function onDatabase<T>(work: (database: BenchDatabase) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const { url } = postgres;
    const pool = openPool({ connectionString: url, maxConnections: 4, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    return await work({ pool, url, folder, stops });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
