import { randomBytes } from 'node:crypto';
import { openPool, startEmbeddedPostgres, type Pool } from '#postgres';

export interface TestDatabase {
  url: string;
  pool: Pool;
  /** Closes the pool and removes the database, also under other people's open sessions. */
  drop(): Promise<void>;
}

let server: Promise<string> | undefined;

/**
 * The URL of a PostgreSQL for tests: DATABASE_URL, or the one server of this Jest run, started by whoever asks first.
 * It does not wait for the disk unless PEDIGREE_TEST_FSYNC=on: a test that proves durability sets it.
 */
async function testServer(): Promise<string> {
  server ??= findServer();
  return server;
}

async function findServer(): Promise<string> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined) return given;
  const dataDir = process.env['PEDIGREE_TEST_POSTGRES_DIR'];
  if (dataDir === undefined)
    throw new Error('neither DATABASE_URL nor PEDIGREE_TEST_POSTGRES_DIR is set: Jest ran without its globalSetup');
  const durable = process.env['PEDIGREE_TEST_FSYNC'] === 'on';
  return (await startEmbeddedPostgres({ dataDir, durable, settings: { shared_buffers: '64MB' } })).url;
}

/** A fresh, empty database with a random name. */
export async function testDatabase(): Promise<TestDatabase> {
  const serverUrl = await testServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pool = openPool({ connectionString: url.href, applicationName: 'pedigree-test' });
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end();
      await onServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function onServer(url: string, statement: string): Promise<void> {
  const pool = openPool({ connectionString: url, maxConnections: 1 });
  try {
    await pool.query(statement);
  } finally {
    await pool.end();
  }
}
