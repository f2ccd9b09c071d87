import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onSession } from '#postgres';
import { comparisonSettings, mappingOf, whileLocked, writeFileRun, type FileRun } from '#reconciliation';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { lockIsAwaited } from '../../../../test/support/lock-is-awaited.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { cliConfig } from '../config.js';
import { allSchemas } from '../schemas.js';
import { runFolder } from './run-folder.js';

let db: TestDatabase;
let folder: TemporaryFolder;
let run: FileRun;
let own: string;
beforeAll(async () => void ([db, folder] = [await testDatabase(allSchemas()), await temporaryFolder()]));
afterAll(() => Promise.all([db.drop(), folder.remove()]));

const environment = () => ({ DATABASE_URL: db.url, DATA_DIR: folder.path });
const resume = () => commandHere(['reconcile', '--resume', run.runId, '--json'], environment());

/** A run whose stock nobody has read yet. */
beforeEach(async () => {
  const stock = join(folder.path, 'stock.csv');
  await writeFile(stock, 'KM\n04601234567893TESTSERIAL001\n');
  run = {
    ...{ runId: randomUUID(), stock, moment: '2026-11-22T22:00:00.000Z', branch: null, asOf: null, account: null },
    mapping: mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'KM' } }, 'stock'),
    ...{ way: 'auto', registry: null, disposals: null, settings: comparisonSettings({}), dryRun: true, processes: 1 },
    reason: 'spec',
  };
  own = runFolder(cliConfig(environment()), run.runId);
  await mkdir(own, { recursive: true });
  writeFileRun(own, run);
});

it('a run that another process makes is refused before its stock is read', async () => {
  const asked = readFileSync(join(own, 'request.json'), 'utf8');
  expect(await whileLocked(db.pool, run.runId, resume)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('another process is making the run'),
  });
  expect(readFileSync(join(own, 'request.json'), 'utf8')).toBe(asked);
  expect(existsSync(join(dirname(dirname(own)), 'snapshots'))).toBe(false);
});

it('a run goes on with what it was asked for when nobody else makes it any more', async () => {
  const resumed = await onSession(db.pool, async (session) => {
    await session.query('BEGIN; LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE');
    const going = resume();
    await until('the command waits for the migrations', () => lockIsAwaited(db.pool, 'schema_migration'));
    writeFileRun(own, { ...run, stock: join(folder.path, 'moved.csv') });
    await session.query('COMMIT');
    return going;
  });
  expect(resumed).toMatchObject({ status: 1, stderr: expect.stringContaining('moved.csv') });
});

it.each([
  [['--incremental'], '--incremental: no account is named, so the registry is not read'],
  [['--fresh-hours', '4'], '--fresh-hours: no account is named, so the registry is not read'],
])('an option that would change nothing is refused: %j', async (options, said) => {
  const mapping = join(folder.path, 'mapping.json');
  await writeFile(mapping, JSON.stringify({ format: 'csv', delimiter: ';', columns: { item: 'KM' } }));
  const file = ['reconcile', run.stock, '--mapping', mapping, '--moment', '2026-11-22T22:00:00Z'];
  const stderr = `pedigree: ${said}\n`;
  expect(await commandHere([...file, ...options], environment())).toEqual({ status: 2, stdout: '', stderr });
});
