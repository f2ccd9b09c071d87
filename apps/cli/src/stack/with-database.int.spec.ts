import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { migrate } from '#postgres';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';

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
