import { createHash, randomBytes } from 'node:crypto';
import { migrate, openPool, startEmbeddedPostgres, type MigrationSet, type Pool } from '#postgres';

export interface TestDatabase {
  url: string;
  pool: Pool;
  /** Closes the pool and removes the database, also under other people's open sessions. */
  drop(): Promise<void>;
}

let server: Promise<string> | undefined;

/** Several specs run at once, and some have three stacks or more, of some 15 connections each. */
const SETTINGS = { shared_buffers: '64MB', max_connections: '600' };

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
  return (await startEmbeddedPostgres({ dataDir, durable, settings: SETTINGS })).url;
}

/**
 * A fresh database with a random name: empty, or with these tables. The tables are made once in a Jest run, and copied;
 * each copy is an installation of its own. A server that was given keeps no copies: another run has other tables.
 */
export async function testDatabase(schemas: MigrationSet[] = []): Promise<TestDatabase> {
  const serverUrl = await testServer();
  const isCopied = schemas.length > 0 && isOwn();
  const db = await databaseFrom(serverUrl, isCopied ? await templateWith(serverUrl, schemas) : undefined);
  if (isCopied) await asItself(db.pool);
  else if (schemas.length > 0) await migrate(db.pool, schemas);
  return db;
}

/** A database with all that another has, to which nobody is connected. */
export const copyOf = async (url: string): Promise<TestDatabase> =>
  databaseFrom(await testServer(), new URL(url).pathname.slice(1));

const isOwn = (): boolean => process.env['DATABASE_URL'] === undefined;

async function databaseFrom(serverUrl: string, template = 'template1'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Where nothing waits for the disk, a fifth of the time that the way by the write-ahead log takes.
  const strategy = isOwn() ? 'STRATEGY file_copy' : '';
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`);
  const url = urlOf(serverUrl, name);
  const pool = openPool({ connectionString: url, applicationName: 'pedigree-test' });
  return {
    url,
    pool,
    async drop() {
      if (!pool.ended) await pool.end();
      await onServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

const templates = new Map<string, Promise<string>>();

/** The name of the database with these tables that others are copies of. */
function templateWith(serverUrl: string, schemas: MigrationSet[]): Promise<string> {
  const sets = schemas.map(({ name, directory }) => `${name} ${directory.href}`).join('\n');
  const name = `template_${createHash('sha256').update(sets).digest('hex').slice(0, 16)}`;
  const known = templates.get(name);
  if (known !== undefined) return known;
  const made = makeTemplate(serverUrl, name, schemas);
  templates.set(name, made);
  return made;
}

/** Of several processes one makes it, the others wait. A pool ends a connection that idles, and with it the lock. */
async function makeTemplate(serverUrl: string, name: string, schemas: MigrationSet[]): Promise<string> {
  const pool = openPool({ connectionString: serverUrl, maxConnections: 1 });
  const server = await pool.connect();
  try {
    await server.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 1) return name;
    await server.query(`DROP DATABASE IF EXISTS ${name}_in_work`);
    await server.query(`CREATE DATABASE ${name}_in_work`);
    const inWork = openPool({ connectionString: urlOf(serverUrl, `${name}_in_work`) });
    await migrate(inWork, schemas).finally(() => inWork.end());
    await server.query(`ALTER DATABASE ${name}_in_work RENAME TO ${name}`);
    return name;
  } finally {
    server.release();
    await pool.end();
  }
}

async function asItself(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ there: boolean }>(`SELECT to_regclass('installation') IS NOT NULL AS there`);
  if (rows[0]?.there === true) await pool.query('UPDATE installation SET id = gen_random_uuid()');
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function onServer(url: string, statement: string): Promise<void> {
  const pool = openPool({ connectionString: url, maxConnections: 1 });
  try {
    await pool.query(statement);
  } finally {
    await pool.end();
  }
}
