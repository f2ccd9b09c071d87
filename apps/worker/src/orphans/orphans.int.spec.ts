import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DocumentReference } from '#domain';
import { migrate, type Pool } from '#postgres';
import { orphans, readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema, type Task } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import type { SendFate } from '../../test/fake-registry.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import { MOST_STEPS, QueueHarness, type World } from '../../test/queue-harness.js';
import {
  acceptGroup,
  asTask,
  eventsOf,
  groupStateIn,
  plannedTasks,
  openStores,
  registerDocument,
  runTask,
  stateIn,
  type Stores,
} from '../../test/test-harness.js';

const HOUR_MS = 3_600_000;

let db: TestDatabase;
let stores: Stores;
let queue: PostgresTaskQueue;
let harness: QueueHarness;

beforeAll(async () => {
  db = await testDatabase();
  stores = await openStores(db.pool);
  await migrate(db.pool, [tasksSchema, subscriptionsSchema, ...readModelSchemas]);
  queue = new PostgresTaskQueue({ pool: db.pool });
  harness = new QueueHarness({ ...stores, pool: db.pool, queue });
});

afterAll(async () => {
  await queue.close();
  await stores.close();
  await db.drop();
});

const worldOf = (fates: SendFate[] = []): World => harness.worldOf(fates);
const catchUp = (which?: 'saga' | 'read models'): Promise<void> => harness.catchUp(which);
const claimNext = (): Promise<Task | undefined> => harness.claimNext();
const step = (world: World): Promise<boolean> => harness.step(world);
const run = (world: World, most?: number): Promise<number> => harness.run(world, most);
const loseAllTasks = (pool: Pool) => pool.query('DELETE FROM task');
const found = async (): Promise<string[]> =>
  (await orphans(db.pool, stores.store)).map(({ kind, id }) => `${kind} ${id}`);

/** What apps/gateway does for an operator. */
async function replanAll(): Promise<void> {
  const tasks = (await orphans(db.pool, stores.store)).map(({ kind, id, version }) => {
    const replanId = `${version}@2026-03-01`;
    return {
      key: `replan:${id}:${replanId}`,
      kind: 'replan',
      lane: 'internal',
      dueAt: new Date(0),
      payload: { kind, id, replanId },
    };
  });
  await queue.schedule(db.pool, tasks);
}

describe('a document whose tasks are lost', () => {
  it.each<[string, SendFate[]]>([
    ['all is well', []],
    ['the send is lost', ['unknown_lost']],
    ['the send is taken and the answer lost', ['unknown_taken']],
    ['the send is limited', ['rate_limited']],
  ])('is found wherever it stands, and carried on to its end: %s', async (_, fates) => {
    const phases = new Set<string>();
    for (let at = 0; at < MOST_STEPS; at += 1) {
      const world = worldOf(fates);
      const { requestId } = await registerDocument(stores);
      await catchUp();
      const steps = await run(world, at);
      const state = await stateIn(stores.store, requestId);
      expect(await found()).toEqual([]);
      await loseAllTasks(db.pool);
      if (state.phase === 'concluded') {
        expect(await found()).toEqual([]);
        expect(steps).toBe(at);
        break;
      }
      phases.add(state.phase);
      expect(await found()).toEqual([`document ${requestId}`]);
      await replanAll();
      await run(world);
      expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
      expect(world.registry.taken.get(requestId)).toHaveLength(1);
      expect(await found()).toEqual([]);
      await loseAllTasks(db.pool);
    }
    expect([...phases].sort()).toEqual(
      fates[0]?.startsWith('unknown') === true ? ['ready', 'sent', 'unconfirmed'] : ['ready', 'sent'],
    );
  });

  it('is planned once, however often somebody asks: two tasks for one attempt could take each other for dead', async () => {
    await registerDocument(stores);
    await catchUp();
    await loseAllTasks(db.pool);
    const asked = await orphans(db.pool, stores.store);
    await replanAll();
    const plan = asked.map(({ kind, id, version }) => ({
      key: `late:${id}`,
      kind: 'replan',
      lane: 'internal',
      dueAt: new Date(0),
      payload: { kind, id, replanId: `${version}@2026-03-01` },
    }));
    // Another call, which had found the same before the first was done.
    await queue.schedule(db.pool, plan);
    const world = worldOf();
    await step(world);
    await step(world);
    const { rows } = await db.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM task WHERE kind = 'send'`);
    expect(rows[0]?.n).toBe(1);
    await loseAllTasks(db.pool);
    await replanAll();
    await loseAllTasks(db.pool);
    await db.pool.query('TRUNCATE task_key');
    await replanAll();
    await run(world);
  });

  it('in the middle of a send is looked up before anything is sent again', async () => {
    const world = worldOf();
    const { requestId } = await registerDocument(stores);
    const sha = 'a'.repeat(64);
    const cause = {
      taskKey: `send:${requestId}:1`,
      lease: '1:1',
      actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
    } as const;
    await world.context.documents.execute(
      requestId,
      { type: 'BeginSend', signatureSha256: sha, certificateSha256: sha },
      cause,
    );
    await catchUp();
    await loseAllTasks(db.pool);
    await replanAll();
    await run(world);
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    const types = (await eventsOf(stores.store, requestId)).map((event) => event.type);
    expect(types.slice(1, 6)).toEqual([
      'SendAttempted',
      'SendUnconfirmed',
      'LookUpMissed',
      'SendAbsenceProven',
      'SendAttempted',
    ]);
  });

  it('after a hold has ended is sent: it counts as planned after that hold, whether its send has begun or not', async () => {
    for (const isBegun of [false, true]) {
      const world = worldOf();
      const { requestId } = await registerDocument(stores);
      const { documents } = world.context;
      const cause = { taskKey: `hold:${requestId}`, lease: '1:1', actor: SYSTEM };
      await documents.execute(requestId, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' }, cause);
      await documents.execute(requestId, { type: 'WaiveHolds', predecessors: ['person@1'] }, cause);
      if (isBegun) await documents.execute(requestId, { type: 'BeginSend' }, cause);
      await catchUp();
      await loseAllTasks(db.pool);
      expect(await found()).toEqual([`document ${requestId}`]);
      await replanAll();
      await run(world);
      expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    }
  });

  it('is none while a task, given up or not, a parked instance or an unfinished predecessor stands for it', async () => {
    const [first, second] = [await registerDocument(stores), await registerDocument(stores)];
    const reference: DocumentReference = { commandId: first.commandId, requestId: first.requestId };
    const waiting = await registerDocument(stores, randomUUID(), { after: [reference] });
    await catchUp();
    await db.pool.query(`UPDATE task SET failed_at = now(), due_at = 'infinity' WHERE key LIKE $1`, [
      `send:${second.requestId}:%`,
    ]);
    expect(await found()).toEqual([]);
    await db.pool.query('DELETE FROM task WHERE key LIKE $1', [`send:${first.requestId}:%`]);
    expect(await found()).toEqual([`document ${first.requestId}`]);
    await db.pool.query(
      `INSERT INTO parked_instance (saga, key, error, parked_at, attempts, tried_at) VALUES ('document', $1, ` +
        `'x', now(), 1, now())`,
      [first.requestId],
    );
    expect(await found()).toEqual([]);
    await db.pool.query('DELETE FROM parked_instance');
    await db.pool.query('UPDATE task SET failed_at = NULL');
    await replanAll();
    await run(worldOf());
    expect(await stateIn(stores.store, waiting.requestId)).toMatchObject({ phase: 'concluded' });
    expect(await found()).toEqual([]);
  });

  it('that waits for what has ended already is told of that end', async () => {
    const first = await registerDocument(stores);
    await catchUp();
    const waiting = await registerDocument(stores, randomUUID(), {
      after: [{ commandId: first.commandId, requestId: first.requestId }],
    });
    await catchUp();
    const world = worldOf();
    for (
      let steps = 0;
      (await stateIn(stores.store, first.requestId)).phase !== 'concluded' && steps < MOST_STEPS;
      steps += 1
    )
      await step(world);
    await loseAllTasks(db.pool);
    expect(await found()).toEqual([`document ${waiting.requestId}`]);
    await replanAll();
    await run(world);
    expect(await stateIn(stores.store, waiting.requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
  });

  it('that a bad end before it holds is none: the hold has a name, and a person decides', async () => {
    const world = worldOf(Array.from({ length: 6 }, () => 'refused' as const));
    const first = await registerDocument(stores);
    const dependent = await registerDocument(stores, randomUUID(), {
      after: [{ commandId: first.commandId, requestId: first.requestId }],
    });
    await catchUp();
    await run(world);
    expect(await stateIn(stores.store, first.requestId)).toMatchObject({ phase: 'concluded', outcome: 'failed' });
    expect(await stateIn(stores.store, dependent.requestId)).toMatchObject({
      phase: 'waiting',
      holds: [{ outcome: 'failed' }],
    });
    expect(await found()).toEqual([]);
  });

  it('is judged by the log: neither a read model nor a saga that is behind makes an orphan', async () => {
    const { requestId } = await registerDocument(stores);
    await catchUp('read models');
    expect(await found()).toEqual([]);
    await catchUp('saga');
    const world = worldOf();
    // Concluded in the log; the read model still shows it on its way, and its last task is gone.
    for (let task = await claimNext(); task !== undefined; task = await claimNext()) {
      world.hours += 1;
      await queue.settle(
        task,
        await runTask(world.context, task, new Date(task.claimedAt.getTime() + world.hours * HOUR_MS)),
      );
      await catchUp('saga');
    }
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded' });
    expect(await found()).toEqual([]);
    await catchUp();
  });
});

describe('while the saga is behind', () => {
  it('neither one that waits for what has just ended, nor a group of which a member has just gone, is an orphan', async () => {
    const first = await registerDocument(stores);
    const waiting = await registerDocument(stores, randomUUID(), {
      after: [{ commandId: first.commandId, requestId: first.requestId }],
    });
    const { group, command } = await acceptGroup(stores, 2);
    const world = worldOf();
    await runTask(world.context, command);
    await catchUp();
    // The saga stands still here; everything else goes on.
    for (const kind of ['send', 'status', 'receipt']) {
      const [task] = (await plannedTasks(stores.store, first.requestId)).filter((one) => one.kind === kind);
      await runTask(world.context, asTask(task as never));
    }
    const [sendOfMember] = await plannedTasks(stores.store, group);
    await runTask(world.context, asTask(sendOfMember as never));
    await db.pool.query('DELETE FROM task');
    await catchUp('read models');
    expect((await stateIn(stores.store, first.requestId)).phase).toBe('concluded');
    expect(await found()).toEqual([]);
    await catchUp();
    await run(world);
    expect((await stateIn(stores.store, waiting.requestId)).phase).toBe('concluded');
    expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({ phase: 'concluded' });
  });
});

describe('a group whose tasks are lost', () => {
  it('is found wherever it stands, and carried on to its end', async () => {
    const phases = new Set<string>();
    for (let at = 0; at < MOST_STEPS; at += 1) {
      const world = worldOf();
      const { group, command } = await acceptGroup(stores, 2);
      await runTask(world.context, command);
      await catchUp();
      await run(world, at);
      const state = await groupStateIn(stores.store, group.groupId);
      expect(await found()).toEqual([]);
      await loseAllTasks(db.pool);
      if (state.phase === 'concluded') break;
      phases.add(state.phase);
      expect(await found()).toEqual([`group ${group.groupId}`]);
      // What is told first may take a second round.
      for (let rounds = 0; rounds < 4; rounds += 1) {
        await replanAll();
        await run(world);
      }
      expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({
        phase: 'concluded',
        outcome: 'accepted',
      });
      expect(group.members.map(({ requestId }) => world.registry.taken.get(requestId)?.length)).toEqual([1, 1]);
      expect(await found()).toEqual([]);
      await loseAllTasks(db.pool);
    }
    expect([...phases].sort()).toEqual(['checking', 'sending', 'startable', 'started']);
  });
});
