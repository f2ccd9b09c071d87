import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inboundStream, type PlannedTask } from '#domain';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { rawOf } from '../../test/fake-registry.js';
import { QueueHarness, type World } from '../../test/queue-harness.js';
import {
  ACCOUNT,
  asTask,
  openStores,
  plannedTasks,
  registerDocument,
  runTask,
  type Stores,
} from '../../test/test-harness.js';
import type { InboundContext } from './context.js';
import { listTasks } from './read-list.js';
import { inboundSchema, RegistryDocuments } from './registry-documents.js';

const RECEIVED_AT = '2026-03-02T07:00:00Z';

let db: TestDatabase;
let stores: Stores;
let queue: PostgresTaskQueue;
let harness: QueueHarness;
beforeAll(async () => {
  db = await testDatabase();
  stores = await openStores(db.pool);
  await migrate(db.pool, [tasksSchema, subscriptionsSchema, ...readModelSchemas, inboundSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
  harness = new QueueHarness({ ...stores, pool: db.pool, queue });
});
afterAll(async () => {
  await queue.close();
  await stores.close();
  await db.drop();
});

/** A worker whose outgoing list shows this document; and what follows from a reading of it. */
async function read({ context }: World, shown: { documentId: string; requestId: string }): Promise<void> {
  const planned: PlannedTask[] = [];
  const document = { ...shown, status: 'processed', docType: 701, receivedAt: RECEIVED_AT, fields: {} };
  const documentsSince = () =>
    Promise.resolve({
      documents: [document],
      cursor: { since: RECEIVED_AT, handedOut: {} },
      walk: { kind: 'complete' },
      more: false,
      answers: new Map([[shown.documentId, rawOf('{"documents":[]}')]]),
    });
  const reader = {
    ...context,
    lists: { documentsSince } as never,
    held: new RegistryDocuments(db.pool),
    queue: { schedule: (_: unknown, tasks: PlannedTask[]) => Promise.resolve(void planned.push(...tasks)) },
    warn: () => undefined,
  } satisfies InboundContext;
  await runTask(reader, asTask(listTasks(ACCOUNT)[1] as never));
  for (const one of planned) await runTask(reader, asTask(one as never));
}

const seen = async (documentId: string): Promise<string[]> =>
  (await stores.store.readStream(inboundStream(documentId))).map((event) => event.type);

describe('an outgoing document that bears a request_id of ours', () => {
  it('is followed as one of others where ours ended and the registry has it not, and else is ours', async () => {
    const world = harness.worldOf(['refused']);
    const { requestId: ended } = await registerDocument(stores);
    const { requestId: open } = await registerDocument(stores);
    await runTask(world.context, asTask((await plannedTasks(stores.store, ended))[0] as never));
    await harness.catchUp('read models');
    await read(world, { documentId: 'of-ended', requestId: ended });
    await read(world, { documentId: 'of-open', requestId: open });
    expect([await seen('of-ended'), await seen('of-open')]).toEqual([['InboundSeen'], []]);
  });
});
