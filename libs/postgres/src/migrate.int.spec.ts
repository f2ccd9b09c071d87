import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { migrate, type MigrationSet } from './migrate.js';
import { openPool } from './pool.js';

let db: TestDatabase;
let folder: TemporaryFolder;

beforeEach(async () => {
  db = await testDatabase();
  folder = await temporaryFolder();
});
afterEach(async () => {
  await db.drop();
  await folder.remove();
});

async function setOf(name: string, files: Record<string, string>): Promise<MigrationSet> {
  const directory = join(folder.path, name);
  await mkdir(directory, { recursive: true });
  for (const [file, sql] of Object.entries(files)) await writeFile(join(directory, file), sql);
  return { name, directory: pathToFileURL(`${directory}/`) };
}

async function tables(): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_name <> " +
      "'schema_migration' ORDER BY 1",
  );
  return rows.map((row) => row.name);
}

describe('migrate', () => {
  it('applies sets as given and files by name, each once', async () => {
    // 0010 must come after 0002 and needs it: neither the order of creation nor a numeric sort is at work.
    const first = await setOf('first', {
      '0010-view.sql': 'CREATE VIEW stock AS SELECT 1 AS n FROM pack;',
      '0002-pack.sql': 'CREATE TABLE pack (id int); INSERT INTO pack VALUES (1);',
      'notes.txt': 'not SQL',
    });
    const second = await setOf('second', { '0001-case.sql': 'CREATE TABLE a_case AS SELECT * FROM stock;' });
    expect(await migrate(db.pool, [first, second])).toEqual([
      'first/0002-pack.sql',
      'first/0010-view.sql',
      'second/0001-case.sql',
    ]);
    expect(await migrate(db.pool, [first, second])).toEqual([]);
    const { rows } = await db.pool.query('SELECT count(*)::int AS n FROM pack');
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('applies each file once when several processes start together', async () => {
    const set = await setOf('busy', {
      '0001-a.sql': 'CREATE TABLE a (n int); SELECT pg_sleep(0.1);',
      '0002-b.sql': 'INSERT INTO a VALUES (1);',
    });
    const pools = [1, 2, 3, 4].map(() => openPool({ connectionString: db.url, maxConnections: 1 }));
    try {
      const applied = await Promise.all(pools.map((pool) => migrate(pool, [set])));
      expect(applied.flat()).toEqual(['busy/0001-a.sql', 'busy/0002-b.sql']);
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
    const { rows } = await db.pool.query('SELECT count(*)::int AS n FROM a');
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('refuses a file that changed after it was applied, and applies nothing else', async () => {
    await migrate(db.pool, [await setOf('lib', { '0001-a.sql': 'CREATE TABLE a (n int);' })]);
    const changed = await setOf('lib', {
      '0001-a.sql': 'CREATE TABLE a (n bigint);',
      '0002-b.sql': 'CREATE TABLE b (n int);',
    });
    await expect(migrate(db.pool, [changed])).rejects.toThrow(/lib\/0001-a\.sql: changed after it was applied/);
    expect(await tables()).toEqual(['a']);
  });

  it('takes a file that says which applied form it does the same as, and no other', async () => {
    const first = 'CREATE TABLE a (n int);';
    await migrate(db.pool, [await setOf('lib', { '0001-a.sql': first })]);
    const formOf = (sql: string): string => createHash('sha256').update(sql).digest('hex');
    const mended = async (form: string) =>
      setOf('lib', { '0001-a.sql': `-- Does the same as the form with SHA-256 ${form}.\nCREATE TABLE a (n integer);` });

    await expect(migrate(db.pool, [await mended(formOf('another'))])).rejects.toThrow(/changed after it was applied/);
    expect(await migrate(db.pool, [await mended(formOf(first))])).toEqual([]);
  });

  it('refuses a new file before an applied one', async () => {
    await migrate(db.pool, [await setOf('lib', { '0002-b.sql': 'CREATE TABLE b (n int);' })]);
    const grown = await setOf('lib', { '0001-a.sql': 'CREATE TABLE a (n int);' });
    await expect(migrate(db.pool, [grown])).rejects.toThrow(/lib\/0001-a\.sql: is new but sorts before 0002-b\.sql/);
    expect(await tables()).toEqual(['b']);
  });

  it('keeps what came before a file that fails, nothing of that file, and goes on when it is mended', async () => {
    const files = { '0001-a.sql': 'CREATE TABLE a (n int);', '0002-b.sql': 'CREATE TABLE b (n int); SELECT 1/0;' };
    await expect(migrate(db.pool, [await setOf('lib', files)])).rejects.toThrow(
      'migration lib/0002-b.sql failed: division by zero',
    );
    expect(await tables()).toEqual(['a']);
    const mended = await setOf('lib', { ...files, '0002-b.sql': 'CREATE TABLE b (n int);' });
    expect(await migrate(db.pool, [mended])).toEqual(['lib/0002-b.sql']);
  });

  it('leaves a migration of a newer version alone', async () => {
    const older = await setOf('older', { '0001-a.sql': 'CREATE TABLE a (n int);' });
    await migrate(db.pool, [older]);
    await db.pool.query(
      "INSERT INTO schema_migration (set_name, file_name, sha256) VALUES ('older', '0002-b.sql', 'x')",
    );
    expect(await migrate(db.pool, [older])).toEqual([]);
  });

  it('refuses two sets of one name, and a folder without SQL', async () => {
    const set = await setOf('lib', { '0001-a.sql': 'SELECT 1;' });
    await expect(migrate(db.pool, [set, set])).rejects.toThrow(/two migration sets/);
    await expect(migrate(db.pool, [await setOf('empty', {})])).rejects.toThrow(/no \.sql file/);
  });

  it('has an hour for a statement, and waits less for what others have locked', async () => {
    const sql = `CREATE TABLE set AS SELECT current_setting('statement_timeout') AS statement,
      current_setting('lock_timeout') AS lock`;
    await migrate(db.pool, [await setOf('lib', { '0001-a.sql': sql })]);
    expect((await db.pool.query('SELECT * FROM set')).rows).toEqual([{ statement: '1h', lock: '5min' }]);
  });

  it('gives the session back as it was: lock free, statements limited', async () => {
    const pool = openPool({ connectionString: db.url, maxConnections: 1 });
    try {
      await migrate(pool, [await setOf('lib', { '0001-a.sql': 'SELECT 1;' })]);
      const { rows } = await pool.query(
        "SELECT current_setting('statement_timeout') AS timeout, current_setting('lock_timeout') AS waits, " +
          '(SELECT count(*)::int FROM pg_locks WHERE ' +
          "locktype = 'advisory' AND pid = pg_backend_pid()) AS locks",
      );
      expect(rows).toEqual([{ timeout: '30s', waits: '0', locks: 0 }]);
    } finally {
      await pool.end();
    }
  });
});
