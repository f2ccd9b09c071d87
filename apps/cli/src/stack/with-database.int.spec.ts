import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate, openPool } from '#postgres';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { cliConfig } from '../config.js';
import { withDatabase } from './with-database.js';

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => void ([db, folder] = [await testDatabase(), await temporaryFolder()]));
afterAll(async () => {
  await db?.drop();
  await folder?.remove();
});

/** A command that makes no tables. */
const writeStates = () =>
  commandHere(['states', '--out', join(folder.path, 'states')], { DATABASE_URL: db.url, DATA_DIR: folder.path });

it('a command that misses a table says whether the database was never used, or not migrated to its version', async () => {
  const never = expect.stringMatching(/relation ".*" does not exist: this database was never used; start /);
  expect(await writeStates()).toMatchObject({ status: 1, stdout: '', stderr: never });
  await migrate(db.pool, []);
  const older = expect.stringMatching(/does not exist: this database was not migrated to this version yet; run /);
  expect(await writeStates()).toMatchObject({ status: 1, stdout: '', stderr: older });
});

it('two commands at once share the embedded server, and the last of them stops it', async () => {
  await chmod(folder.path, 0o711);
  const config = cliConfig({ DATA_DIR: join(folder.path, 'data') });
  const first = new AbortController();
  let firstEnds: Promise<void> = Promise.resolve();
  const begun = new Promise<string>((resolve, reject) => {
    firstEnds = withDatabase(config, async (_, url) => {
      resolve(url);
      await once(first.signal, 'abort');
    });
    firstEnds.catch(reject);
  });
  const url = await begun;
  await withDatabase(config, async (pool) => {
    first.abort();
    await firstEnds;
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
  const pool = openPool({ connectionString: url });
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await pool.end();
});
