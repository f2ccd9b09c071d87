import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GroupRegistration, PlannedTask } from '#domain';
import { VirtualClock } from '#kernel';
import type { TaskResult } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeGroups, type StartFate } from '../../test/fake-groups.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  acceptGroup,
  asTask,
  eventsOf,
  groupEventsOf,
  groupStateIn,
  newestTask,
  plannedTasks,
  processOn,
  runTask,
  stateIn,
  storesForSpec,
} from '../../test/test-harness.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
const PERSON = { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const;
const REASON = 'the registry has lost it';

/** A registry, and a worker beside it. */
function world(fate: StartFate, waitingStatus: 'uploading' | 'processing') {
  const registry = new FakeRegistry();
  registry.status = 'processing';
  registry.waitingStatus = waitingStatus;
  const bulk = new FakeGroups(registry, [fate]);
  const clock = new VirtualClock();
  const fresh = () => processOn({ ...stores, registry, bulk, clock });
  const process = { context: fresh() };
  const { unknownGraceMs, statusPollMs } = process.context.profile.rules;
  /** About a quarter of the grace; by each such step the turn is another's. */
  const stepMs = statusPollMs * (2 * Math.ceil(unknownGraceMs / statusPollMs / 8) + 1);
  const anew = () => (process.context = fresh());
  return { registry, bulk, clock, process, fresh, anew, unknownGraceMs, stepMs };
}

/** A group whose start is to come, and what is done with it. */
async function startable(fate: StartFate, waitingStatus: 'uploading' | 'processing' = 'uploading') {
  const { process, ...rest } = world(fate, waitingStatus);
  const { group, command } = await acceptGroup(stores, 2);
  const ids = group.members.map((one) => one.requestId) as [string, string];
  const planned = async (kind: PlannedTask['kind'], id: string): Promise<PlannedTask> =>
    (await plannedTasks(stores.store, group)).find((one) => one.kind === kind && one.key.includes(id))!;
  const run = async (kind: PlannedTask['kind'], id = ''): Promise<TaskResult> =>
    runTask(process.context, asTask(await planned(kind, id)));
  await runTask(process.context, command);
  for (const id of ids) {
    await run('send', id);
    await run('note_member', `${id}:sent`);
  }
  await run('group_check');
  /** The same by another process, which has the task once the lease of the first is over. */
  const startAgain = async () => runTask(rest.fresh(), asTask(await planned('group_start', ''), 2));
  const decide = (of: Decision): Promise<TaskResult> => runTask(process.context, decision(group, of));
  /** The look of the task that was planned last, so long after the end. */
  const look = async (sinceMs = rest.unknownGraceMs): Promise<TaskResult> => {
    const task = await newestTask(stores.store, group, 'conclude_members');
    return runTask(process.context, task, new Date(Date.parse(task.payload.haltedAt ?? '') + sinceMs));
  };
  /** The group is told what it has not heard of its members. */
  const hear = async () => {
    for (const one of await plannedTasks(stores.store, group))
      if (one.kind === 'note_member') await runTask(process.context, asTask(one));
  };
  const [end, endInWork] = [() => decide({ start: 1 }), () => decide({ inWork: true })];
  const state = () => groupStateIn(stores.store, group.groupId);
  const documentIdOf = (id: string) => rest.registry.taken.get(id)?.[0] ?? '';
  return { ...rest, group, ids, run, startAgain, decide, end, endInWork, look, hear, state, documentIdOf };
}

/** A group of which nobody knows whether the registry has begun. */
async function doubted(...of: Parameters<typeof startable>) {
  const group = await startable(...of);
  await group.run('group_start');
  return group;
}

interface Decision {
  start?: number;
  inWork?: true;
}

function decision({ groupId: requestId }: GroupRegistration, of: Decision) {
  const payload = { requestId, isGroup: true as const, decision: 'end' as const, predecessors: [], ...of };
  const planned: PlannedTask<'decide_hold'> = {
    ...{ key: `decide_hold:${requestId}:${JSON.stringify(of)}`, kind: 'decide_hold', lane: 'internal' },
    ...{ dueAt: new Date(0), payload: { ...payload, actor: PERSON, reason: REASON } },
  };
  return asTask(planned);
}

const phases = async ({ members }: Pick<GroupRegistration, 'members'>) =>
  (await Promise.all(members.map((one) => stateIn(stores.store, one.requestId)))).map((one) =>
    'cause' in one ? one.cause : one.phase,
  );
const UNTOUCHED = ['not_processed', 'not_processed'];
const MORE = { kind: 'retry', countsAsAttempt: false };

describe('a group of unknown start that a person ends', () => {
  it('is not started again, and says who ended it and why', async () => {
    const { group, bulk, end, run, state } = await doubted('unknown_lost');
    await end();
    expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'ended_by_person', text: REASON } });
    const [event] = (await groupEventsOf(stores.store, group.groupId)).slice(-1);
    expect(event).toMatchObject({ type: 'GroupHalted', metadata: { actor: PERSON, reason: REASON } });
    expect(await run('group_look')).toEqual({ kind: 'done' });
    expect(await run('group_start')).toEqual({ kind: 'done' });
    expect([bulk.starts, (await state()).phase]).toEqual([1, 'halted']);
  });

  it('ends its members after two looks that show it untouched, the last past the grace', async () => {
    const { group, end, look, hear, state, unknownGraceMs } = await doubted('unknown_lost');
    await end();
    expect(await look(unknownGraceMs - 2)).toMatchObject(MORE);
    expect(await look(unknownGraceMs - 1)).toMatchObject(MORE);
    expect(await phases(group)).toEqual(['sent', 'sent']);
    expect(await look()).toEqual({ kind: 'done' });
    expect(await phases(group)).toEqual(UNTOUCHED);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'failed', halt: { cause: 'ended_by_person' } });
  });

  it('is looked at twice by each process', async () => {
    const { group, anew, end, look } = await doubted('unknown_lost');
    await end();
    expect(await look()).toMatchObject(MORE);
    anew();
    expect(await look()).toMatchObject(MORE);
    expect(await phases(group)).toEqual(['sent', 'sent']);
    await look();
    expect(await phases(group)).toEqual(UNTOUCHED);
  });

  it('has begun after all where its start lands late: nothing is ended, and its members are followed', async () => {
    const { group, registry, bulk, ids, end, look, state, documentIdOf } = await doubted('unknown_lost');
    await end();
    expect(await look()).toMatchObject(MORE);
    bulk.begin(ids);
    // In work, and the check says no: so the second, too, waits for its turn.
    registry.open.add(documentIdOf(ids[1]));
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).toMatchObject(MORE);
    registry.statusOf.set(documentIdOf(ids[0]), 'processed');
    expect(await look()).toEqual({ kind: 'done' });
    expect([(await state()).phase, await phases(group)]).toEqual(['started', ['sent', 'sent']]);
    const tasks = await plannedTasks(stores.store, group);
    expect(tasks.filter(({ kind }) => kind === 'status')).toHaveLength(2);
    // What the person had planned does nothing any more.
    expect(await look()).toEqual({ kind: 'done' });
  });

  it('looks anew from the beginning once it seemed to be in work', async () => {
    const { group, bulk, end, look } = await doubted('unknown_lost', 'processing');
    await end();
    expect(await look()).toMatchObject(MORE);
    bulk.nextChecks.push('no');
    expect(await look()).toMatchObject(MORE);
    expect(await look()).toMatchObject(MORE);
    expect(await phases(group)).toEqual(['sent', 'sent']);
    expect(await look()).toEqual({ kind: 'done' });
    expect(await phases(group)).toEqual(UNTOUCHED);
  });

  it('ends those that the registry does not know any more, each after two such answers', async () => {
    const { group, ids, registry, clock, end, look, hear, documentIdOf, stepMs, unknownGraceMs } =
      await doubted('unknown_lost');
    await end();
    const first = documentIdOf(ids[0]);
    registry.taken.clear();
    registry.fail('documentStatus', ...Array<'not_found'>(40).fill('not_found'));
    const asked: string[] = [];
    const statusOf = registry.documentStatus.bind(registry);
    registry.documentStatus = (account, documentId) => {
      asked.push(documentId);
      return statusOf(account, documentId);
    };
    let looks = 0;
    for (let result: TaskResult | undefined; result?.kind !== 'done'; looks += 1) {
      // Until the first has told that nothing has begun, it alone is asked about.
      if ((await phases(group))[0] === 'sent') expect(asked.every((one) => one === first)).toBe(true);
      result = await look(unknownGraceMs * 2);
      await hear();
      if (looks === 1) expect(await phases(group)).toEqual(['sent', 'sent']);
      clock.advance(stepMs);
      expect(looks).toBeLessThan(40);
    }
    expect(await phases(group)).toEqual(UNTOUCHED);
  });

  it('has begun after all where one of them was ended before: that one is looked at, too, until it has ended', async () => {
    const { ids, registry, run, end, look, hear, state, documentIdOf } = await doubted('unknown_lost');
    await end();
    const [first, second] = ids.map(documentIdOf) as [string, string];
    const known = registry.taken.get(ids[1]) as string[];
    registry.taken.delete(ids[1]);
    registry.fail('documentStatus', 'not_found', 'not_found');
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).toMatchObject(MORE);
    await hear();
    expect((await state()) as object).toMatchObject({ members: [{ cause: 'not_processed' }, {}] });
    registry.taken.set(ids[1], known);
    registry.open.clear();
    registry.statusOf.set(second, 'processed');
    expect(await look()).toMatchObject(MORE);
    await run('receipt', ids[1]);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'partial' });
    expect(await look()).toMatchObject(MORE);
    registry.statusOf.set(first, 'processed');
    expect(await look()).toEqual({ kind: 'done' });
    await run('receipt', ids[0]);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
  });

  it('has begun after all: one that was ended before is asked about in the same look', async () => {
    const { ids, registry, run, end, look, hear, state, documentIdOf } = await doubted('unknown_lost');
    await end();
    const known = registry.taken.get(ids[1]) as string[];
    registry.taken.delete(ids[1]);
    registry.fail('documentStatus', 'not_found', 'not_found');
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).toMatchObject(MORE);
    await hear();
    registry.taken.set(ids[1], known);
    registry.open.clear();
    for (const id of ids) registry.statusOf.set(documentIdOf(id), 'processed');
    expect(await look()).toMatchObject(MORE);
    for (const id of ids) await run('receipt', id);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
  });

  it.each(['processed', 'failed'] as const)('has begun where its first member is %s', async (status) => {
    const { registry, ids, end, look, state, documentIdOf } = await doubted('unknown_taken');
    await end();
    registry.statusOf.set(documentIdOf(ids[0]), status);
    expect(await look()).toEqual({ kind: 'done' });
    expect((await state()).phase).toBe('started');
  });

  it('has not begun because one behind an untouched first has failed: each ends by itself', async () => {
    const { group, ids, registry, end, look, hear, state, documentIdOf } = await doubted('unknown_lost');
    await end();
    // The registry looks at documents as it takes them in, too.
    registry.open.delete(documentIdOf(ids[1]));
    registry.statusOf.set(documentIdOf(ids[1]), 'failed');
    expect(await look()).toMatchObject(MORE);
    expect(await look()).toEqual({ kind: 'done' });
    expect(await phases(group)).toEqual(['not_processed', 'registry_failed']);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'failed', halt: { cause: 'ended_by_person' } });
  });

  it('is left as it is while the registry does not answer', async () => {
    const { group, registry, end, endInWork, look } = await doubted('unknown_lost');
    await end();
    registry.fail('listOutgoing', ...Array<'unknown'>(4).fill('unknown'));
    registry.fail('documentStatus', ...Array<'unknown'>(20).fill('unknown'));
    for (let looks = 0; looks < 2; looks += 1) expect(await look()).toMatchObject(MORE);
    await endInWork();
    for (let looks = 0; looks < 2; looks += 1) expect(await look()).toMatchObject(MORE);
    expect(await phases(group)).toEqual(['sent', 'sent']);
  });
});

describe('what is in work by the registry, in a group that a person ended', () => {
  it('stays open, and is looked at less and less often', async () => {
    const { group, end, look, unknownGraceMs } = await doubted('unknown_taken');
    await end();
    const delays = [];
    for (const sinceMs of [unknownGraceMs, unknownGraceMs * 10, unknownGraceMs * 1_000]) {
      const result = await look(sinceMs);
      delays.push(result.kind === 'retry' && result.delayMs);
    }
    expect(delays).toEqual([unknownGraceMs / 10, unknownGraceMs, 600_000]);
    expect(await phases(group)).toEqual(['sent', 'sent']);
  });

  it('ends by a second decision of the person, and what has ended by the registry keeps its end', async () => {
    const { group, run, end, endInWork, look, hear, state } = await doubted('unknown_taken');
    await end();
    expect(await look()).toMatchObject(MORE);
    await endInWork();
    expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'ended_in_work' } });
    // The looks of the first decision are over: those of the second go on.
    const [first] = (await plannedTasks(stores.store, group)).filter(({ kind }) => kind === 'conclude_members');
    expect(await run('conclude_members', (first as PlannedTask).key)).toEqual({ kind: 'done' });
    expect(await look()).toMatchObject(MORE);
    expect(await phases(group)).toEqual(UNTOUCHED);
    for (const { requestId } of group.members)
      expect((await eventsOf(stores.store, requestId)).at(-2)).toMatchObject({
        ...{ type: 'DocumentNotProcessed', data: { groupId: group.groupId, inWork: true } },
      });
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'failed', halt: { cause: 'ended_in_work' } });
  });

  it('is followed where one of them has ended by then', async () => {
    const { group, registry, ids, end, endInWork, look, state, documentIdOf } = await doubted('unknown_taken');
    await end();
    await endInWork();
    registry.statusOf.set(documentIdOf(ids[0]), 'processed');
    expect(await look()).toEqual({ kind: 'done' });
    expect([(await state()).phase, await phases(group)]).toEqual(['started', ['sent', 'sent']]);
  });

  it('is followed by itself where another was ended before', async () => {
    const { group, registry, ids, documentIdOf, decide, look, hear, state } = await doubted('unknown_taken');
    await decide({ start: 1, inWork: true });
    const known = registry.taken.get(ids[1]) as string[];
    registry.taken.delete(ids[1]);
    registry.fail('documentStatus', 'not_found');
    expect(await look()).toMatchObject(MORE);
    await hear();
    expect(await phases(group)).toEqual(['not_processed', 'sent']);
    registry.taken.set(ids[1], known);
    registry.statusOf.set(documentIdOf(ids[1]), 'processed');
    expect(await look()).toMatchObject(MORE);
    expect(await stateIn(stores.store, ids[1])).toMatchObject({ phase: 'sent', status: 'processed' });
    expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'ended_in_work' } });
  });

  it('is followed by itself where the group has not heard yet that its members were ended', async () => {
    const { group, registry, ids, documentIdOf, decide, run, look, hear, state } = await doubted('unknown_taken');
    await decide({ start: 1, inWork: true });
    expect(await look()).toMatchObject(MORE);
    expect(await phases(group)).toEqual(UNTOUCHED);
    registry.statusOf.set(documentIdOf(ids[0]), 'processed');
    expect(await look()).toMatchObject(MORE);
    expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'ended_in_work' } });
    await run('receipt', ids[0]);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'partial' });
    // The other one is looked at on.
    registry.statusOf.set(documentIdOf(ids[1]), 'processed');
    expect(await look()).toEqual({ kind: 'done' });
    await run('receipt', ids[1]);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
  });

  it('is followed by itself where the answer to its start comes after its members were ended', async () => {
    const { group, ids, bulk, run, startAgain, decide, look, hear, state, ...rest } = await startable('ok');
    bulk.beforeStart = async () => {
      await startAgain();
      await decide({ start: 1, inWork: true });
      await look();
    };
    expect(await run('group_start')).toEqual({ kind: 'done' });
    expect(await phases(group)).toEqual(UNTOUCHED);
    expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'ended_in_work' } });
    await hear();
    for (const id of ids) rest.registry.statusOf.set(rest.documentIdOf(id), 'processed');
    expect(await look()).toEqual({ kind: 'done' });
    for (const id of ids) await run('receipt', id);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
  });

  it('has begun where the answer to its start comes before anything was ended', async () => {
    const { group, bulk, run, startAgain, end, state } = await startable('ok');
    bulk.beforeStart = async () => {
      await startAgain();
      await end();
    };
    expect(await run('group_start')).toEqual({ kind: 'done' });
    expect([(await state()).phase, await phases(group)]).toEqual(['started', ['sent', 'sent']]);
  });

  it.each([{ start: 1 }, { start: 1, inWork: true }] as const)(
    'has begun by a late answer: what is planned for its end %j leaves it alone, also once a member stops it',
    async (decided) => {
      const { group, bulk, run, startAgain, decide, look, hear, state, ids, registry, documentIdOf } =
        await startable('ok');
      bulk.beforeStart = async () => {
        await startAgain();
        await decide(decided);
      };
      await run('group_start');
      for (const id of ids) registry.statusOf.set(documentIdOf(id), 'failed');
      await run('status', ids[0]);
      await hear();
      expect(await state()).toMatchObject({ phase: 'halted', halt: { cause: 'member_failed', started: true } });
      for (let looks = 0; looks < 2; looks += 1) expect(await look()).toEqual({ kind: 'done' });
      expect(await phases(group)).toEqual(['registry_failed', 'sent']);
      expect(await run('settle_group')).toEqual({ kind: 'done' });
      await hear();
      expect(await state()).toMatchObject({ phase: 'concluded', halt: { cause: 'member_failed' } });
      registry.statusOf.set(documentIdOf(ids[1]), 'processing');
      expect(await look()).toEqual({ kind: 'done' });
    },
  );

  it('is looked at by the task of the second decision alone', async () => {
    const { group, run, end, endInWork, look, hear } = await doubted('unknown_taken');
    await end();
    await endInWork();
    await look();
    await hear();
    const [first] = (await plannedTasks(stores.store, group)).filter(({ kind }) => kind === 'conclude_members');
    expect(await run('conclude_members', (first as PlannedTask).key)).toEqual({ kind: 'done' });
    expect(await look()).toMatchObject(MORE);
  });

  it('is told as revised where the registry has processed it after all', async () => {
    const { group, registry, ids, documentIdOf, decide, run, look, hear, state } = await doubted('unknown_taken');
    await decide({ start: 1, inWork: true });
    await look();
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'failed' });
    expect(await look()).toMatchObject(MORE);
    registry.statusOf.set(documentIdOf(ids[0]), 'processed');
    expect(await look()).toMatchObject(MORE);
    await run('receipt', ids[0]);
    await hear();
    expect(await state()).toMatchObject({ phase: 'concluded', outcome: 'partial' });
    expect(await stateIn(stores.store, ids[0])).toMatchObject({ outcome: 'accepted' });
    registry.statusOf.set(documentIdOf(ids[1]), 'failed');
    // Nothing is left that may still turn.
    expect(await look()).toEqual({ kind: 'done' });
    expect(await phases(group)).toEqual(['concluded', 'not_processed']);
  });

  it('is looked at until the registry does not know it any more', async () => {
    const { registry, clock, decide, look, hear, stepMs } = await doubted('unknown_taken');
    await decide({ start: 1, inWork: true });
    await look();
    await hear();
    registry.taken.clear();
    registry.fail('documentStatus', ...Array<'not_found'>(40).fill('not_found'));
    let looks = 0;
    for (let result: TaskResult | undefined; result?.kind !== 'done'; looks += 1) {
      result = await look();
      clock.advance(stepMs);
      expect(looks).toBeLessThan(40);
    }
    expect(looks).toBeGreaterThan(2);
  });
});
