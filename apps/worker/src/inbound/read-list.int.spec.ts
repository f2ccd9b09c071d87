import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INBOUND_SAGA, inboundStream, reactToInboundEvent, type DocumentCommand, type PlannedTask } from '#domain';
import type { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import type { DocumentMetadata } from '#registry-client';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { rawOf, receiptXml } from '../../test/fake-registry.js';
import { QueueHarness, type World } from '../../test/queue-harness.js';
import {
  ACCOUNT,
  asTask,
  eventsOf,
  newestTask,
  openStores,
  plannedTasks,
  registerDocument,
  runTask,
  stateIn,
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

type Shown = Pick<DocumentMetadata, 'documentId' | 'requestId'> & Partial<DocumentMetadata>;

/** A worker whose outgoing list shows these documents. */
function readerOf({ context }: World, shown: Shown[]): { reader: InboundContext; planned: PlannedTask[] } {
  const planned: PlannedTask[] = [];
  const fields = { status: 'processed', docType: 701, receivedAt: RECEIVED_AT, fields: {} } as const;
  const answer = rawOf('{"documents":[]}');
  const documentsSince = () =>
    Promise.resolve({
      documents: shown.map((one) => ({ ...fields, ...one })),
      cursor: { since: RECEIVED_AT, handedOut: {} },
      walk: { kind: 'complete' },
      more: false,
      answers: new Map(shown.map((one) => [one.documentId, answer])),
    });
  const reader = {
    ...context,
    lists: { documentsSince } as never,
    held: new RegistryDocuments(db.pool),
    queue: { schedule: (_: unknown, tasks: PlannedTask[]) => Promise.resolve(void planned.push(...tasks)) },
    warn: () => undefined,
  } satisfies InboundContext;
  return { reader, planned };
}

/** Reads the list, does what follows from that, and tells how each task ended. */
async function read(world: World, ...shown: Shown[]): Promise<string[]> {
  const { reader, planned } = readerOf(world, shown);
  await runTask(reader, asTask(listTasks(ACCOUNT)[1] as never));
  const results: string[] = [];
  for (const one of planned) results.push((await runTask(reader, asTask(one as never))).kind);
  return results;
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

describe('a document of an attempt that landed after it had counted as absent', () => {
  /** Its second attempt may go: the first was not found, and has landed since, as `late`. */
  async function landedLate(): Promise<{ world: World; requestId: string; late: string }> {
    const world = harness.worldOf(['unknown_lost', 'ok']);
    const { requestId } = await registerDocument(stores);
    for (const kind of ['send', 'look_up', 'look_up'] as const) {
      await runTask(world.context, await newestTask(stores.store, requestId, kind));
      (world.context.clock as VirtualClock).advance(60_000);
    }
    return { world, requestId, late: world.registry.take(requestId) };
  }

  const told = (world: World, requestId: string, command: DocumentCommand) =>
    world.context.documents.execute(requestId, command, {
      ...{ taskKey: 'spec', lease: '1', actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' } as const },
    });

  /** It was announced, and its bytes are awaited. */
  async function announced(world: World, requestId: string): Promise<string> {
    const documentId = world.registry.announce(requestId);
    await told(world, requestId, { type: 'BeginSend', upload: true });
    const answer = { kind: 'announced', documentId } as const;
    await told(world, requestId, { type: 'RecordSendAnswer', attempt: 1, answer });
    return documentId;
  }

  /** The end of its upload has no answer, and the look-up does not show it any more. */
  async function lookedUpWithout(world: World, requestId: string, documentId: string): Promise<void> {
    const answer = { kind: 'unconfirmed', reason: 'timeout' } as const;
    await told(world, requestId, { type: 'BeginFinish', attempt: 1, round: 1 });
    await told(world, requestId, { type: 'RecordUploadAnswer', attempt: 1, round: 1, answer });
    const left = (world.registry.taken.get(requestId) ?? []).filter((one) => one !== documentId);
    world.registry.taken.set(requestId, left);
    await runTask(world.context, await newestTask(stores.store, requestId, 'look_up'));
  }

  /** Does what is planned for a document of others, until nothing is. */
  async function follow(world: World, documentId: string): Promise<void> {
    const { reader } = readerOf(world, []);
    const react = reactToInboundEvent({ ...world.context.profile.rules, statusGridMs: 1_000 });
    let state = INBOUND_SAGA.initial;
    for (const event of await stores.store.readStream(inboundStream(documentId))) {
      const after = react(state, { ...event, handledAt: event.recordedAt });
      state = after.state;
      for (const one of after.tasks) await runTask(reader, asTask(one));
    }
  }

  it.each(['in one list', 'the late one first, while the repeat is unknown'])(
    'is followed to its end, whatever becomes of the repeat: seen %s',
    async (how) => {
      const { world, requestId, late } = await landedLate();
      const { context, registry } = world;
      const ran = async (kind: 'send' | 'status' | 'receipt') =>
        runTask(context, await newestTask(stores.store, requestId, kind));
      await harness.catchUp('read models');
      const before = how === 'in one list' ? [] : [await read(world, { documentId: late, requestId })];
      registry.receipts.set(requestId, receiptXml(requestId, 'Rejected'));
      for (const kind of ['send', 'status', 'receipt'] as const) await ran(kind);
      registry.receipts.delete(requestId);
      await harness.catchUp('read models');
      const repeat = registry.taken.get(requestId)?.[1] as string;
      await read(world, { documentId: late, requestId }, { documentId: repeat, requestId });
      await follow(world, late);
      expect(before.flat()).toEqual([]);
      expect(await seen(repeat)).toEqual([]);
      expect((await stores.store.readStream(inboundStream(late))).at(-1)).toMatchObject({
        type: 'InboundConcluded',
        data: { requestId, outcome: 'accepted', direction: 'outgoing' },
      });
      expect(await eventsOf(stores.store, requestId)).toContainEqual(
        expect.objectContaining({ type: 'DuplicateDetected' }),
      );
    },
  );

  it('is looked at again while it is not known which of the two is ours', async () => {
    const { world, requestId, late } = await landedLate();
    const repeat = world.registry.take(requestId);
    expect(await read(world, { documentId: late, requestId }, { documentId: repeat, requestId })).toEqual([
      'retry',
      'retry',
    ]);
    expect([await seen(late), await seen(repeat)]).toEqual([[], []]);
    // Nor is there an alarm for each look.
    expect((await eventsOf(stores.store, requestId)).map(({ type }) => type)).not.toContain('DuplicateDetected');
  });

  it('counts as ours alone where a look-up takes it for ours after it was followed like one of others', async () => {
    const world = harness.worldOf();
    const { requestId } = await registerDocument(stores);
    const upload = await announced(world, requestId);
    const late = world.registry.take(requestId);
    await harness.catchUp('read models');
    await read(world, { documentId: upload, requestId }, { documentId: late, requestId });
    expect([await seen(upload), await seen(late)]).toEqual([[], ['InboundSeen']]);
    await lookedUpWithout(world, requestId, upload);
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'sent', documentId: late });
    expect(await seen(late)).toEqual(['InboundSeen', 'InboundRecognised']);
  });
});
