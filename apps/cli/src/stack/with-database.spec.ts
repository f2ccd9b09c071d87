import { describe, expect, it } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { cliConfig } from '../config.js';
import { startStack } from './stack.js';
import { withDatabase } from './with-database.js';

describe('an embedded database that does not start', () => {
  it('is said in words to pedigree up and to a command', async () => {
    const folder = await temporaryFolder();
    mkdirSync(join(folder.path, 'postgres'));
    // What a removed cluster leaves.
    writeFileSync(join(folder.path, 'postgres', 'cluster.json'), '{"directory":"cluster","ready":true}');
    const config = cliConfig({ DATA_DIR: folder.path });
    const refused = {
      code: 'unavailable',
      message: expect.stringMatching(/^the database of .* is gone: .*; restore it/),
    };
    try {
      await expect(startStack(config, { say: () => undefined })).rejects.toMatchObject(refused);
      await expect(withDatabase(config, () => Promise.resolve())).rejects.toMatchObject(refused);
    } finally {
      await folder.remove();
    }
  });
});
