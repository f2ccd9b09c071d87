import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type {
  DocumentCommand,
  DocumentReference,
  DocumentState,
  GroupCommand,
  GroupMembership,
  GroupRegistration,
  GroupState,
  Registration,
} from '#domain';
import { migrate } from '#postgres';
import { loadProfile } from '#registry-client';
import { subscriptionLag, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema, type Task } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { VirtualClock } from '#kernel';
import {
  acceptGroup,
  asTask,
  eventsOf,
  groupStateIn,
  processOn,
  registerDocument,
  repositoryOn,
  runTask,
  stateIn,
  storesForSpec,
} from '../../test/test-harness.js';
import { sagasBy } from '../sagas.js';
import { DEPENDENTS_PER_TASK, TURNING_TRIES } from './dependents.js';
import type { TaskContext } from './context.js';

const RULES = { ...loadProfile('interface-v1', {}).rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const SHA = 'a'.repeat(64);
const PERSON = { kind: 'person', name: 'olga', authenticatedBy: 'api-key' } as const;
const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const holdDecision = (id: string, decision: 'release' | 'end', predecessor: string) => ({
  key: `decide_hold:${id}:${decision}`,
  kind: 'decide_hold',
  lane: 'internal',
  dueAt: new Date(0),
  payload: {
    requestId: id,
    isGroup: true,
    decision,
    predecessors: [predecessor],
    actor: PERSON as never,
    reason: 'the goods have arrived',
  },
});

let queue: PostgresTaskQueue;
let context: TaskContext;
const end = new AbortController();
let running: Promise<void>[] = [];
beforeAll(async () => {
  await migrate(stores.pool, [tasksSchema, subscriptionsSchema]);
  queue = new PostgresTaskQueue({ pool: stores.pool });
  context = {
    ...processOn({ ...stores, registry: {} as TaskContext['registry'], clock: new VirtualClock() }),
    dependents: { pool: stores.pool, queue, endAtOnceDocTypes: [415] },
  };
  running = sagasBy(RULES)
    .filter(({ name }) => name === 'document')
    .map((saga) => saga.run({ store: stores.store, pool: stores.pool, queue, signal: end.signal }));
});
afterAll(async () => {
  end.abort();
  await Promise.all(running);
  await queue.close();
});

const referTo = (requestId: string): DocumentReference => ({ commandId: `command-${requestId}`, requestId });
const waitFor = async (...predecessors: string[]): Promise<string> =>
  (await registerDocument(stores, randomUUID(), { after: predecessors.map(referTo) })).requestId;
const give = async (requestId: string, ...commands: DocumentCommand[]): Promise<void> => {
  for (const command of commands)
    await repositoryOn(stores.store).execute(requestId, command, {
      taskKey: randomUUID(),
      lease: '1:1',
      actor: PERSON,
    });
};
const receipt = (result: 'accepted' | 'rejected'): DocumentCommand => ({
  type: 'RecordReceipt',
  receipt: { receiptSha256: SHA, result, acceptedAt: '2026-03-02T10:00:00Z', errorCount: 0 },
});
const SENT: DocumentCommand[] = [
  { type: 'BeginSend' },
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'sent', documentId: 'd-1', answerSha256: SHA } },
];
const TURNED: DocumentCommand[] = (['failed', 'processed'] as const).map((status) => ({
  type: 'ObserveStatus',
  status,
  answerSha256: SHA,
}));
const phaseOf = async (requestId: string): Promise<DocumentState['phase']> =>
  (await stateIn(stores.store, requestId)).phase;
const rows = async (key: string): Promise<number> =>
  Number(
    (await stores.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM saga_dependent WHERE key = $1', [key])).rows[0]
      ?.n,
  );
const sagaIsThere = () =>
  until(
    'the saga',
    async () =>
      (await subscriptionLag(stores.pool, stores.store)).every((one) => one.lag === 0n) &&
      (await subscriptionLag(stores.pool, stores.store)).length > 0,
  );

/** Works off the lane `internal`. `crash`: the process dies right after a task's work, and its task comes again. */
async function workOff(crash: (task: Task) => boolean = () => false): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    await sagaIsThere();
    const claim = { limit: 20, leaseMs: 60_000, holder: 'spec' };
    const tasks = await queue.claim('internal', claim);
    tasks.push(...(await queue.claim('main/status', { ...claim, kinds: ['conclude_members'] })));
    if (tasks.length === 0) return done;
    for (const task of tasks) {
      done.push(task.key);
      const result = await runTask(context, task);
      await queue.settle(task, crash(task) ? { kind: 'retry', delayMs: 0 } : result);
    }
  }
}

const byHand = () => ({ taskKey: randomUUID(), lease: '1:1', actor: PERSON });
const toGroup = async ({ groupId }: GroupRegistration, ...commands: GroupCommand[]): Promise<void> => {
  for (const command of commands) await context.groups.execute(groupId, command, byHand());
};

/** The registry takes the members, and begins the group. */
async function startGroup(group: GroupRegistration): Promise<void> {
  for (const { requestId } of group.members) {
    await give(requestId, ...SENT);
    await toGroup(group, { type: 'NoteMemberSent', requestId, documentId: 'd-1' });
  }
  await toGroup(
    group,
    { type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA },
    { type: 'BeginStart' },
    { type: 'RecordStartAnswer', attempt: 1, answer: { kind: 'started', answerSha256: SHA } },
  );
}

/** Receipts of the first members come, and the group hears of them. */
async function endMembers({ members }: GroupRegistration, results: ('accepted' | 'rejected')[]): Promise<void> {
  for (const [i, result] of results.entries()) await give((members[i] as Registration).requestId, receipt(result));
  await workOff();
}

/** The members after the one that stopped the group are ended. */
async function settleBehind({ groupId }: GroupRegistration, behind: Registration[]): Promise<void> {
  for (const { requestId } of behind) await give(requestId, { type: 'ConcludeNotProcessed', because: { groupId } });
  await workOff();
}

/** A resumption of these members, as apps/gateway registers it, and started. */
async function resume(halted: GroupRegistration, left: Registration[]): Promise<GroupRegistration> {
  const { group, command } = await acceptGroup(stores, left.length);
  const members = group.members.map((one, i) => ({
    ...one,
    group: { ...(one.group as GroupMembership), kind: 'resumption' as const },
    supersedes: referTo((left[i] as Registration).requestId),
  }));
  const resumption: GroupRegistration = {
    ...group,
    kind: 'resumption',
    members,
    resumes: { groupId: halted.groupId, commandId: halted.commandId },
  };
  await runTask(context, { ...command, payload: { ...command.payload, group: resumption as never } });
  await startGroup(resumption);
  return resumption;
}

/** How often a task comes back before it is done, with its attempts counted as the queue counts them. */
async function triesOf(key: string): Promise<number> {
  const {
    rows: [found],
  } = await stores.pool.query<{ kind: string; payload: string }>(
    `DELETE FROM task WHERE key = $1 RETURNING kind, payload`,
    [key],
  );
  const planned = {
    key,
    kind: found?.kind,
    lane: 'internal',
    dueAt: new Date(0),
    payload: JSON.parse(found?.payload ?? '{}'),
  };
  for (let attempts = 1; attempts <= 100; attempts += 1) {
    const result = await runTask(context, asTask(planned as never, attempts));
    if (result.kind === 'done') return attempts - 1;
    expect(result).toMatchObject({ kind: 'retry', delayMs: 30_000 });
  }
  return Infinity;
}

describe('dependents', () => {
  it.each([false, true])(
    'are told page by page, none left out and none told twice; each page repeated after a crash: %s',
    async (crashes) => {
      const { requestId } = await registerDocument(stores);
      const dependents = await Promise.all(
        Array.from({ length: 2 * DEPENDENTS_PER_TASK + 7 }, () => waitFor(requestId)),
      );
      await workOff();
      expect(await rows(requestId)).toBe(dependents.length);
      await give(requestId, ...SENT, receipt('accepted'));
      const crashed = new Set<string>();
      const done = await workOff(
        (task) =>
          crashes && task.kind === 'release_dependents' && !crashed.has(task.key) && crashed.add(task.key).size > 0,
      );
      expect(done.filter((key) => key.startsWith(`release_dependents:${requestId}`))).toHaveLength(crashes ? 2 * 3 : 3);
      const types = await Promise.all(
        dependents.map(async (one) => (await eventsOf(stores.store, one)).map((event) => event.type)),
      );
      expect(types).toEqual(
        dependents.map(() => ['DocumentRegistered', 'DocumentWaiting', 'PredecessorConcluded', 'DocumentReleased']),
      );
      // Nobody waits any more, and what ended for good is forgotten.
      expect(await rows(requestId)).toBe(0);
      expect((await stores.pool.query('SELECT FROM saga_state WHERE key = $1', [requestId])).rowCount).toBe(0);
    },
  );

  it('hear of an end that came before they did, from the log: the saga has forgotten it', async () => {
    const { requestId } = await registerDocument(stores);
    await give(requestId, ...SENT, receipt('accepted'));
    await workOff();
    expect((await stores.pool.query('SELECT FROM saga_state WHERE key = $1', [requestId])).rowCount).toBe(0);
    const late = await waitFor(requestId);
    await workOff();
    expect(await phaseOf(late)).toBe('ready');
    expect(await rows(requestId)).toBe(0);
  });

  it('are released by the last of several, whichever comes first', async () => {
    const [first, second] = [(await registerDocument(stores)).requestId, randomUUID()];
    const both = await waitFor(first, second);
    await give(first, ...SENT, receipt('accepted'));
    await workOff();
    expect(await stateIn(stores.store, both)).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: second }] });
    await registerDocument(stores, second);
    await give(second, ...SENT, receipt('accepted'));
    await workOff();
    expect(await phaseOf(both)).toBe('ready');
  });

  it('are held by a rejection, and released when the document that was sent in its place is accepted', async () => {
    const { requestId, commandId } = await registerDocument(stores);
    const held = await waitFor(requestId);
    await give(requestId, ...SENT, receipt('rejected'));
    await workOff();
    expect(await stateIn(stores.store, held)).toMatchObject({ phase: 'waiting', holds: [{ outcome: 'rejected' }] });
    const again = await registerDocument(stores, randomUUID(), { resendOf: { requestId, commandId } });
    await give(again.requestId, ...SENT, receipt('rejected'));
    const third = await registerDocument(stores, randomUUID(), {
      resendOf: { requestId: again.requestId, commandId: again.commandId },
    });
    for (const [of, by] of [
      [requestId, again],
      [again.requestId, third],
    ] as const)
      await give(of, { type: 'NoteResent', by: { requestId: by.requestId, commandId: by.commandId } });
    await workOff();
    expect(await phaseOf(held)).toBe('waiting');
    await give(third.requestId, ...SENT, receipt('accepted'));
    await workOff();
    expect(await phaseOf(held)).toBe('ready');
    expect((await eventsOf(stores.store, held)).at(-2)).toMatchObject({
      type: 'PredecessorConcluded',
      data: { requestId, outcome: 'accepted', by: { requestId: third.requestId } },
    });
  });

  it('are released by the last of several sent in its place, though the one before does not name that yet', async () => {
    const { requestId, commandId } = await registerDocument(stores);
    const held = await waitFor(requestId);
    await give(requestId, ...SENT, receipt('rejected'));
    const second = await registerDocument(stores, randomUUID(), { resendOf: { requestId, commandId } });
    await give(requestId, { type: 'NoteResent', by: referTo(second.requestId) });
    await give(second.requestId, ...SENT, receipt('rejected'));
    // The process that runs its command ended before it told the second.
    const third = await registerDocument(stores, randomUUID(), { resendOf: referTo(second.requestId) });
    await give(third.requestId, ...SENT, receipt('accepted'));
    await workOff();
    await give(second.requestId, { type: 'NoteResent', by: referTo(third.requestId) });
    await workOff();
    expect(await phaseOf(held)).toBe('ready');
    const told = (await eventsOf(stores.store, held)).at(-2);
    expect(told).toMatchObject({ data: { requestId, outcome: 'accepted', by: { requestId: third.requestId } } });
  });

  it(
    'of a FAILED that turned are held when its receipt does not come, ended by nothing, and released by the ' +
      'receipt after all',
    async () => {
      const { requestId } = await registerDocument(stores);
      const kept = await waitFor(requestId);
      const strict = (await registerDocument(stores, randomUUID(), { docType: 415, after: [referTo(requestId)] }))
        .requestId;
      await give(requestId, ...SENT, ...TURNED);
      await sagaIsThere();
      const late = await waitFor(requestId);
      await sagaIsThere();
      const waits = await Promise.all(
        [`release_dependents:${requestId}:4`, `note_predecessor:${late}:${requestId}`].map(triesOf),
      );
      expect(waits).toEqual([TURNING_TRIES, TURNING_TRIES]);
      for (const one of [kept, strict, late])
        expect(await stateIn(stores.store, one)).toMatchObject({
          phase: 'waiting',
          waitingFor: [],
          holds: [{ for: { requestId }, outcome: 'failed' }],
        });
      await give(requestId, receipt('accepted'));
      await workOff();
      expect(await Promise.all([kept, strict, late].map(phaseOf))).toEqual(['ready', 'ready', 'ready']);
    },
  );

  it('are ended at once where their type is to be', async () => {
    const { requestId } = await registerDocument(stores);
    const strict = (await registerDocument(stores, randomUUID(), { docType: 415, after: [referTo(requestId)] }))
      .requestId;
    await give(requestId, ...SENT, receipt('rejected'));
    await workOff();
    expect(await stateIn(stores.store, strict)).toMatchObject({
      phase: 'concluded',
      outcome: 'failed',
      cause: 'predecessor_failed',
    });
  });

  it('groups are held as documents are, and a person releases or ends them, with a reason that is kept', async () => {
    const { requestId } = await registerDocument(stores);
    const groups = await Promise.all(
      [1, 2].map(async () => {
        const { group } = await acceptGroup(stores, 2);
        for (const registration of group.members)
          await give(registration.requestId, { type: 'Register', registration });
        await context.groups.execute(
          group.groupId,
          { type: 'Register', registration: { ...group, after: [referTo(requestId)] } },
          { taskKey: randomUUID(), lease: '1:1', actor: PERSON },
        );
        return group.groupId;
      }),
    );
    await give(requestId, ...SENT, receipt('rejected'));
    await workOff();
    const phases = (): Promise<GroupState['phase'][]> =>
      Promise.all(groups.map(async (one) => (await groupStateIn(stores.store, one)).phase));
    expect(await phases()).toEqual(['waiting', 'waiting']);
    const [released, ended] = groups as [string, string];
    await queue.schedule(stores.pool, [
      holdDecision(released, 'release', requestId),
      holdDecision(ended, 'end', requestId),
    ]);
    await workOff();
    expect(await phases()).toEqual(['sending', 'concluded']);
    const [waived] = (await stores.store.readStream(`group-${groups[0]}`)).filter(
      (event) => event.type === 'GroupHoldWaived',
    );
    expect(waived?.metadata).toMatchObject({ actor: PERSON, reason: 'the goods have arrived' });
    expect(await rows(requestId)).toBe(0);
  });

  it(
    'for a group that halted, or for a member of it, are released when its resumption succeeds, and not when that ' +
      'halts as well',
    async () => {
      const { group, command } = await acceptGroup(stores, 3);
      const [, stopped, behind] = group.members as [Registration, Registration, Registration];
      const waiting = [await waitFor(group.groupId), await waitFor(stopped.requestId), await waitFor(behind.requestId)];
      await runTask(context, command);
      await startGroup(group);
      await endMembers(group, ['accepted', 'rejected']);
      await settleBehind(group, [behind]);
      expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({ phase: 'concluded', outcome: 'partial' });
      for (const one of waiting)
        expect(await stateIn(stores.store, one)).toMatchObject({ phase: 'waiting', waitingFor: [], holds: [{}] });
      const first = await resume(group, [stopped, behind]);
      await endMembers(first, ['rejected']);
      await settleBehind(first, first.members.slice(1));
      expect(await Promise.all(waiting.map(phaseOf))).toEqual(['waiting', 'waiting', 'waiting']);
      const second = await resume(first, first.members);
      await endMembers(second, ['accepted', 'accepted']);
      expect(await groupStateIn(stores.store, second.groupId)).toMatchObject({
        phase: 'concluded',
        outcome: 'accepted',
      });
      // Who comes later is told the same.
      waiting.push(await waitFor(group.groupId), await waitFor(stopped.requestId));
      await workOff();
      expect(await Promise.all(waiting.map(phaseOf))).toEqual(waiting.map(() => 'ready'));
      expect((await eventsOf(stores.store, waiting[0] as string)).at(-2)).toMatchObject({
        type: 'PredecessorConcluded',
        data: {
          requestId: group.groupId,
          outcome: 'accepted',
          by: { requestId: second.groupId, commandId: second.commandId },
        },
      });
      for (const key of [group.groupId, stopped.requestId, behind.requestId]) expect(await rows(key)).toBe(0);
    },
  );

  it('for a halted group of which another member ended badly stay held: its resumption stands for the others alone', async () => {
    const { group, command } = await acceptGroup(stores, 3);
    const [, stopped, behind] = group.members as [Registration, Registration, Registration];
    const [ofGroup, ofStopped, ofBehind] = [
      await waitFor(group.groupId),
      await waitFor(stopped.requestId),
      await waitFor(behind.requestId),
    ];
    await runTask(context, command);
    await startGroup(group);
    await endMembers(group, ['accepted', 'rejected']);
    // The registry says of the rest that it failed, and not that it was never looked at.
    await give(behind.requestId, { type: 'ObserveStatus', status: 'failed', answerSha256: SHA });
    await workOff();
    expect(await groupStateIn(stores.store, group.groupId)).toMatchObject({
      phase: 'concluded',
      outcome: 'partial',
      halt: { member: { index: 1 } },
    });
    const resumption = await resume(group, [stopped]);
    await endMembers(resumption, ['accepted']);
    expect(await groupStateIn(stores.store, resumption.groupId)).toMatchObject({
      phase: 'concluded',
      outcome: 'accepted',
    });
    const late = await waitFor(group.groupId);
    await workOff();
    expect(await Promise.all([ofGroup, late, ofStopped, ofBehind].map(phaseOf))).toEqual([
      'waiting',
      'waiting',
      'ready',
      'waiting',
    ]);
  });

  it.each(['release', 'end'] as const)('that came since a person decided on %s are waited for', async (decision) => {
    const never = randomUUID();
    const { requestId: document } = await registerDocument(stores);
    const { group, command } = await acceptGroup(stores, 1);
    await runTask(context, command);
    const decide = async (requestId: string, missing: string[]) => {
      const { payload, ...task } = holdDecision(requestId, decision, '');
      const { isGroup: _, ...about } = { ...payload, predecessors: [], missing };
      expect(await runTask(context, asTask({ ...task, payload: about } as never))).toEqual({ kind: 'done' });
      return (await eventsOf(stores.store, requestId)).slice(2).map(({ type }) => type as string);
    };
    const came = await waitFor(document, group.groupId);
    expect(await decide(came, [document, group.groupId])).toEqual([]);
    const both = await waitFor(document, never);
    const isReleased = decision === 'release';
    expect(await decide(both, [document, never])).toEqual(
      isReleased ? ['HoldWaived'] : ['DocumentRefused', 'DocumentConcluded'],
    );
    if (isReleased)
      expect(await stateIn(stores.store, both)).toMatchObject({ waitingFor: [referTo(document)], holds: [] });
  });

  it('in a state that the version before wrote are not lost', async () => {
    const { requestId } = await registerDocument(stores);
    const kept = await waitFor(requestId);
    await sagaIsThere();
    await stores.pool.query('DELETE FROM saga_dependent WHERE key = $1', [requestId]);
    const flagged = { account: 'main', lookUps: 0, receiptsAsked: 0, compareCopy: false };
    const dependents = [{ requestId: kept, account: 'main' }];
    await stores.pool.query('UPDATE saga_state SET state = $2 WHERE key = $1', [
      requestId,
      JSON.stringify({ ...flagged, dependents }),
    ]);
    await give(requestId, ...SENT, receipt('accepted'));
    await workOff();
    expect(await phaseOf(kept)).toBe('ready');
  });
});
