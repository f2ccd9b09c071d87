import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { cliConfig } from '../config.js';
import { startStack, type Stack } from './stack.js';

let folder: TemporaryFolder;
let stack: Stack;

/** Nobody answers at this address: the parts under test do not call it. */
const config = () => cliConfig({ DATA_DIR: folder.path, PORT: '0', LOG_LEVEL: 'silent', REGISTRY_URL: 'http://127.0.0.1:9' });

beforeAll(async () => {
  folder = await temporaryFolder();
  stack = await startStack(config(), { say: () => undefined });
});

afterAll(async () => {
  await stack.stop();
  await folder.remove();
});

describe('a second start on one DATA_DIR', () => {
  it('is refused in words, and leaves the first and its database alone', async () => {
    await expect(startStack(config(), { say: () => undefined })).rejects.toMatchObject({ code: 'invalid_configuration', place: { field: 'DATA_DIR' } });
    const { rows } = await stack.pool.query<{ one: number }>('SELECT 1 AS one');
    expect(rows).toEqual([{ one: 1 }]);
    expect((await fetch(`${stack.gateway.url}/health/ready`)).status).toBe(200);
  });
});

describe('the address of what is up', () => {
  it('can be found in the folder, for send, document and history', () => {
    expect(stack.dataDir.readAddress()).toEqual({ url: stack.gateway.url, pid: process.pid });
  });
});
