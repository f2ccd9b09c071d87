import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TaskKind } from '#domain';
import { VirtualClock } from '#kernel';
import type { Task, TaskResult } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, receiptXml, type BadOutcome, type CallName } from '../../test/fake-registry.js';
import {
  ACCOUNT,
  asTask,
  processOn,
  registerDocument,
  runTask,
  stateIn,
  storesForSpec,
  newestTask,
} from '../../test/test-harness.js';
import { fetchInboundReceipt } from '../inbound/follow.js';
import type { TaskContext } from './context.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
/** Far more than any read may take. */
const MOST_RUNS = 100;

/**
 * A document that the registry has processed, found by a look-up, so that its receipt and its copy are both asked for.
 */
async function processed(): Promise<{
  context: TaskContext;
  registry: FakeRegistry;
  requestId: string;
  task(kind: TaskKind): Promise<Task<object>>;
}> {
  const registry = new FakeRegistry(['unknown_taken']);
  const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
  const { requestId } = await registerDocument(stores);
  const task = (kind: TaskKind): Promise<Task<object>> => newestTask(stores.store, requestId, kind);
  for (const kind of ['send', 'look_up', 'status'] as const) await runTask(context, await task(kind));
  return { context, registry, requestId, task };
}

/**
 * As the queue does it: a task comes again with its attempts counted, where they count. Returns the waits, and how it
 * ended.
 */
async function runToEnd(
  run: (attempts: number) => Promise<TaskResult>,
): Promise<{ waits: number[]; end: TaskResult | undefined }> {
  const waits: number[] = [];
  let attempts = 1;
  for (let runs = 0; runs < MOST_RUNS; runs += 1) {
    const result = await run(attempts);
    if (result.kind !== 'retry') return { waits, end: result };
    waits.push(result.delayMs);
    if (result.countsAsAttempt !== false) attempts += 1;
  }
  return { waits, end: undefined };
}

const REFUSED: [TaskKind, CallName, BadOutcome][] = [
  ['receipt', 'receipt', 'refused'],
  ['receipt', 'receipt', 'not_found'],
  ['download', 'downloadDocument', 'refused'],
  ['download', 'downloadDocument', 'not_found'],
];

describe('an answer to a read that is of no use', () => {
  it('counts as a refusal: it is asked for less and less often, and put aside in words', async () => {
    const { context, registry, task } = await processed();
    const useless = { kind: 'unknown', reason: 'HTTP 200: the answer is not XML', isUseless: true } as const;
    registry.receipt = () => Promise.resolve(useless);
    const read = await task('receipt');
    const { waits, end } = await runToEnd((attempts) => runTask(context, { ...read, attempts }));
    expect([waits.length, waits[3]]).toEqual([13, 40_000]);
    expect(end).toEqual({ kind: 'failed', error: expect.stringContaining('the answer is not XML') });
  });
});

describe('a read that the registry refuses', () => {
  it.each(REFUSED)(
    '(%s by %s: %s) is made less and less often, and put aside in words after fourteen times',
    async (kind, call, outcome) => {
      const { context, registry, requestId, task } = await processed();
      registry.fail(call, ...Array.from({ length: MOST_RUNS }, () => outcome));
      const read = await task(kind);
      const { waits, end } = await runToEnd((attempts) => runTask(context, { ...read, attempts }));
      expect(waits.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000]);
      expect(waits).toHaveLength(13);
      expect(Math.max(...waits)).toBe(3_600_000);
      expect(end).toEqual({
        kind: 'failed',
        error: expect.stringMatching(new RegExp(`given up after 14 answers: ${kind} of .*: ${outcome}: `)),
      });
      // Nothing is decided by it: the document is as it was, and goes on when somebody has the task tried again.
      expect((await stateIn(stores.store, requestId)).phase).toBe('sent');
      registry.fail(call, ...[]);
      const again = processOn({
        ...stores,
        registry: Object.assign(new FakeRegistry(), { taken: registry.taken, copies: registry.copies }),
        clock: new VirtualClock(new Date()),
      });
      if (kind === 'receipt') expect(await runTask(again, { ...read, attempts: 1 })).toEqual({ kind: 'done' });
      if (kind === 'receipt') expect((await stateIn(stores.store, requestId)).phase).toBe('concluded');
    },
  );

  it.each(['rate_limited', 'not_sent', 'unknown'] as const)(
    'counts only where it was answered: %s is asked again for as long as it takes',
    async (outcome) => {
      const { context, registry, task } = await processed();
      registry.fail('receipt', ...Array.from({ length: MOST_RUNS }, () => outcome));
      const read = await task('receipt');
      const { waits, end } = await runToEnd((attempts) => runTask(context, { ...read, attempts }));
      expect([new Set(waits), end]).toEqual([new Set([5_000]), undefined]);
    },
  );
});

describe('a look-up that the registry refuses', () => {
  const waitAfter = async (outcome: BadOutcome, ageMs: number): Promise<TaskResult> => {
    const registry = new FakeRegistry(['unknown_taken']);
    const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
    const { requestId } = await registerDocument(stores);
    await runTask(context, await newestTask(stores.store, requestId, 'send'));
    const look = await newestTask(stores.store, requestId, 'look_up');
    const { attemptEndedAt } = look.payload as { attemptEndedAt: string };
    registry.fail('findByRequestId', outcome);
    return runTask(context, look, new Date(Date.parse(attemptEndedAt) + ageMs));
  };

  it.each([
    ['refused', 1_000, 2_000],
    ['refused', 600_000, 60_000],
    ['refused', 864_000_000, 600_000],
    ['rate_limited', 864_000_000, 2_000],
    ['unknown', 864_000_000, 2_000],
  ] as const)(
    '(%s, %d ms after the attempt) is made again after %d ms, however often',
    async (outcome, age, delayMs) => {
      expect(await waitAfter(outcome, age)).toMatchObject({
        ...{ kind: 'retry', delayMs, countsAsAttempt: false },
        error: expect.stringMatching(new RegExp(`^look-up of .+: ${outcome}: .+`)),
      });
    },
  );
});

describe('a receipt that says that it is none yet', () => {
  const notYet = (operationId: string): Buffer =>
    Buffer.from(
      receiptXml(operationId, 'Rejected')
        .toString()
        .replace(
          '</operation_result>',
          '</operation_result><operation_comment>Ошибка на этапе подготовки ответа</operation_comment>',
        ),
    );
  const answering = (registry: FakeRegistry, xml: Buffer): void => {
    registry.receipt = () =>
      Promise.resolve({
        kind: 'ok',
        value: { xml },
        raw: { httpStatus: 200, contentType: '', body: xml, receivedMonotonicMs: 0, receivedAt: new Date() },
      });
  };
  const keptCount = async (): Promise<number> =>
    (await stores.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM evidence')).rows[0]?.n ?? -1;

  it('is counted too, put aside in the end, and leaves no evidence', async () => {
    const { context, registry, requestId, task } = await processed();
    answering(registry, notYet(requestId));
    const read = await task('receipt');
    const before = await keptCount();
    const { waits, end } = await runToEnd((attempts) => runTask(context, { ...read, attempts }));
    expect(waits).toHaveLength(13);
    expect(end).toMatchObject({ kind: 'failed', error: expect.stringContaining('being prepared') });
    expect(await keptCount()).toBe(before);
  });

  it('so of a document that others sent in our name, which is given up then', async () => {
    const { context, registry, requestId } = await processed();
    answering(registry, notYet(requestId));
    const task = asTask({
      key: 'inbound_receipt:d',
      kind: 'inbound_receipt',
      lane: 'main/receipt',
      dueAt: new Date(0),
      payload: { documentId: 'd', account: ACCOUNT, direction: 'outgoing' },
    });
    const { waits, end } = await runToEnd((attempts) => fetchInboundReceipt(context, { ...task, attempts }));
    expect([waits.length, end?.kind]).toEqual([13, 'done']);
  });
});

// Last, for the account stays paused in the log.
describe('a read through an account that is paused', () => {
  it('is not counted while its account is paused: that says nothing of the document', async () => {
    const { context, registry, task } = await processed();
    registry.fail('receipt', ...Array.from({ length: MOST_RUNS }, () => 'refused' as const));
    const read = await task('receipt');
    await context.gates.pause(
      ACCOUNT,
      { cause: 'blocked', code: '403', text: 'the user is blocked' },
      { taskKey: 'test' },
    );
    const { waits, end } = await runToEnd((attempts) => runTask(context, { ...read, attempts }));
    expect([new Set(waits), end]).toEqual([new Set([60_000]), undefined]);
  });
});
