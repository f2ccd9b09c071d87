import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun, type RunOver } from '../../test/finished-run.js';
import { daysBefore } from '../../test/world.js';
import { readRun } from '../comparison/run-record.js';
import { laterRun } from './later-run.js';
import { FILE_RUN } from './run-folder.js';
import { writeSchedule, type RunSchedule } from './schedule.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

interface Over {
  run?: RunOver;
  asked?: object;
  ended?: RunSchedule['ended'];
}

/** Whether a run of day 2 with this has the last word beside one of another day. */
async function isLater(name: string, { run = {}, asked = {}, ended = 'completed' }: Over, day = 1): Promise<boolean> {
  const runs = join(folder.path, name);
  const made = async (id: string, at: number, over: RunOver = {}): Promise<string> => {
    await mkdir(join(runs, id), { recursive: true });
    return writeFinishedRun(join(runs, id, 'comparison'), {
      ...{ findings: [], registry: [], moment: daysBefore(-at), places: ['P1'], ...over },
    });
  };
  await made('later', 2, run);
  writeSchedule(join(runs, 'later'), { attempts: 1, notBefore: null, ended });
  const request = { runId: 'later', stock: 'stock.csv', reason: 'a test', dryRun: false, ...asked };
  await writeFile(join(runs, 'later', FILE_RUN), JSON.stringify(request));
  return (await laterRun(runs, await readRun(await made('own', day)))) === 'later';
}

it.each<[string, Over, boolean]>([
  ['the same', {}, true],
  ['a dry one', { asked: { dryRun: true } }, false],
  ['one whose cases are not open yet', { ended: null }, false],
  ['one that failed', { ended: 'failed' }, false],
  ['other places', { run: { places: ['P2'] } }, false],
  ['fewer sides', { run: { legs: ['stock', 'record'] } }, false],
  ['by name alone', { run: { namedOnly: true } }, false],
  ['other settings', { run: { settings: { containers: false } } }, false],
])('a later run has the last word where it has looked at the same: %s', async (name, over, expected) => {
  expect(await isLater(name, over)).toBe(expected);
});

it('has it only when its moment is behind', async () => {
  expect(await isLater('as of one moment', {}, 2)).toBe(false);
  expect(await isLater('as of an earlier moment', {}, 3)).toBe(false);
});
