import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { PostgresEventStore } from '#event-store';
import { PostgresTaskQueue } from '#tasks';
import { failedTasks, operationsStatus } from '../api/answers.js';
import { gatewayConfig } from '../config.js';
import { startGateway, type RunningGateway } from '../gateway.js';

const KEY = 'send:1f6c6e1e-0000-4000-8000-000000000001:1';

let db: TestDatabase;
let folder: TemporaryFolder;
let gateway: RunningGateway;
let queue: PostgresTaskQueue;

beforeAll(async () => {
  folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'accounts.json'), JSON.stringify([{ name: 'main' }]));
  db = await testDatabase();
  gateway = await startGateway(gatewayConfig({ DATABASE_URL: db.url, PORT: '0', LOG_LEVEL: 'silent', PEDIGREE_ACCOUNTS: join(folder.path, 'accounts.json') }));
  queue = new PostgresTaskQueue({ pool: db.pool });
  await queue.schedule(db.pool, [{ key: KEY, kind: 'send', lane: 'main/send', dueAt: new Date(0), payload: {} }]);
  const [task] = await queue.claim('main/send', { limit: 1, leaseMs: 60_000, holder: 'test' });
  if (task === undefined) throw new Error('no task was claimed');
  await queue.settle(task, { kind: 'failed', error: 'evidence is missing' });
});

afterAll(async () => {
  await queue.close();
  await gateway.stop();
  await db.drop();
  await folder.remove();
});

const get = async (path: string): Promise<unknown> => (await fetch(`${gateway.url}${path}`)).json();
const retry = (body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/operations/retries`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe('a task that was given up', () => {
  it('is counted, and shown with its error', async () => {
    expect(operationsStatus.parse(await get('/v1/operations')).tasks).toMatchObject({ failed: 1, ready: 0 });
    expect(failedTasks.parse(await get('/v1/operations/failed-tasks')).items).toMatchObject([{ key: KEY, lane: 'main/send', error: 'evidence is missing' }]);
  });

  it('is not retried without a reason, nor under a wrong name', async () => {
    expect((await retry({ key: KEY })).status).toBe(400);
    expect((await retry({ key: KEY, reason: '  ' })).status).toBe(400);
    expect((await retry({ key: 'send:nothing', reason: 'restored the backup' })).status).toBe(404);
    expect(await queue.failedTasks()).toHaveLength(1);
  });

  it('is due again after a retry, and the log says who asked and why', async () => {
    expect((await retry({ key: KEY, reason: 'restored the evidence' })).status).toBe(204);
    expect(await queue.failedTasks()).toEqual([]);
    expect(await queue.claim('main/send', { limit: 1, leaseMs: 1_000, holder: 'test' })).toMatchObject([{ key: KEY }]);
    const store = new PostgresEventStore({ pool: db.pool });
    const events = await store.readStream('operations');
    await store.close();
    expect(events).toMatchObject([{ type: 'TaskRetried', data: { key: KEY, reason: 'restored the evidence' }, metadata: { actor: { name: 'local' }, reason: 'restored the evidence' } }]);
  });
});
