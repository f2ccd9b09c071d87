import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DocumentCommand, DocumentReference, DocumentState, GroupState } from '#domain';
import { migrate } from '#postgres';
import { loadProfile } from '#registry-client';
import { subscriptionLag, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema, type Task } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { VirtualClock } from '#kernel';
import { acceptGroup, eventsOf, groupStateIn, processOn, registerDocument, repositoryOn, runTask, stateIn, storesForSpec } from '../../test/trial.js';
import { sagasBy } from '../sagas.js';
import { DEPENDENTS_PER_TASK } from './dependents.js';
import type { TaskContext } from './context.js';

const RULES = { ...loadProfile('interface-v1', {}).rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const SHA = 'a'.repeat(64);
const PERSON = { kind: 'person', name: 'olga', authenticatedBy: 'api-key' } as const;
const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

let queue: PostgresTaskQueue;
let context: TaskContext;
const end = new AbortController();
let running: Promise<void>[] = [];
beforeAll(async () => {
  await migrate(stores.pool, [tasksSchema, subscriptionsSchema]);
  queue = new PostgresTaskQueue({ pool: stores.pool });
  context = { ...processOn({ ...stores, registry: {} as TaskContext['registry'], clock: new VirtualClock() }), dependents: { pool: stores.pool, queue, endAtOnceDocTypes: [415] } };
  running = sagasBy(RULES).filter(({ name }) => name === 'document').map((saga) => saga.run({ store: stores.store, pool: stores.pool, queue, signal: end.signal }));
});
afterAll(async () => {
  end.abort();
  await Promise.all(running);
  await queue.close();
});

const referTo = (requestId: string): DocumentReference => ({ commandId: `command-${requestId}`, requestId });
const waitFor = async (...predecessors: string[]): Promise<string> => (await registerDocument(stores, randomUUID(), { after: predecessors.map(referTo) })).requestId;
const give = async (requestId: string, ...commands: DocumentCommand[]): Promise<void> => {
  for (const command of commands) await repositoryOn(stores.store).execute(requestId, command, { taskKey: randomUUID(), lease: '1:1', actor: PERSON });
};
const receipt = (result: 'accepted' | 'rejected'): DocumentCommand => ({ type: 'RecordReceipt', receipt: { receiptSha256: SHA, result, acceptedAt: '2026-03-02T10:00:00Z', errorCount: 0 } });
const SENT: DocumentCommand[] = [{ type: 'BeginSend' }, { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'sent', documentId: 'd-1', answerSha256: SHA } }];
const phaseOf = async (requestId: string): Promise<DocumentState['phase']> => (await stateIn(stores.store, requestId)).phase;
const rows = async (key: string): Promise<number> => Number((await stores.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM saga_dependent WHERE key = $1', [key])).rows[0]?.n);
const sagaIsThere = () => until('the saga', async () => (await subscriptionLag(stores.pool, stores.store)).every((one) => one.lag === 0n) && (await subscriptionLag(stores.pool, stores.store)).length > 0);

/** Works off the lane `internal`. `crash`: the process dies right after a task's work, and its task comes again. */
async function workOff(crash: (task: Task) => boolean = () => false): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    await sagaIsThere();
    const tasks = await queue.claim('internal', { limit: 20, leaseMs: 60_000, holder: 'spec' });
    if (tasks.length === 0) return done;
    for (const task of tasks) {
      done.push(task.key);
      const result = await runTask(context, task);
      await queue.settle(task, crash(task) ? { kind: 'retry', delayMs: 0 } : result);
    }
  }
}

describe('those who wait', () => {
  it.each([false, true])('are told page by page, none left out and none told twice; each page repeated after a crash: %s', async (crashes) => {
    const { requestId } = await registerDocument(stores);
    const dependents = await Promise.all(Array.from({ length: 2 * DEPENDENTS_PER_TASK + 7 }, () => waitFor(requestId)));
    await workOff();
    expect(await rows(requestId)).toBe(dependents.length);
    await give(requestId, ...SENT, receipt('accepted'));
    const crashed = new Set<string>();
    const done = await workOff((task) => crashes && task.kind === 'release_dependents' && !crashed.has(task.key) && crashed.add(task.key).size > 0);
    expect(done.filter((key) => key.startsWith(`release_dependents:${requestId}`))).toHaveLength(crashes ? 2 * 3 : 3);
    const types = await Promise.all(dependents.map(async (one) => (await eventsOf(stores.store, one)).map((event) => event.type)));
    expect(types).toEqual(dependents.map(() => ['DocumentRegistered', 'DocumentWaiting', 'PredecessorConcluded', 'DocumentReleased']));
    // Nobody waits any more, and what ended for good is forgotten.
    expect(await rows(requestId)).toBe(0);
    expect((await stores.pool.query('SELECT FROM saga_state WHERE key = $1', [requestId])).rowCount).toBe(0);
  });

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
    const third = await registerDocument(stores, randomUUID(), { resendOf: { requestId: again.requestId, commandId: again.commandId } });
    for (const [of, by] of [[requestId, again], [again.requestId, third]] as const) await give(of, { type: 'NoteResent', by: { requestId: by.requestId, commandId: by.commandId } });
    await workOff();
    expect(await phaseOf(held)).toBe('waiting');
    await give(third.requestId, ...SENT, receipt('accepted'));
    await workOff();
    expect(await phaseOf(held)).toBe('ready');
    expect((await eventsOf(stores.store, held)).at(-2)).toMatchObject({ type: 'PredecessorConcluded', data: { requestId, outcome: 'accepted', by: { requestId: third.requestId } } });
  });

  it('are ended at once where their type is to be', async () => {
    const { requestId } = await registerDocument(stores);
    const strict = (await registerDocument(stores, randomUUID(), { docType: 415, after: [referTo(requestId)] })).requestId;
    await give(requestId, ...SENT, receipt('rejected'));
    await workOff();
    expect(await stateIn(stores.store, strict)).toMatchObject({ phase: 'concluded', outcome: 'failed', cause: 'predecessor_failed' });
  });

  it('groups are held as documents are, and a person releases or ends them, with a reason that is kept', async () => {
    const { requestId } = await registerDocument(stores);
    const groups = await Promise.all([1, 2].map(async () => {
      const { group } = await acceptGroup(stores, 2);
      for (const registration of group.members) await give(registration.requestId, { type: 'Register', registration });
      await context.groups.execute(group.groupId, { type: 'Register', registration: { ...group, after: [referTo(requestId)] } }, { taskKey: randomUUID(), lease: '1:1', actor: PERSON });
      return group.groupId;
    }));
    await give(requestId, ...SENT, receipt('rejected'));
    await workOff();
    const phases = (): Promise<GroupState['phase'][]> => Promise.all(groups.map(async (one) => (await groupStateIn(stores.store, one)).phase));
    expect(await phases()).toEqual(['waiting', 'waiting']);
    const decide = (id: string, decision: 'release' | 'end') => ({ key: `decide_hold:${id}:${decision}`, kind: 'decide_hold', lane: 'internal', dueAt: new Date(0), payload: { requestId: id, isGroup: true, decision, predecessors: [requestId], actor: PERSON as never, reason: 'the goods have arrived' } });
    await queue.schedule(stores.pool, [decide(groups[0] as string, 'release'), decide(groups[1] as string, 'end')]);
    await workOff();
    expect(await phases()).toEqual(['sending', 'concluded']);
    const [waived] = (await stores.store.readStream(`group-${groups[0]}`)).filter((event) => event.type === 'GroupHoldWaived');
    expect(waived?.metadata).toMatchObject({ actor: PERSON, reason: 'the goods have arrived' });
    expect(await rows(requestId)).toBe(0);
  });

  it('in a state that the version before wrote are not lost', async () => {
    const { requestId } = await registerDocument(stores);
    const kept = await waitFor(requestId);
    await sagaIsThere();
    await stores.pool.query('DELETE FROM saga_dependent WHERE key = $1', [requestId]);
    await stores.pool.query(`UPDATE saga_state SET state = (state::jsonb || jsonb_build_object('dependents', jsonb_build_array(jsonb_build_object('requestId', $2::text, 'account', 'main'))))::text WHERE key = $1`, [requestId, kept]);
    await give(requestId, ...SENT, receipt('accepted'));
    await workOff();
    expect(await phaseOf(kept)).toBe('ready');
  });
});
