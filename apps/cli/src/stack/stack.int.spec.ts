import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openEventStoreDb } from '#event-store';
import { FakeEventStore } from '../../../../test/support/event-store-fake/fake-event-store.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { cliConfig } from '../config.js';
import { startStack, type Stack } from './stack.js';

let folder: TemporaryFolder;
let stack: Stack;

/** Nobody answers at this address: the parts under test do not call it. */
const config = () =>
  cliConfig({ DATA_DIR: folder.path, PORT: '0', LOG_LEVEL: 'silent', REGISTRY_URL: 'http://127.0.0.1:9' });

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
    await expect(startStack(config(), { say: () => undefined })).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'DATA_DIR' },
    });
    const { rows } = await stack.pool.query<{ one: number }>('SELECT 1 AS one');
    expect(rows).toEqual([{ one: 1 }]);
    expect((await fetch(`${stack.gateway.url}/health/ready`)).status).toBe(200);
  });
});

describe('a first start with a server for the log', () => {
  const fake = new FakeEventStore();
  let other: TemporaryFolder;
  beforeAll(async () => {
    await fake.start();
    other = await temporaryFolder();
  });
  afterAll(async () => {
    await fake.stop();
    await other.remove();
  });

  it('is refused in words when the server holds events of others', async () => {
    const store = await openEventStoreDb({ url: fake.url });
    const metadata = {
      participant: 'own',
      actor: { kind: 'system' as const, name: 'other', authenticatedBy: 'test' },
      softwareVersion: '0',
      profile: 'x',
      effectiveAt: new Date(0).toISOString(),
      correlationId: 'x',
      causationId: 'x',
    };
    await store.append('document-1', 'none', [
      { id: randomUUID(), type: 'DocumentRegistered', schemaVersion: 1, data: {}, metadata },
    ]);
    await store.close();
    const started = startStack(cliConfig({ ...config().environment, DATA_DIR: other.path, EVENTSTORE_URL: fake.url }), {
      say: () => undefined,
    });
    await expect(started.then((up) => up.stop())).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'EVENTSTORE_URL' },
    });
  });
});

describe('the address of what is up', () => {
  it('can be found in the folder, for send, document and history', () => {
    expect(stack.dataDir.readAddress()).toEqual({ url: stack.gateway.url, pid: process.pid });
  });
});
