import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runFolderPrefix, sweepLeftovers } from './global-setup.js';
import { temporaryFolder, type TemporaryFolder } from './temporary-folder.js';

let place: TemporaryFolder;
beforeAll(async () => void (place = await temporaryFolder()));
afterAll(() => place.remove());

describe('what an earlier run of the tests has left', () => {
  it('is removed where its process is gone, with all that its tests made, and nothing else is', async () => {
    const { pid: gone } = spawnSync(process.execPath, ['--version']);
    const [left, running, other] = [`${runFolderPrefix(gone)}x`, `${runFolderPrefix(process.pid)}x`, 'pedigree-x'];
    for (const name of [left, running, other])
      await mkdir(join(place.path, name, 'tmp', 'pedigree-abc'), { recursive: true });
    await sweepLeftovers(place.path);
    expect((await readdir(place.path)).sort()).toEqual([running, other].sort());
  });

  it('is this run’s folder for the temporary files of this test', () => {
    expect(place.path.startsWith(join(process.env['PEDIGREE_TEST_FOLDER'] ?? '-', 'tmp'))).toBe(true);
  });
});
