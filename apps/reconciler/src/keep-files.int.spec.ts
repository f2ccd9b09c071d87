import { mkdir, utimes } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { reconciliationSchema } from '#reconciliation';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { keepRunFiles, removeOldFiles } from './keep-files.js';
import { Troubles } from './troubles.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const OLD = new Date('2020-01-01T00:00:00Z');

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas, reconciliationSchema]);
});
afterAll(async () => {
  await Promise.all([db.drop(), folder.remove()]);
});

it('removes nothing while the list of cases is behind the log, and stops at once', async () => {
  const run = join(folder.path, 'runs', 'old');
  await mkdir(run, { recursive: true });
  await utimes(run, OLD, OLD);
  const clock = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
  const stopping = new AbortController();
  const parts = { pool: db.pool, folder: folder.path, keptDays: 400, log: silent, clock, signal: stopping.signal };
  const troubles = new Troubles(silent, clock);
  const keeping = keepRunFiles({ ...parts, troubles, store: { head: () => Promise.resolve(7n) } });
  stopping.abort();
  await keeping;
  expect(existsSync(run)).toBe(true);
  const signal = new AbortController().signal;
  const removed = await removeOldFiles({ ...parts, signal, store: { head: () => Promise.resolve(0n) } });
  expect([removed, existsSync(run)]).toEqual([1, false]);
});
