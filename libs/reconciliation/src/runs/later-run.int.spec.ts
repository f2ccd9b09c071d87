import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun, type RunOver } from '../../test/finished-run.js';
import { daysBefore } from '../../test/world.js';
import { readRun } from '../comparison/run-record.js';
import { laterRun } from './later-run.js';
import { FILE_RUN, readFileRun } from './run-folder.js';
import { writeSchedule, type RunSchedule } from './schedule.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const ASKED = { account: 'main', way: 'list', registry: null };

interface Over {
  run?: RunOver;
  asked?: object;
  /** What both have. */
  both?: { run?: RunOver; asked?: object };
  ended?: RunSchedule['ended'];
}

/** Whether a run of day 2 with this has the last word beside one of another day. */
async function isLater(
  name: string,
  { run = {}, asked = {}, both = {}, ended = 'completed' }: Over,
  day = 1,
): Promise<boolean> {
  const runs = join(folder.path, name);
  const made = async (runId: string, at: number, own: { run?: RunOver; asked?: object } = {}): Promise<string> => {
    await mkdir(join(runs, runId), { recursive: true });
    const request = { ...{ stock: 'stock.csv', reason: 'a test', dryRun: false }, ...ASKED, ...both.asked };
    await writeFile(join(runs, runId, FILE_RUN), JSON.stringify({ ...request, ...own.asked, runId }));
    const found = { findings: [], registry: [], moment: daysBefore(-at), places: ['P1'] };
    return writeFinishedRun(join(runs, runId, 'comparison'), { ...found, ...both.run, ...own.run });
  };
  await made('later', 2, { run, asked });
  writeSchedule(join(runs, 'later'), { attempts: 1, notBefore: null, ended });
  const own = await readRun(await made('own', day));
  return (await laterRun(runs, await readFileRun(join(runs, 'own')), own)) === 'later';
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
  ['by an earlier record', { asked: { asOf: '7' } }, false],
  ['another account', { asked: { account: 'other' } }, false],
  ['another way', { asked: { way: 'filter' } }, false],
  ['a registry that was given', { asked: { registry: '../snapshots/registry' } }, false],
  ['registries that were given', { both: { asked: { registry: '../snapshots/registry' } } }, false],
  // Each run asks about other ones.
  ['some containers at a time', { both: { run: { settings: { containers: ['P1'], containersAsked: 9 } } } }, false],
  ['no containers', { both: { run: { settings: { containers: false, containersAsked: 9 } } } }, true],
])('a later run has the last word where it has looked at the same: %s', async (name, over, expected) => {
  expect(await isLater(name, over)).toBe(expected);
});

it('has it only when its moment is behind', async () => {
  expect(await isLater('as of one moment', {}, 2)).toBe(false);
  expect(await isLater('as of an earlier moment', {}, 3)).toBe(false);
});
