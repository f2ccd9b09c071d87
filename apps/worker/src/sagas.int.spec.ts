import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { documentStream } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventMetadata } from '#event-store';
import { loadProfile } from '#registry-client';
import { parkedInstances, subscriptionsSchema, type ParkingNews } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema, type Task } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import { sagaLane, sagasBy } from './sagas.js';

const RULES = { ...loadProfile('interface-v1', {}).rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'test', authenticatedBy: 'test' },
  softwareVersion: 'test',
  profile: 'interface-v1',
  effectiveAt: '2026-03-02T10:00:00Z',
  correlationId: randomUUID(),
  causationId: 'test',
};

describe('an event that a saga does not know', () => {
  let db: TestDatabase;
  let store: PostgresEventStore;
  let queue: PostgresTaskQueue;
  beforeAll(async () => {
    db = await testDatabase([eventStoreSchema, tasksSchema, subscriptionsSchema]);
    store = new PostgresEventStore({ pool: db.pool });
    queue = new PostgresTaskQueue({ pool: db.pool });
  });
  afterAll(async () => {
    await queue.close();
    await store.close();
    await db.drop();
  });

  const append = (requestId: string, type: string, data: object) =>
    store.append(documentStream(requestId), 'any', [
      { id: randomUUID(), type, schemaVersion: 1, data, metadata: METADATA },
    ]);
  const register = (requestId: string) =>
    append(requestId, 'DocumentRegistered', { requestId, account: 'main', after: [] });

  it('stops its own document, while others are sent; a retry in vain is counted, and all that follows stays held', async () => {
    const [bad, good] = [randomUUID(), randomUUID()];
    await append(bad, 'DocumentBewitched', {});
    await register(bad);
    await register(good);
    const end = new AbortController();
    const news: ParkingNews[] = [];
    const sagas = sagasBy(RULES);
    const running = sagas.map((saga) =>
      saga.run({ store, pool: db.pool, queue, signal: end.signal, onParked: (one) => news.push(one) }),
    );
    const tasks = async () => (await db.pool.query<{ key: string }>('SELECT key FROM task')).rows.map((row) => row.key);
    await until('the other document', async () => (await tasks()).length > 0);
    expect(await tasks()).toEqual([`send:${good}:1`]);
    // It is told after the commit that others see already.
    await until('the news', () => news.length > 0);
    expect(news).toMatchObject([{ saga: 'document', key: bad, event: { type: 'DocumentBewitched' } }]);

    const { retry_parked: handler } = sagaLane(sagas, { pool: db.pool, store, queue }).kinds;
    if (handler === undefined || !('handle' in handler)) throw new Error('nobody retries');
    const retry = (payload: object) => handler.handle({ payload } as Task, { signal: end.signal } as never);
    expect(await retry({ saga: 'document', key: bad })).toEqual({ kind: 'done' });
    expect(await retry({ saga: 'weather', key: bad })).toEqual({ kind: 'failed', error: 'no saga is called weather' });
    expect(await parkedInstances(db.pool)).toMatchObject([
      {
        key: bad,
        stream: documentStream(bad),
        version: 0,
        attempts: 2,
        held: 2,
        error: expect.stringContaining('document event'),
      },
    ]);
    end.abort();
    await Promise.all(running);
  });
});
