import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256Hex, VirtualClock } from '#kernel';
import type { CallOutcome } from '#registry-client';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, rawOf } from '../../test/fake-registry.js';
import {
  asTask,
  eventsOf,
  newestTask,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  storesForSpec,
} from '../../test/test-harness.js';
import type { TaskOf } from '../lane.js';
import { Candidate } from '../aggregate/candidate.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskContext } from './context.js';
import { readStatuses } from './status.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
const keptCount = async (): Promise<number> =>
  (await stores.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM evidence')).rows[0]?.n ?? -1;

/** As a real registry: no two answers are the same bytes, for each tells its own time. */
class TellingRegistry extends FakeRegistry {
  private answers = 0;

  override documentStatus = async (account: string, documentId: string) =>
    this.told(await super.documentStatus(account, documentId));
  override listOutgoing = async (account: string, query: { documentIds?: string[] }) =>
    this.told(await super.listOutgoing(account, query));
  override findByRequestId = async (account: string, requestId: string) =>
    this.told(await super.findByRequestId(account, requestId));

  private told<T>(outcome: CallOutcome<T>): CallOutcome<T> {
    this.answers += 1;
    return outcome.kind === 'ok'
      ? { ...outcome, raw: { ...outcome.raw, body: Buffer.from(`${outcome.raw.body.toString()} ${this.answers}`) } }
      : outcome;
  }
}

/** Documents that the registry has taken and still works on, known to be in processing, and their status tasks. */
async function inProcessing(
  count: number,
): Promise<{ context: TaskContext; registry: FakeRegistry; tasks: TaskOf<'status'>[]; requestIds: string[] }> {
  const registry = new TellingRegistry();
  const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
  registry.status = 'processing';
  const requestIds: string[] = [];
  const tasks: TaskOf<'status'>[] = [];
  for (let n = 0; n < count; n += 1) {
    const { requestId } = await registerDocument(stores);
    await runTask(context, await newestTask(stores.store, requestId, 'send'));
    const status = await newestTask(stores.store, requestId, 'status');
    await runTask(context, status);
    requestIds.push(requestId);
    tasks.push(status);
  }
  return { context, registry, tasks, requestIds };
}

describe('evidence', () => {
  it('does not grow by 6,000 polls that say nothing new', async () => {
    const { context, tasks } = await inProcessing(50);
    const before = await keptCount();
    for (let page = 0; page < 100; page += 1) await readStatuses(context, tasks);
    const [one] = tasks as [TaskOf<'status'>];
    for (let poll = 0; poll < 1_000; poll += 1) await readStatuses(context, [one]);
    expect(await keptCount()).toBe(before);
  });

  it('keeps a page that many events name once, before the first of them', async () => {
    const { context, registry, tasks, requestIds } = await inProcessing(20);
    const before = await keptCount();
    const puts: string[] = [];
    const evidence: TaskContext['evidence'] = {
      put: async (bytes, mediaType) => (puts.push(mediaType), stores.evidence.put(bytes, mediaType)),
      get: (sha256) => stores.evidence.get(sha256),
      getMany: (sha256s) => stores.evidence.getMany(sha256s),
      lengths: (sha256s) => stores.evidence.lengths(sha256s),
    };
    registry.status = 'processed';
    await readStatuses({ ...context, evidence }, tasks);
    expect(puts).toHaveLength(1);
    expect(await keptCount()).toBe(before + 1);
    const named = await Promise.all(
      requestIds.map(
        async (requestId) => (await eventsOf(stores.store, requestId)).at(-1)?.data as { answerSha256: string },
      ),
    );
    expect(new Set(named.map((data) => data.answerSha256)).size).toBe(1);
    expect(await stores.evidence.get(named[0]?.answerSha256 as never)).toBeDefined();
  });

  it('is there before the event that names it, and no event comes where it cannot be kept', async () => {
    const { context, registry, tasks, requestIds } = await inProcessing(1);
    registry.status = 'processed';
    const [requestId] = requestIds as [string];
    const newest = async (): Promise<string | undefined> =>
      (await eventsOf(stores.store, requestId)).at(-1)?.data['status' as never];
    const evidence = {
      ...context.evidence,
      put: () => Promise.reject(new Error('the disk is full')),
    } as TaskContext['evidence'];
    await expect(readStatuses({ ...context, evidence }, tasks)).rejects.toThrow('the disk is full');
    expect(await newest()).toBe('processing');
    // A crash between the two leaves bytes that nothing names, and the next run names its own.
    const store = {
      ...stores.store,
      readStream: stores.store.readStream.bind(stores.store),
      append: () => Promise.reject(new Error('killed')),
    } as unknown as typeof stores.store;
    const dying = processOn({ ...stores, store, registry, clock: new VirtualClock(new Date()) });
    const before = await keptCount();
    await expect(readStatuses(dying, tasks)).rejects.toThrow('killed');
    expect([await keptCount(), await newest()]).toEqual([before + 1, 'processing']);
    await readStatuses(context, tasks);
    expect(await newest()).toBe('processed');
  });

  it('is none of the bytes that an event could have named and did not', async () => {
    const { context, requestIds } = await inProcessing(1);
    const [requestId] = requestIds as [string];
    const [named, other] = ['named', 'other'].map(
      (text) => new Candidate(stores.evidence, Buffer.from(`${text} ${requestId}`), 'text/plain'),
    ) as [Candidate, Candidate];
    const cause = {
      taskKey: 't',
      lease: '1:1',
      actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' } as const,
      candidates: [other, named],
    };
    await context.documents.execute(
      requestId,
      { type: 'ObserveStatus', status: 'processed', answerSha256: named.sha256 },
      cause,
    );
    expect(await stores.evidence.get(named.sha256)).toBeDefined();
    expect(await stores.evidence.get(other.sha256)).toBeUndefined();
  });

  it('keeps no look-up that says nothing new', async () => {
    const { context, requestIds } = await inProcessing(1);
    const [requestId] = requestIds as [string];
    const verify = asTask({
      key: `look_up:${requestId}:1:verify`,
      kind: 'look_up',
      lane: 'main/find_by_request_id',
      dueAt: new Date(0),
      payload: { requestId, account: 'main', attempt: 1 },
    });
    const before = await keptCount();
    for (let look = 0; look < 20; look += 1) expect(await runTask(context, verify)).toEqual({ kind: 'done' });
    expect(await keptCount()).toBe(before);
  });

  it('keeps no answer to a send of which somebody else has said already that nobody knows its outcome', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
    const tooMany = `too many calls for ${requestId}`;
    const cause = { taskKey: 'other', lease: '1:2', actor: SYSTEM };
    registry.sendDocument = async () => {
      const answer = { kind: 'unconfirmed', reason: 'its process was thought dead' } as const;
      await context.documents.execute(requestId, { type: 'RecordSendAnswer', attempt: 1, answer }, cause);
      return { kind: 'rate_limited', text: tooMany, raw: rawOf(tooMany, 429) };
    };
    const [task] = await plannedTasks(stores.store, requestId);
    expect(await runTask(context, asTask(task as never))).toEqual({ kind: 'done' });
    expect((await eventsOf(stores.store, requestId)).at(-1)?.type).toBe('SendUnconfirmed');
    expect(await stores.evidence.get(sha256Hex(Buffer.from(tooMany)))).toBeUndefined();
  });
});
