import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { PostgresEventStore } from '#event-store';
import type { Readiness } from '#service';
import { PostgresTaskQueue } from '#tasks';
import { documentReading } from '#documents';
import { PostgresEvidenceStore } from '#evidence';
import { migrate } from '#postgres';
import { projections } from '#read-models';
import { registryListsSchema } from '#reconciliation';
import { catchUpProjection } from '#subscriptions';
import { KeyRegister } from '../access/key-register.js';
import { failedTasks, operationsStatus, orphanList, parkedInstances } from '../api/answers.js';
import { gatewayConfig } from '../config.js';
import { startGateway, type RunningGateway } from '../gateway.js';
import { until } from '../../../../test/support/until.js';

const KEY = 'send:1f6c6e1e-0000-4000-8000-000000000001:1';

let db: TestDatabase;
let folder: TemporaryFolder;
let gateway: RunningGateway;
let queue: PostgresTaskQueue;

beforeAll(async () => {
  folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'accounts.json'), JSON.stringify([{ name: 'main' }]));
  db = await testDatabase();
  gateway = await anotherGateway();
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

const anotherGateway = (): Promise<RunningGateway> =>
  startGateway(
    gatewayConfig({
      DATABASE_URL: db.url,
      PORT: '0',
      LOG_LEVEL: 'silent',
      PEDIGREE_ACCOUNTS: join(folder.path, 'accounts.json'),
    }),
  );
const get = async (path: string): Promise<unknown> => (await fetch(`${gateway.url}${path}`)).json();
const retry = (body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/operations/retries`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('a task that was given up', () => {
  it('is counted, and shown with its error', async () => {
    expect(operationsStatus.parse(await get('/v1/operations')).tasks).toMatchObject({ failed: 1, ready: 0 });
    expect(failedTasks.parse(await get('/v1/operations/failed-tasks')).items).toMatchObject([
      { key: KEY, lane: 'main/send', error: 'evidence is missing' },
    ]);
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
    expect(events).toMatchObject([
      {
        type: 'TaskRetried',
        data: { key: KEY, reason: 'restored the evidence' },
        metadata: { actor: { name: 'local' }, reason: 'restored the evidence' },
      },
    ]);
  });
});

describe('many tasks that were given up', () => {
  it('are tried again by their kind, or one by one however many there are', async () => {
    await db.pool.query(`INSERT INTO task (key, kind, lane, due_at, priority, payload, failed_at, last_error)
      SELECT kind || ':' || n, kind, 'main/' || kind, 'infinity', 0, '{}', to_timestamp(n), 'away'
      FROM (VALUES ('receipt'), ('look_up')) AS of (kind), generate_series(1, 1200) AS n`);
    expect((await retry({ key: 'failed:nothing', reason: 'the log is back' })).status).toBe(404);
    expect((await retry({ key: 'receipt:1', reason: 'the oldest' })).status).toBe(204);
    expect((await retry({ key: 'failed:receipt', reason: 'the log is back' })).status).toBe(204);
    const left = await queue.failedTasks(3_000);
    expect(left).toHaveLength(1_200);
    expect(new Set(left.map(({ kind }) => kind))).toEqual(new Set(['look_up']));
    const store = new PostgresEventStore({ pool: db.pool });
    const events = (await store.readStream('operations')).slice(1).map(({ data }) => data as { instances?: string[] });
    await store.close();
    expect(events.map(({ instances, ...rest }) => ({ ...rest, of: instances?.length }))).toEqual([
      { key: 'receipt:1', reason: 'the oldest', of: undefined },
      { key: 'failed:receipt', reason: 'the log is back', of: 1_000 },
      { key: 'failed:receipt', reason: 'the log is back', of: 199 },
    ]);
  });
});

describe('the tasks of an account that was removed', () => {
  it('are overdue, but for its lists: nobody reads them any more', async () => {
    const overdue = async () => operationsStatus.parse(await get('/v1/operations')).tasks.overdue;
    // Those of the tests before become overdue one after the other.
    await db.pool.query('DELETE FROM task');
    const before = await overdue();
    const lanes = ['gone/list_incoming', 'gone/list_outgoing', 'gone/suspended_list', 'gone/status'];
    const task = { kind: 'x', dueAt: new Date(0), payload: {} };
    await queue.schedule(
      db.pool,
      lanes.map((lane) => ({ ...task, lane, key: lane })),
    );
    expect(await overdue()).toBe(before + 1);
    await db.pool.query(`DELETE FROM task WHERE key LIKE 'gone/%'`);
  });
});

describe('what is parked of a saga', () => {
  const [one, other] = [
    'parked:document:1f6c6e1e-0000-4000-8000-000000000001',
    'parked:document:1f6c6e1e-0000-4000-8000-000000000002',
  ];
  const list = async () => parkedInstances.parse(await get('/v1/operations/parked')).items;
  const claimed = async () =>
    (await queue.claim('saga', { limit: 10, leaseMs: 60_000, holder: 'test' })).map((task) => task.payload);

  beforeAll(async () => {
    for (const key of [one, other].map((name) => name.slice('parked:document:'.length))) {
      await db.pool.query(
        `INSERT INTO parked_instance VALUES ('document', $1, 'no such event', clock_timestamp(), 1, clock_timestamp())`,
        [key],
      );
      await db.pool.query(
        `INSERT INTO held_event VALUES ('document', $1, 7, 'document-' || $1, 3), ('document', $1, 9, ` +
          `'document-' || $1, 4)`,
        [key],
      );
    }
  });

  it('is shown with the event at which it stands, and as a figure', async () => {
    expect(await list()).toMatchObject([
      {
        key: one,
        saga: 'document',
        stream: `document-${one.slice('parked:document:'.length)}`,
        version: 3,
        position: '7',
        held: 2,
        error: 'no such event',
        attempts: 1,
      },
      { key: other },
    ]);
  });

  it('is not retried without a reason, nor under a wrong name', async () => {
    expect((await retry({ key: one })).status).toBe(400);
    expect((await retry({ key: 'parked:document:nothing', reason: 'a new version' })).status).toBe(404);
    expect((await retry({ key: 'parked:inbound', reason: 'a new version' })).status).toBe(404);
    expect(await claimed()).toEqual([]);
  });

  it('is handed to a worker, one or all of a saga, and the log says who asked and why', async () => {
    expect((await retry({ key: one, reason: 'a new version' })).status).toBe(204);
    expect(await claimed()).toEqual([{ saga: 'document', key: one.slice('parked:document:'.length) }]);
    expect((await retry({ key: 'parked:document', reason: 'a newer version' })).status).toBe(204);
    expect(await claimed()).toHaveLength(2);
    const store = new PostgresEventStore({ pool: db.pool });
    const events = (await store.readStream('operations')).filter((event) => event.type === 'ParkedRetried');
    await store.close();
    expect(events).toMatchObject([
      {
        data: { key: one, instances: [one], reason: 'a new version' },
        metadata: { actor: { name: 'local' }, reason: 'a new version' },
      },
      { data: { key: 'parked:document', instances: [one, other] } },
    ]);
  });
});

describe('what nothing carries on', () => {
  const replan = (body: object): Promise<Response> =>
    fetch(`${gateway.url}/v1/operations/replans`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const healthOf = async ({ url }: RunningGateway, which = 'ready'): Promise<{ status: number; body: Readiness }> => {
    const answer = await fetch(`${url}/health/${which}`);
    return { status: answer.status, body: (await answer.json()) as Readiness };
  };
  /** Brings the document list up to the log. */
  async function listDocuments(store: PostgresEventStore): Promise<void> {
    await catchUpProjection({
      store,
      pool: db.pool,
      projection: projections({
        evidence: new PostgresEvidenceStore({ pool: db.pool }),
        documents: documentReading(),
        store,
      }).find(({ name }) => name === 'document-outcomes') as never,
    });
  }
  /** A document whose saga went by, and for which nothing is planned: this is the fault that there should never be. */
  async function orphan(store: PostgresEventStore): Promise<void> {
    const registration = {
      requestId: 'r-1',
      commandId: 'c-1',
      account: 'main',
      docType: 415,
      documentSha256: 'a'.repeat(64),
      byteLength: 1,
      itemCount: 1,
      subjectId: 's',
      operationDate: '2026-03-01T10:00:00Z',
      after: [],
    };
    const metadata = {
      actor: { kind: 'system', name: 't', authenticatedBy: 't' } as const,
      participant: 'p',
      softwareVersion: '0',
      profile: 'interface-v1',
      effectiveAt: '2026-03-01T10:00:00Z',
      correlationId: 'r-1',
      causationId: 'c',
    };
    const appended = await store.append('document-r-1', 'none', [
      {
        id: '6f1b2c9e-3a70-5a51-9a7e-0d5a6a1c4b99',
        type: 'DocumentRegistered',
        schemaVersion: 1,
        data: registration,
        metadata,
      },
    ]);
    await listDocuments(store);
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', $1, now())`, [
      appended.kind === 'appended' ? appended.position : 0n,
    ]);
  }
  const told = {
    status: 'degraded',
    degraded: [
      {
        name: 'orphans',
        reason: expect.stringMatching(/^nothing carries on 1 .*pedigree tasks --orphans lists them: document r-1$/),
      },
    ],
  };

  it('is listed, and planned anew only for a reason, which the log keeps with who gave it', async () => {
    const store = new PostgresEventStore({ pool: db.pool });
    await orphan(store);
    expect(orphanList.parse(await get('/v1/operations/orphans')).items).toMatchObject([
      { kind: 'document', id: 'r-1', account: 'main', phase: 'ready' },
    ]);
    expect((await replan({})).status).toBe(400);
    const answer = await replan({ reason: 'found by the alert' });
    expect(answer.status).toBe(200);
    expect(orphanList.parse(await answer.json()).items).toHaveLength(1);
    expect(await queue.claim('internal', { limit: 1, leaseMs: 60_000, holder: 'test' })).toMatchObject([
      { kind: 'replan', payload: { kind: 'document', id: 'r-1' } },
    ]);
    expect((await store.readStream('operations')).at(-1)).toMatchObject({
      type: 'OrphansReplanned',
      data: { instances: ['document:r-1'] },
      metadata: { reason: 'found by the alert' },
    });
    await store.close();
  });

  it('degrades the health of a gateway that finds it by itself, or is asked for the list, until it is planned', async () => {
    await db.pool.query(`UPDATE task SET key = replace(key, 'r-1', 'r-2') WHERE kind = 'replan'`);
    const other = await anotherGateway();
    try {
      await until('health tells of it', async () => (await healthOf(other)).body.status === 'degraded');
      expect(await healthOf(other)).toMatchObject({ status: 200, body: told });
      expect((await healthOf(other, 'live')).status).toBe(200);
    } finally {
      await other.stop();
    }
    await get('/v1/operations/orphans');
    expect((await healthOf(gateway)).body).toMatchObject(told);
    await db.pool.query(`UPDATE task SET key = replace(key, 'r-2', 'r-1') WHERE kind = 'replan'`);
    await get('/v1/operations/orphans');
    expect((await healthOf(gateway)).body.status).toBe('ready');
    await db.pool.query('DELETE FROM task WHERE kind = $1', ['replan']);
  });
});

it('shows every list of the configured accounts of a restored database as unread, though none was ever read', async () => {
  await db.pool.query(
    `INSERT INTO restoration (state, taken_at, restored_by, loaded_at) VALUES ('comparing', now(), 'olga', now())`,
  );
  // The table of the worker, which reads the lists.
  await migrate(db.pool, [registryListsSchema]);
  const store = new PostgresEventStore({ pool: db.pool });
  const says = { program: 'gateway', participant: 'one', softwareVersion: '1', profile: 'mdlp' };
  const admin = { name: 'olga', roles: ['admin' as const], expiresAt: new Date(Date.now() + 3_600_000) };
  const key = await new KeyRegister({ pool: db.pool, store, ...says }).make(admin, {
    actor: { kind: 'person', name: 'olga', authenticatedBy: 'database' },
    reason: 'to look',
  });
  const restoration = async () => {
    const answer = await fetch(`${gateway.url}/v1/operations`, { headers: { authorization: `Bearer ${key}` } });
    return operationsStatus.parse(await answer.json()).restoration;
  };
  expect((await restoration())?.unread).toEqual(['incoming', 'outgoing'].map((list) => ({ account: 'main', list })));
  // What the lists show once documents leave again was found by no comparison, be it in the same millisecond.
  await db.pool.query(
    `UPDATE restoration SET state = 'released', released_at = date_trunc('second', loaded_at) + interval '9.000500 s'`,
  );
  await db.pool.query(
    `INSERT INTO registry_document (document_id, request_id, direction, account, status, seen_at)
     SELECT 'seen ' || us, '', 'outgoing', 'main', 'processed', released_at + us * interval '1 microsecond'
     FROM restoration, unnest(ARRAY[-1, 1]) us`,
  );
  expect((await restoration())?.found).toEqual({ incoming: 0, outgoing: 1 });
  await store.close();
});
