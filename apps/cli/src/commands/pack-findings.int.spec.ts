import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runsFolder } from '#reconciliation';
import { writeFinishedRun } from '../../../../libs/reconciliation/test/finished-run.js';
import { commandHere } from '../../../../test/support/command-here.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';

const RUN = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
const PACK = '046012345678930000000000001';
const MOMENT = '2026-11-23T05:00:00.000Z';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(runsFolder(folder.path), RUN), { recursive: true });
  const shelf = { item: PACK, severity: 'warning', s_state: 'sellable', s_place: 'P1', answer: 'found', held: false };
  await writeFinishedRun(join(runsFolder(folder.path), RUN, 'comparison'), {
    findings: [
      { ...shelf, code: 'attribute_mismatch', s_series: 'B2', g_series: 'A1-2026' },
      { ...shelf, code: 'duplicate_locally', copies: 2, s_moment: Date.parse(MOMENT), r_known_from: 1534 },
    ],
    ...{ registry: [], moment: MOMENT },
  });
});
afterAll(() => folder.remove());

const pedigree = (...args: string[]) =>
  commandHere(args, {
    ...{ DATA_DIR: folder.path, SEGMENTS_DIR: folder.path, SEGMENTS_MEMORY_MB: '200', SEGMENTS_THREADS: '1' },
  });
const findings = (...args: string[]) => pedigree('reconcile', 'findings', ...args);

describe('pedigree reconcile findings', () => {
  it('shows what the sides differ in', async () => {
    const { status, stdout } = await findings(RUN);
    expect(status).toBe(0);
    expect(stdout).toMatch(/attribute_mismatch .* series B2 .* series A1-2026/);
    expect(stdout).toMatch(/duplicate_locally .* rows 2/);
  });

  it('writes instants as ISO 8601, and numbers and yes or no of JSON as such', async () => {
    const { stdout } = await findings(RUN, '--code', 'duplicate_locally', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ s_moment: MOMENT, copies: 2, held: false, r_known_from: '1534', s_series: null },
    });
    const { stdout: csv } = await findings(RUN, '--code', 'duplicate_locally', '--csv', '-');
    expect(csv).toContain(`,${MOMENT},2,`);
  });

  it('takes the folder of a run by steps', async () => {
    const { status, stdout } = await findings(join(runsFolder(folder.path), RUN, 'comparison'));
    expect([status, stdout]).toEqual([0, (await findings(RUN)).stdout]);
  });
});

describe('pedigree reconcile report', () => {
  it('says of the folder of a run by steps that only runs from a file have a page', async () => {
    const { status, stderr } = await pedigree('reconcile', 'report', join(runsFolder(folder.path), RUN, 'comparison'));
    expect([status, stderr]).toEqual([1, expect.stringContaining('a run by steps has no report')]);
  });
});

describe('pedigree cases open', () => {
  it('names what is missing before it looks for a worker', async () => {
    const nowhere = await pedigree('cases', 'open', join(folder.path, 'nope'));
    expect([nowhere.status, nowhere.stderr]).toEqual([1, expect.stringContaining(join(folder.path, 'nope'))]);
    const unknown = RUN.replace('6', '7');
    const { status, stderr } = await pedigree('cases', 'open', unknown);
    expect([status, stderr]).toEqual([1, expect.stringContaining(join(runsFolder(folder.path), unknown))]);
  });
});
