import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { systemClock } from '#kernel';
import { comparisonSettings, keepAskedRun, noteTaken, reconciliationSchema, snapshotsFolder } from '#reconciliation';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { ACTOR, type StockRunsParts } from './stock-run-parts.js';
import { takeAsked } from './take-asked.js';
import { Troubles } from './troubles.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const ASKED = {
  ...{ stock: null, branch: null, asOf: null, account: null, way: 'auto' as const, registry: null, disposals: null },
  ...{ settings: comparisonSettings({}), dryRun: false, mostHours: null },
};

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  [db, folder] = [await testDatabase([reconciliationSchema]), await temporaryFolder()];
});
afterAll(() => Promise.all([db.drop(), folder.remove()]));

it('what a reconciler could not start is no trouble of it once another has, though that one works for hours', async () => {
  // A file lies where the snapshots belong.
  await writeFile(snapshotsFolder(folder.path), '');
  const troubles = new Troubles(silent, { now: () => new Date() });
  const segments = { folder: folder.path, memoryMb: 200, threads: 1 };
  const parts = { pool: db.pool, segments, clock: systemClock, log: silent, troubles } as unknown as StockRunsParts;
  await keepAskedRun(db.pool, { runId: 'asked', reason: 'spec', actor: ACTOR, asked: ASKED });
  await takeAsked(parts, (work) => work());
  expect(troubles.all()).toMatchObject([
    { name: 'start requested pack runs', reason: expect.stringMatching('ENOTDIR') },
  ]);
  const isBusy = (): Promise<void> => Promise.resolve();
  await takeAsked(parts, isBusy);
  expect(troubles.all()).toHaveLength(1);
  await noteTaken(db.pool, 'asked');
  await takeAsked(parts, isBusy);
  expect(troubles.all()).toEqual([]);
});
