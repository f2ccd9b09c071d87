import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { comparisonSettings } from '../comparison/settings.js';
import { mappingOf } from '../snapshots/mapping.js';
import { importFile } from '../snapshots/of-file.js';
import { prepareAskedRun, type AskedRun } from './asked-run.js';
import { readFileRun, runsFolder, snapshotsFolder } from './run-folder.js';

const MAPPING = mappingOf({ format: 'csv', columns: { item: 'KM' } }, 'stock');
const MOMENT = '2026-11-23T08:00:00Z';
const NEWEST: AskedRun = {
  ...{ stock: null, branch: null, asOf: null, account: null, way: 'auto', registry: null, disposals: null },
  ...{ settings: comparisonSettings({}), dryRun: false, mostHours: null },
};

let folder: TemporaryFolder;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

async function imported(name: string, serial: number): Promise<void> {
  const file = join(folder.path, `${name}.csv`);
  await writeFile(file, `KM\n04601234567893${String(serial).padStart(13, '0')}\n`);
  const out = join(snapshotsFolder(folder.path), `stock-${name}`);
  const duck = { memoryMb: 200, threads: 1 };
  await importFile({ kind: 'stock', file, mapping: MAPPING, moment: MOMENT, out }, { duck, say: () => undefined });
}

it.each([
  ['a', 'b'],
  ['b', 'a'],
])('of two stocks of one moment, %s and then %s, the one that was imported last is the newest', async (one, other) => {
  await imported(one, 1);
  await imported(other, 2);
  await prepareAskedRun(folder.path, { runId: 'run', reason: 'spec', asked: NEWEST }, new Date('2026-11-23T09:00:00Z'));
  expect((await readFileRun(join(runsFolder(folder.path), 'run'))).stock).toMatch(new RegExp(`/stock-${other}$`));
});
