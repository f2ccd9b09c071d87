import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { sha256Hex } from '#kernel';
import { FOLD, STATES_FILE } from '#segments';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { MOMENT } from '../../test/world.js';
import { comparisonSettings } from '../comparison/settings.js';
import { readSnapshot } from '../snapshots/manifest.js';
import { mappingOf } from '../snapshots/mapping.js';
import { compareFile, stockSide } from './file-run.js';
import { readFileRun, runsFolder, writeFileRun, type FileRun } from './run-folder.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

it('a run of a command goes on with the stock that it has read, whatever became of the file', async () => {
  const file = join(folder.path, 'stock.csv');
  await writeFile(file, 'KM\n04601234567893TESTSERIAL001\n');
  const settings = { folder: join(folder.path, 'segments'), memoryMb: 200, threads: 1 };
  const parts = { settings, say: () => undefined };
  const run: FileRun = {
    ...{ runId: randomUUID(), stock: file, moment: MOMENT, branch: null, asOf: null, account: null, way: 'auto' },
    mapping: mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'KM' } }, 'stock'),
    ...{ registry: null, disposals: null, settings: comparisonSettings({}), dryRun: false, processes: 1 },
    reason: 'spec',
  };
  const own = join(runsFolder(settings.folder), run.runId);
  await mkdir(own, { recursive: true });
  writeFileRun(own, run);
  const stock = await stockSide(parts, run);
  for (const becomes of [() => writeFile(file, 'KM\n04601234567893TESTSERIAL002\n'), () => rm(file)]) {
    await becomes();
    expect(await stockSide(parts, await readFileRun(own))).toBe(stock);
  }
  // Another run of the file for the same moment is of other bytes.
  await writeFile(file, 'KM\n04601234567893TESTSERIAL003\n');
  await expect(stockSide(parts, { ...run, runId: randomUUID() })).rejects.toThrow('give another --moment');
  expect((await readSnapshot(stock, 'stock')).rows).toBe(1);
});

it('a run does not go on with states of packs that another version of the fold has left', async () => {
  const settings = { folder: join(folder.path, 'left'), memoryMb: 200, threads: 1 };
  const run: FileRun = {
    ...{ runId: randomUUID(), stock: '', moment: null, branch: null, asOf: null, account: null, way: 'auto' },
    ...{ registry: null, disposals: null, mapping: null, settings: comparisonSettings({}), dryRun: false },
    ...{ processes: 1, reason: 'spec' },
  };
  const record = join(runsFolder(settings.folder), run.runId, 'record');
  await mkdir(record, { recursive: true });
  const before = { at: '1', fold: FOLD - 1, packs: 0, digest: sha256Hex(''), buckets: [] };
  await writeFile(join(record, STATES_FILE), JSON.stringify(before));
  const parts = { settings, say: () => undefined } as never;
  await expect(compareFile(parts, run, '')).rejects.toThrow(`${record} is of another version`);
});

it('a run names snapshots of its file store where the store lies now, and other files where they lay', async () => {
  const [before, after] = [join(folder.path, 'store'), join(folder.path, 'restored')];
  const own = join(runsFolder(before), randomUUID());
  await mkdir(own, { recursive: true });
  const run: FileRun = {
    ...{ runId: 'r', stock: join(before, 'snapshots/stock-1'), moment: null, branch: null, asOf: null, account: null },
    ...{ way: 'auto', mapping: null, registry: join(before, 'snapshots/registry-1'), disposals: '/mnt/disposals' },
    ...{ settings: comparisonSettings({}), dryRun: false, processes: 1, reason: 'spec' },
  };
  writeFileRun(own, run);
  await rename(before, after);
  expect(await readFileRun(join(runsFolder(after), basename(own)))).toEqual({
    ...run,
    ...{ stock: join(after, 'snapshots/stock-1'), registry: join(after, 'snapshots/registry-1') },
  });
});
