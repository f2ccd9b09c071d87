import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { PlannedTask } from '#domain';
import { VirtualClock } from '#kernel';
import type { TaskResult } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeGroups } from '../../test/fake-groups.js';
import { badOutcome, FakeRegistry } from '../../test/fake-registry.js';
import {
  acceptGroup,
  asTask,
  eventsOf,
  groupStateIn,
  plannedTasks,
  processOn,
  runTask,
  stateIn,
  storesForSpec,
} from '../../test/test-harness.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
const TOLD_AT = new Date('2026-03-02T12:00:00Z');

const PERSON = { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const;

/** A group of three that can be started, and what is done with it. */
async function startable() {
  const registry = new FakeRegistry();
  registry.status = 'processing';
  const [scheduled, clock, bulk]: [PlannedTask[], VirtualClock, FakeGroups] = [
    [],
    new VirtualClock(),
    new FakeGroups(registry),
  ];
  const queue = { schedule: (_: unknown, tasks: PlannedTask[]) => Promise.resolve(void scheduled.push(...tasks)) };
  const dependents = { pool: stores.pool, queue, endAtOnceDocTypes: [] };
  const fresh = () => ({ ...processOn({ ...stores, registry, bulk, clock }), dependents });
  const context = fresh();
  const { group, command } = await acceptGroup(stores, 3);
  const ids = group.members.map((one) => one.requestId) as [string, string, string];
  const planned = () => plannedTasks(stores.store, group);
  const taskOf = async (kind: PlannedTask['kind'], id = ''): Promise<PlannedTask> =>
    (await planned()).findLast((one) => one.kind === kind && one.key.includes(id))!;
  const run = async (kind: PlannedTask['kind'], id = '', at = TOLD_AT): Promise<TaskResult> =>
    runTask(context, asTask(await taskOf(kind, id)), at);
  const hear = async () => {
    for (const one of await planned()) if (one.kind === 'note_member') await runTask(context, asTask(one), TOLD_AT);
  };
  const show = (id: string, status: FakeRegistry['status']) =>
    registry.statusOf.set(registry.taken.get(id)?.[0] ?? '', status);
  const outcomes = async () =>
    (await Promise.all(ids.map((id) => stateIn(stores.store, id)))).map((one) => 'outcome' in one && one.outcome);
  const lookAgain = async () => {
    for (const one of scheduled) await runTask(context, asTask(one), one.dueAt);
  };
  const state = () => groupStateIn(stores.store, group.groupId);
  await runTask(context, command);
  for (const id of ids) {
    await run('send', id);
    await run('note_member', `${id}:sent`);
  }
  await run('group_check');
  return { context, fresh, group, ids, registry, bulk, scheduled, taskOf, run, hear, show, outcomes, lookAgain, state };
}

type Startable = Awaited<ReturnType<typeof startable>>;

/** Its first member ended by a bare FAILED, and with it the others as not processed. */
async function stopped() {
  const group = await startable();
  const { ids, run, hear, show } = group;
  await run('group_start');
  show(ids[0], 'failed');
  await run('status', ids[0]);
  await hear();
  await run('settle_group');
  await hear();
  return group;
}

/** The member that had stopped it has a receipt after all. */
async function turned() {
  const group = await stopped();
  const [first] = group.ids;
  group.show(first, 'processed');
  await group.run('status', first);
  await group.run('receipt', first);
  await group.hear();
  return group;
}

it('what was ended behind a member that has turned is looked at, for the registry may go on with it', async () => {
  const { ids, run, hear, show, outcomes, lookAgain, state } = await turned();
  expect(await outcomes()).toEqual(['accepted', 'failed', 'failed']);
  const logged = () => Promise.all(ids.map((id) => eventsOf(stores.store, id)));
  const before = await logged();
  for (const status of ['uploading', 'processing', 'failed'] as const) {
    for (const id of ids.slice(1)) show(id, status);
    await lookAgain();
  }
  expect(await logged()).toEqual(before);
  for (const id of ids.slice(1)) show(id, 'processed');
  await lookAgain();
  for (const id of ids.slice(1)) await run('receipt', id);
  await hear();
  expect(await outcomes()).toEqual(['accepted', 'accepted', 'accepted']);
  expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
});

it('it is asked about alone where the list leaves it out', async () => {
  const { ids, registry, run, show, outcomes, lookAgain } = await turned();
  const list = registry.listOutgoing.bind(registry);
  registry.listOutgoing = (account, filter) => list(account, { ...filter, documentIds: [] });
  for (const id of ids.slice(1)) show(id, 'processed');
  await lookAgain();
  for (const id of ids.slice(1)) await run('receipt', id);
  expect(await outcomes()).toEqual(['accepted', 'accepted', 'accepted']);
});

it('it is looked at as often as a FAILED that may turn, each look once, and while the list is away again', async () => {
  const { context, scheduled, registry, hear } = await turned();
  const { unknownGraceMs } = context.profile.rules;
  const times = (): number[] => scheduled.map(({ dueAt }) => (dueAt.getTime() - TOLD_AT.getTime()) / unknownGraceMs);
  expect(times().slice(0, 8)).toEqual([0, 1, 2, 4, 8, 16, 32, 63]);
  await hear();
  expect(new Set(scheduled.map(({ key }) => key)).size).toBe(8);
  const look = (n: number) => runTask(context, asTask(scheduled[n]!), scheduled[n]!.dueAt);
  expect(await look(0)).toEqual({ kind: 'done' });
  registry.documentStatus = () => Promise.resolve(badOutcome('unknown'));
  for (const [n, delayMs] of [
    [0, context.profile.rules.statusPollMs],
    [7, 6.3 * unknownGraceMs],
  ] as const) {
    registry.fail('listOutgoing', 'unknown');
    expect(await look(n)).toMatchObject({ kind: 'retry', countsAsAttempt: false, delayMs });
  }
});

it('where that member stays failed nothing more is asked', async () => {
  const { scheduled, outcomes, state } = await stopped();
  expect(await outcomes()).toEqual(['failed', 'failed', 'failed']);
  expect([scheduled, (await state()).phase]).toEqual([[], 'concluded']);
});

/** Its start is thought lost, and a person ends it for that; `meanwhile` comes before the start is answered. */
async function endedByPerson(meanwhile: (group: Startable, look: () => Promise<TaskResult>) => Promise<void>) {
  const group = await startable();
  const { fresh, context, ids, bulk, taskOf, run, show } = group;
  const decided = { requestId: group.group.groupId, isGroup: true as const, decision: 'end' as const };
  const end: PlannedTask<'decide_hold'> = {
    ...{ key: `decide_hold:${decided.requestId}`, kind: 'decide_hold', lane: 'internal', dueAt: new Date(0) },
    payload: { ...decided, predecessors: [], start: 1, actor: PERSON, reason: 'it was lost' },
  };
  bulk.beforeStart = async () => {
    await runTask(fresh(), asTask(await taskOf('group_start'), 2));
    await runTask(context, asTask(end));
    for (const id of ids) show(id, 'uploading');
    const { payload } = (await taskOf('conclude_members')) as PlannedTask<'conclude_members'>;
    const past = new Date(Date.parse(payload.haltedAt ?? '') + context.profile.rules.unknownGraceMs);
    const look = () => run('conclude_members', '', past);
    await look();
    await meanwhile(group, look);
  };
  return group;
}

const ALL_ENDED = ['failed', 'failed', 'failed'];

async function isFoundProcessed({ ids, run, hear, show, outcomes, lookAgain, state }: Startable): Promise<void> {
  expect([(await state()).phase, await outcomes()]).toEqual(['concluded', ALL_ENDED]);
  for (const id of ids) show(id, 'processed');
  await lookAgain();
  for (const id of ids) await run('receipt', id);
  await hear();
  expect(await outcomes()).toEqual(['accepted', 'accepted', 'accepted']);
}

it('what a person ended is looked at where the answer that its group was started comes after that', async () => {
  const group = await endedByPerson(async ({ hear }, look) => {
    await look();
    await hear();
  });
  expect(await group.run('group_start')).toEqual({ kind: 'done' });
  expect(new Set(group.scheduled.map(({ key }) => key)).size).toBe(8);
  await isFoundProcessed(group);
});

it('it is looked at too where that answer comes between the look at its members and their end', async () => {
  let ended: Promise<unknown> = Promise.resolve();
  const group = await endedByPerson(({ registry }, look) => {
    const list = registry.listOutgoing.bind(registry);
    return new Promise((answerStart) => {
      registry.listOutgoing = async (...asked) => {
        const seen = await list(...asked);
        answerStart();
        await starting;
        registry.listOutgoing = list;
        return seen;
      };
      ended = look();
    });
  });
  const starting = group.run('group_start');
  await starting;
  expect((await group.state()).phase).toBe('started');
  await ended;
  await group.hear();
  await isFoundProcessed(group);
});
