import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { documentStream, type DocumentCommand, type GroupCommand, type GroupRegistration } from '#domain';
import { VirtualClock } from '#kernel';
import type { Task, TaskResult } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeGroups } from '../../test/fake-groups.js';
import { badOutcome, FakeRegistry } from '../../test/fake-registry.js';
import {
  ACCOUNT,
  groupEventsOf,
  processOn,
  registerDocument,
  runTask,
  stateIn,
  storesForSpec,
} from '../../test/test-harness.js';
import type { TaskContext } from './context.js';

/** More than two members take, one at a time. */
const MOST_POLLS = 6;
const SHA = 'a'.repeat(64);
const CAUSE = {
  taskKey: 'test',
  lease: '1:1',
  actor: { kind: 'system', name: 'erp', authenticatedBy: 'test' },
} as const;
const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

interface TestHarness {
  context: TaskContext;
  registry: FakeRegistry;
  bulk: FakeGroups;
  clock: VirtualClock;
  toGroup: (command: GroupCommand) => Promise<unknown>;
  /** Of the group, under the kind that ends members of what was not started. */
  task: Task;
  requestIds: [string, string, ...string[]];
}

const lookedUp = (documentId: string): DocumentCommand => ({
  type: 'RecordLookUp',
  attempt: 1,
  documentIds: [documentId],
  sinceAttemptEndedMs: 0,
  unknownGraceMs: 0,
  answerSha256: SHA,
});

const concludeMembers = (groupId: string): Task => ({
  key: `conclude_members:${groupId}`,
  kind: 'conclude_members',
  lane: 'internal',
  dueAt: new Date(0),
  payload: { groupId, account: ACCOUNT },
  priority: 100,
  attempts: 1,
  leaseExpiredBefore: false,
  leasesLost: 0,
  lease: '1:1',
  claimedAt: new Date(0),
});

/** Members whom the registry has, two unless said otherwise; their group is checked next. */
async function sentGroup(size = 2): Promise<TestHarness> {
  const group = await registeredGroup(size);
  const { registry, context, toGroup, requestIds } = group;
  for (const requestId of requestIds) {
    const documentId = registry.take(requestId);
    await context.documents.execute(requestId, lookedUp(documentId), CAUSE);
    await toGroup({ type: 'NoteMemberSent', requestId, documentId });
  }
  return group;
}

async function registeredGroup(size = 2): Promise<TestHarness> {
  const registry = new FakeRegistry();
  const clock = new VirtualClock();
  const bulk = new FakeGroups(registry);
  const context = processOn({ ...stores, registry, bulk, clock });
  const groupId = randomUUID();
  const requestIds = Array.from({ length: size }, () => randomUUID()) as TestHarness['requestIds'];
  const ofGroup = (index: number) => ({ groupId, index, of: size, kind: 'given' as const });
  const members = await Promise.all(
    requestIds.map((requestId, index) => registerDocument(stores, requestId, { group: ofGroup(index) })),
  );
  const group = {
    groupId,
    commandId: `command-${groupId}`,
    account: ACCOUNT,
    kind: 'given',
    members,
    after: [],
  } as GroupRegistration;
  const toGroup = (command: GroupCommand) => context.groups.execute(groupId, command, CAUSE);
  await toGroup({ type: 'Register', registration: group });
  return { context, registry, bulk, clock, toGroup, requestIds, task: concludeMembers(groupId) };
}

/** Such a group that was started. */
async function startedGroup(): Promise<TestHarness & { settle: Task }> {
  const group = await sentGroup();
  const { toGroup, requestIds, task } = group;
  const [first] = requestIds;
  await toGroup({ type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA });
  await toGroup({ type: 'BeginStart' });
  await toGroup({ type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'started', answerSha256: SHA } });
  const settle = { ...task, key: `settle_group:${first}`, kind: 'settle_group', lane: `${ACCOUNT}/status` };
  return { ...group, settle };
}

const statusTask = ({ registry, task }: TestHarness, requestId: string): Task => ({
  ...{ ...task, key: `status:${requestId}`, kind: 'status', lane: `${ACCOUNT}/status` },
  payload: { requestId, account: ACCOUNT, documentId: registry.taken.get(requestId)?.[0] ?? '' },
});

/** One that was stopped by a bare FAILED of its first member. */
async function stoppedGroup(): Promise<TestHarness & { settle: Task }> {
  const group = await startedGroup();
  const [first] = group.requestIds;
  const end = { outcome: 'failed', cause: 'registry_failed', partialStops: true } as const;
  await group.toGroup({ type: 'NoteMemberConcluded', requestId: first, ...end });
  return group;
}

/** Such a group that the registry will not start, as its check says. */
async function deniedGroup(size = 2): Promise<TestHarness> {
  const group = await sentGroup(size);
  for (let check = 0; check < 5; check += 1)
    await group.toGroup({
      type: 'RecordCheck',
      answer: { canStart: false, reason: 'it was started before' },
      answerSha256: SHA,
    });
  return group;
}

/** Polls while every outgoing list answers 500, and single reads do not. */
async function runWithoutLists({ context, registry, clock }: TestHarness, task: Task): Promise<TaskResult> {
  registry.fail('listOutgoing', ...Array<'unknown'>(MOST_POLLS).fill('unknown'));
  let result = await runTask(context, task);
  for (let polls = 1; polls < MOST_POLLS && result.kind === 'retry'; polls += 1) {
    clock.advance(context.profile.rules.statusPollMs);
    result = await runTask(context, task);
  }
  return result;
}

const phases = async (requestIds: string[]) =>
  (await Promise.all(requestIds.map((one) => stateIn(stores.store, one)))).map((one) =>
    'cause' in one ? one.cause : one.phase,
  );

describe('the members behind one that stopped their group', () => {
  it('are ended by single reads while lists answer 500, once the one that stopped it has not turned', async () => {
    const group = await stoppedGroup();
    const { registry, requestIds, settle } = group;
    const [first, second] = requestIds;
    registry.statusOf.set(registry.taken.get(first)?.[0] ?? '', 'failed');
    registry.statusOf.set(registry.taken.get(second)?.[0] ?? '', 'uploading');
    expect(await runWithoutLists(group, settle)).toEqual({ kind: 'done' });
    expect(await phases([second])).toEqual(['not_processed']);
  });

  it('are ended as not processed where they show FAILED, which counts for nothing before', async () => {
    const group = await startedGroup();
    const { context, registry, requestIds, settle, toGroup } = group;
    const [first, second] = requestIds;
    registry.status = 'failed';
    const status = statusTask(group, second);
    expect(await runTask(context, status)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    await toGroup({ type: 'NoteMemberConcluded', requestId: first, outcome: 'rejected', partialStops: true });
    expect(await runTask(context, status)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect(await phases([second])).toEqual(['sent']);
    // Another process settles the group, and this one does not ask for ever.
    expect(await runTask(processOn({ ...stores, registry, bulk: group.bulk, clock: group.clock }), settle)).toEqual({
      kind: 'done',
    });
    expect(await phases([second])).toEqual(['not_processed']);
    expect(await runTask(context, status)).toEqual({ kind: 'done' });
    expect((await stores.store.readStream(documentStream(second))).at(-1)?.type).toBe('DocumentConcluded');
  });

  it('fail by themselves where all before them have ended well', async () => {
    const group = await startedGroup();
    const [first, second] = group.requestIds;
    group.registry.status = 'failed';
    await group.toGroup({ type: 'NoteMemberConcluded', requestId: first, outcome: 'accepted', partialStops: true });
    expect(await runTask(group.context, statusTask(group, second))).toEqual({ kind: 'done' });
    expect(await phases([second])).toEqual(['registry_failed']);
  });

  it('are ended where the registry knows nothing of the one that stopped it any more', async () => {
    const { context, registry, clock, requestIds, settle } = await stoppedGroup();
    const [first, second] = requestIds;
    registry.taken.delete(first);
    registry.statusOf.set(registry.taken.get(second)?.[0] ?? '', 'uploading');
    registry.fail('documentStatus', 'not_found', 'not_found');
    expect(await runTask(context, settle)).toMatchObject({ kind: 'retry' });
    clock.advance(context.profile.rules.unknownGraceMs);
    expect(await runTask(context, settle)).toEqual({ kind: 'done' });
    expect(await phases([second])).toEqual(['not_processed']);
  });

  it('are not ended while the list leaves out the one that stopped it: a bare FAILED may have turned', async () => {
    const { context, registry, clock, requestIds, settle } = await stoppedGroup();
    const [first, second] = requestIds;
    registry.taken.delete(first);
    registry.status = 'processing';
    registry.fail('documentStatus', 'not_found');
    expect(await runTask(context, settle)).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining('is not in the list'),
    });
    clock.advance(3_000);
    // Asked for by itself, it tells that it has turned.
    expect(await runTask(context, settle)).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining('has turned'),
    });
    expect(await phases([second])).toEqual(['sent']);
  });

  it('are ended once the one that stopped it has turned, and was rejected by its receipt after all', async () => {
    const { context, registry, requestIds, toGroup, settle } = await stoppedGroup();
    const [first, second] = requestIds;
    registry.statusOf.set(registry.taken.get(first)?.[0] ?? '', 'failed_result_ready');
    registry.statusOf.set(registry.taken.get(second)?.[0] ?? '', 'uploading');
    expect(await runTask(context, settle)).toMatchObject({ error: expect.stringContaining('has turned') });
    await toGroup({ type: 'NoteMemberConcluded', requestId: first, outcome: 'rejected', partialStops: true });
    expect(await runTask(context, settle)).toEqual({ kind: 'done' });
    expect(await phases([second])).toEqual(['not_processed']);
  });
});

describe('the members of a group that was not started', () => {
  it('are asked about one by one while lists answer 500, and ended by these answers', async () => {
    const group = await deniedGroup();
    const { registry, task, requestIds } = group;
    registry.status = 'uploading';
    expect(await runWithoutLists(group, task)).toEqual({ kind: 'done' });
    expect(await phases(requestIds)).toEqual(['not_processed', 'not_processed']);
    expect(registry.calls.filter((one) => one === 'documentStatus').length).toBeGreaterThanOrEqual(2);
  });

  it('are ended where they show as in work, as some registries may, and could still be started', async () => {
    const { context, registry, task, requestIds } = await deniedGroup();
    registry.status = 'processing';
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(await phases(requestIds)).toEqual(['not_processed', 'not_processed']);
  });

  it('are ended where they show as in work, though the registry has lost another, and says no to all for that', async () => {
    const { context, registry, clock, task, requestIds } = await deniedGroup();
    const [, second] = requestIds;
    registry.status = 'processing';
    registry.taken.delete(second);
    registry.fail('documentStatus', 'not_found', 'not_found');
    expect(await runTask(context, task)).toMatchObject({ kind: 'retry' });
    expect(await phases(requestIds)).toEqual(['not_processed', 'sent']);
    clock.advance(context.profile.rules.unknownGraceMs);
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(await phases(requestIds)).toEqual(['not_processed', 'not_processed']);
  });

  it('are asked about by themselves where the list leaves them out', async () => {
    const { context, registry, clock, task, requestIds } = await deniedGroup();
    registry.status = 'uploading';
    registry.taken.clear();
    for (let polls = 0; polls < requestIds.length; polls += 1) {
      await runTask(context, task);
      clock.advance(context.profile.rules.statusPollMs);
    }
    expect(await phases(requestIds)).toEqual(['not_processed', 'not_processed']);
  });

  it('are not ended by a look at what was ended before', async () => {
    const { context, registry, task, requestIds } = await deniedGroup();
    registry.status = 'processing';
    expect(await runTask(context, { ...task, kind: 'settle_group', lane: `${ACCOUNT}/status` })).toEqual({
      kind: 'done',
    });
    expect(await phases(requestIds)).toEqual(['sent', 'sent']);
  });

  it('are all asked about where the registry has lost them, however far apart the looks are', async () => {
    const size = 24;
    const { context, registry, clock, task, requestIds } = await deniedGroup(size);
    registry.taken.clear();
    registry.fail('documentStatus', ...Array<'not_found'>(3 * size).fill('not_found'));
    const perLook = Math.min(10, Math.floor(2_000 / context.profile.operations.status.intervalMs));
    const rounds = Math.ceil(size / perLook);
    for (let look = 0; look < 2 * rounds; look += 1) {
      // The longest rest is a multiple of the time between two polls.
      clock.advance(600_000);
      await runTask(context, task);
    }
    expect(new Set(await phases(requestIds))).toEqual(new Set(['not_processed']));
  });

  it('are looked at less and less often while they are in work by the registry, at the latest after ten minutes', async () => {
    const { context, registry, bulk, task, requestIds } = await deniedGroup();
    registry.status = 'processing';
    const delayAfter = async (haltedMs: number, haltedAt: object = { haltedAt: new Date(0).toISOString() }) => {
      bulk.nextChecks.push('no');
      const payload = { ...task.payload, ...haltedAt };
      const result = await runTask(context, { ...task, payload }, new Date(haltedMs));
      return result.kind === 'retry' ? result.delayMs : undefined;
    };
    const { statusPollMs } = context.profile.rules;
    expect(await delayAfter(3_000)).toBe(Math.max(2_000, statusPollMs));
    expect(await delayAfter(600_000)).toBe(60_000);
    expect(await delayAfter(86_400_000)).toBe(600_000);
    // A task of before does not say since when.
    expect(await delayAfter(86_400_000, {})).toBe(Math.max(2_000, statusPollMs));
    expect(await phases(requestIds)).toEqual(['sent', 'sent']);
  });

  it('are left as they are while neither a list nor a single read answers', async () => {
    const { context, registry, task, requestIds } = await deniedGroup();
    registry.status = 'uploading';
    registry.fail('listOutgoing', 'unknown');
    registry.fail('documentStatus', ...Array<'unknown'>(10).fill('unknown'));
    expect(await runTask(context, task)).toMatchObject({ kind: 'retry', error: 'outgoing list: unknown' });
    expect(await phases(requestIds)).toEqual(['sent', 'sent']);
  });

  it('are ended once the registry has twice not known them, the last time past the grace, and no sooner', async () => {
    const { context, registry, bulk, clock, task, requestIds, toGroup } = await deniedGroup();
    const [first, second] = requestIds;
    const { statusPollMs, unknownGraceMs } = context.profile.rules;
    const polls = Math.ceil(unknownGraceMs / statusPollMs) + 2;
    const poll = (): Promise<TaskResult> => {
      clock.advance(statusPollMs);
      return runTask(context, task);
    };
    const known = registry.taken.get(first) as string[];
    registry.taken.clear();
    registry.fail('documentStatus', ...Array<'not_found'>(4 * polls).fill('not_found'));
    for (let n = 0; n < polls - 4; n += 1)
      expect(await poll()).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect(await phases(requestIds)).toEqual(['sent', 'sent']);
    // Shown in between, as it may be in work, the first is not missing: then its grace begins anew.
    registry.taken.set(first, known);
    registry.status = 'processing';
    bulk.nextChecks.push('no');
    await poll();
    registry.taken.clear();
    for (let n = 0; n < 6; n += 1) await poll();
    expect(await phases(requestIds)).toEqual(['sent', 'not_processed']);
    const ended = { outcome: 'failed', cause: 'not_processed', partialStops: true } as const;
    await toGroup({ type: 'NoteMemberConcluded', requestId: second, ...ended });
    let result: TaskResult = await poll();
    for (let n = 0; n < polls && result.kind === 'retry'; n += 1) result = await poll();
    expect([result, await phases(requestIds)]).toEqual([{ kind: 'done' }, ['not_processed', 'not_processed']]);
  });

  it('are ended as not processed where the registry shows them untouched, each by events of its own', async () => {
    const { context, registry, task, requestIds } = await deniedGroup();
    registry.status = 'uploading';
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(await phases(requestIds)).toEqual(['not_processed', 'not_processed']);
    // The answer that showed it untouched is kept.
    for (const one of requestIds) {
      const events = await stores.store.readStream(documentStream(one));
      const ended = events.find(({ type }) => type === 'DocumentNotProcessed');
      expect(await stores.evidence.get(ended?.data['answerSha256'] as string)).toBeDefined();
    }
    const ids = (await Promise.all(requestIds.map((one) => stores.store.readStream(documentStream(one))))).map(
      (events) => events.at(-1)?.id,
    );
    expect(new Set(ids).size).toBe(2);
  });

  it('are ended where a suspension holds them, before its release could send them', async () => {
    const { context, toGroup, requestIds, task } = await registeredGroup();
    const [first, second] = requestIds;
    const finding = { series: [], packCount: 1, knownAt: '7', unknown: { items: ['x'], itemCount: 1 } };
    const held = await context.documents.execute(second, { type: 'HoldForSuspension', finding }, CAUSE);
    expect(held.state.phase).toBe('waiting');
    const end = { outcome: 'failed', cause: 'send_refused', partialStops: true } as const;
    await toGroup({ type: 'NoteMemberConcluded', requestId: first, ...end });
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(await phases([second])).toEqual(['not_processed']);
  });

  it(
    'are followed to their receipts where it has begun all the same, and nobody is told that they were not ' +
      'processed',
    async () => {
      const { context, registry, bulk, task, requestIds } = await deniedGroup();
      registry.status = 'processing';
      bulk.begin(requestIds);
      expect(await runTask(context, task)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
      expect(await phases(requestIds)).toEqual(['sent', 'sent']);
      registry.status = 'processed';
      expect(await runTask(context, task)).toEqual({ kind: 'done' });
      expect(await stateIn(stores.store, requestIds[0])).toMatchObject({ phase: 'sent', status: 'processed' });
    },
  );
});

describe('a check of a group', () => {
  const refused = { ...badOutcome('refused'), mayBeOthers: true };
  const again = { kind: 'retry', error: expect.stringContaining('refused') };
  const checkOf = (task: Task): Task => ({
    ...task,
    key: 'check',
    kind: 'group_check',
    lane: `${ACCOUNT}/group_check`,
  });

  it('that a server before the registry may have refused is made again, and denies nothing', async () => {
    const { context, task } = await sentGroup();
    const bulk = { ...context.bulk, check: () => Promise.resolve(refused) };
    expect(await runTask({ ...context, bulk } as TaskContext, checkOf(task))).toMatchObject({
      ...again,
      countsAsAttempt: true,
    });
  });

  it('waits in a restored database, where such a server may have refused to tell whether it was started', async () => {
    const { context, task, registry } = await sentGroup();
    registry.documentStatus = () => Promise.resolve(refused as never);
    const restored = { ...context, restored: { was: true } } as TaskContext;
    expect(await runTask(restored, { ...checkOf(task), attempts: 2 })).toMatchObject(again);
  });
});

describe('a check of a group in a restored database', () => {
  const checked = async (given: (of: TestHarness) => unknown) => {
    const group = await sentGroup();
    const { context, task, registry } = group;
    registry.status = 'processing';
    given(group);
    const restored = { ...context, restored: { was: true } } as TaskContext;
    const check = { key: 'check', kind: 'group_check', lane: `${ACCOUNT}/group_check`, attempts: 2 };
    const { kind } = await runTask(restored, { ...task, ...check });
    const { groupId } = task.payload as { groupId: string };
    const newest = (await groupEventsOf(stores.store, groupId)).at(-1);
    const answer =
      newest?.type === 'GroupCheckPassed' ? await stores.evidence.get(newest.data.answerSha256) : undefined;
    return { kind, phase: (await context.groups.stateInLog(groupId)).phase, answer: answer?.bytes.toString() };
  };

  it('asks the registry where its first member shows as in work, as may what waits for the start', async () =>
    expect(await checked(() => undefined)).toMatchObject({ phase: 'startable', answer: '{"canStart":true}' }));

  it('is made again where the registry limits us', async () =>
    expect(await checked(({ bulk }) => bulk.nextChecks.push('rate_limited'))).toMatchObject({
      kind: 'retry',
      phase: 'checking',
    }));

  it('leaves it to the start where it may have begun, or is done', async () => {
    const status = { kind: 'done', phase: 'startable' };
    const begun = await checked(({ bulk, requestIds }) => bulk.begin(requestIds));
    expect(begun).toMatchObject({ ...status, answer: 'processing' });
    const done = await checked(({ registry }) => (registry.status = 'processed'));
    expect(done).toMatchObject({ ...status, answer: 'processed' });
  });
});

describe('the start of a group in a restored database', () => {
  const startIn = async (given: (of: TestHarness) => unknown) => {
    const group = await sentGroup();
    const { context, task, registry, bulk, toGroup } = group;
    await toGroup({ type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA });
    registry.status = 'processing';
    given(group);
    const start = { key: 'start', kind: 'group_start', lane: `${ACCOUNT}/group_start` };
    const { groupId } = task.payload as { groupId: string };
    const was = { was: true, isHolding: () => Promise.resolve(false) };
    const restored = { ...context, restored: was } as TaskContext;
    const payload = { groupId, account: ACCOUNT, attempt: 1 };
    const { kind } = await runTask(restored, { ...task, ...start, payload });
    return { kind, starts: bulk.starts, phase: (await context.groups.stateInLog(groupId)).phase };
  };

  it('is made where what waits for it shows as in work, and could be started', async () =>
    expect(await startIn(() => undefined)).toEqual({ kind: 'done', starts: 1, phase: 'started' }));

  it('is doubted where the registry has begun it before', async () =>
    expect(await startIn(({ bulk, requestIds }) => bulk.begin(requestIds))).toEqual({
      kind: 'done',
      starts: 0,
      phase: 'unconfirmed',
    }));

  it.each(['rate_limited', 'unknown', 'not_sent'] as const)(
    'waits, and is not doubted, where the check before it ends %s',
    async (outcome) =>
      expect(await startIn(({ bulk }) => bulk.nextChecks.push(outcome))).toEqual({
        kind: 'retry',
        starts: 0,
        phase: 'startable',
      }),
  );
});

describe('a group whose start has an unknown outcome', () => {
  const doubted = async () => {
    const group = await sentGroup();
    const { context, task, toGroup } = group;
    await toGroup({ type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA });
    await toGroup({ type: 'BeginStart' });
    await toGroup({ type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'unconfirmed', reason: 'timeout' } });
    const { groupId } = task.payload as { groupId: string };
    const lookAt = (sinceMs: number): Promise<TaskResult> => {
      const attemptEndedAt = new Date(0).toISOString();
      const look = { key: `group_look:${sinceMs}`, kind: 'group_look', lane: `${ACCOUNT}/status` };
      const payload = { groupId, account: ACCOUNT, attempt: 1, attemptEndedAt };
      return runTask(context, { ...task, ...look, payload }, new Date(sinceMs));
    };
    const phase = async () => (await context.groups.stateInLog(groupId)).phase;
    return { ...group, lookAt, phase, graceMs: context.profile.rules.unknownGraceMs };
  };

  it('is checked anew once the registry has twice not known its first member, the last time past the grace', async () => {
    const { registry, lookAt, phase, graceMs } = await doubted();
    registry.fail('documentStatus', 'unknown', 'not_found', 'not_found', 'not_found');
    // What has no answer says nothing, however late.
    expect(await lookAt(graceMs)).toMatchObject({ kind: 'retry' });
    expect(await lookAt(graceMs - 2)).toEqual({ kind: 'done' });
    expect(await lookAt(graceMs - 1)).toEqual({ kind: 'done' });
    expect(await phase()).toBe('unconfirmed');
    expect(await lookAt(graceMs)).toEqual({ kind: 'done' });
    expect(await phase()).toBe('checking');
  });

  it.each(['no', 'refused', 'not_found'] as const)(
    'counts neither as begun nor as not begun by a check that ends %s while it shows as in work, and is looked at ' +
      'less and less often',
    async (answer) => {
      const { registry, bulk, lookAt, phase, graceMs } = await doubted();
      registry.status = 'processing';
      const delays: number[] = [];
      for (const sinceMs of [graceMs, graceMs * 10, graceMs * 1_000]) {
        bulk.nextChecks.push(answer);
        const result = await lookAt(sinceMs);
        delays.push(result.kind === 'retry' && result.countsAsAttempt === false ? result.delayMs : NaN);
      }
      expect(delays).toEqual([graceMs / 10, graceMs, 600_000]);
      expect(await phase()).toBe('unconfirmed');
      // Two that say yes prove that nothing has begun.
      await lookAt(graceMs);
      expect(await phase()).toBe('unconfirmed');
      await lookAt(graceMs);
      expect(await phase()).toBe('checking');
    },
  );

  it('has begun once its first member has ended, whatever a check says until then', async () => {
    const { registry, bulk, requestIds, lookAt, phase, graceMs } = await doubted();
    registry.status = 'processing';
    bulk.begin(requestIds);
    expect(await lookAt(graceMs)).toMatchObject({ kind: 'retry', error: expect.stringContaining('started before') });
    expect(await phase()).toBe('unconfirmed');
    registry.status = 'failed_result_ready';
    expect(await lookAt(graceMs)).toEqual({ kind: 'done' });
    expect(await phase()).toBe('started');
  });
});
