import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inboundStream, type DocumentEvent, type TaskKind } from '#domain';
import { sha256Hex, VirtualClock } from '#kernel';
import { loadProfile } from '#registry-client';
import { testDatabase } from '../../../../test/support/database.js';
import { badOutcome, FakeRegistry, receiptXml, type BadOutcome, type SendFate } from '../../test/fake-registry.js';
import {
  ACCOUNT,
  eventsOf,
  openStores,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  stateIn,
  storesForSpec,
  workOff,
  newestTask,
} from '../../test/test-harness.js';
import type { TaskOf } from '../lane.js';
import type { TaskContext } from './context.js';
import { readStatuses } from './status.js';
import { REFUSED_TRIES } from './refused-read.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

interface TestHarness {
  context: TaskContext;
  registry: FakeRegistry;
  clock: VirtualClock;
  requestId: string;
}

async function harness(fates: SendFate[] = []): Promise<TestHarness> {
  const registry = new FakeRegistry(fates);
  const clock = new VirtualClock(new Date());
  const { requestId } = await registerDocument(stores);
  return { context: processOn({ ...stores, registry, clock }), registry, clock, requestId };
}

/** The task of this kind that the saga has planned last. */
const planned = <Kind extends TaskKind>(requestId: string, kind: Kind) => newestTask(stores.store, requestId, kind);

/** Runs the newest planned task of each kind, one after another. */
async function ran(of: TestHarness, ...kinds: TaskKind[]): Promise<void> {
  for (const kind of kinds) await runTask(of.context, await planned(of.requestId, kind));
}

async function newestEvent<Type extends DocumentEvent['type']>(
  requestId: string,
  type: Type,
): Promise<Extract<DocumentEvent, { type: Type }>> {
  const found = (await eventsOf(stores.store, requestId)).filter((event) => event.type === type).at(-1);
  if (found === undefined) throw new Error(`no ${type} of ${requestId}`);
  return found as unknown as Extract<DocumentEvent, { type: Type }>;
}

const typesOf = async (requestId: string): Promise<string[]> =>
  (await eventsOf(stores.store, requestId)).map((event) => event.type);
const failing: BadOutcome[] = ['refused', 'not_found', 'rate_limited', 'not_sent', 'unknown'];

describe('a send', () => {
  const cases: [SendFate, string[], string, string | undefined][] = [
    ['ok', ['DocumentSent'], 'sent', 'status'],
    ['refused', ['SendRefused', 'DocumentConcluded'], 'concluded', undefined],
    ['not_found', ['SendRefused', 'DocumentConcluded'], 'concluded', undefined],
    ['rate_limited', ['SendNotDelivered'], 'ready', 'send'],
    ['not_sent', ['SendNotDelivered'], 'ready', 'send'],
    ['unknown_lost', ['SendUnconfirmed'], 'unconfirmed', 'look_up'],
  ];

  it.each(cases)('that ends %s', async (fate, events, phase, next) => {
    const one = await harness([fate]);
    await ran(one, 'send');
    expect(await typesOf(one.requestId)).toEqual(['DocumentRegistered', 'SendAttempted', ...events]);
    expect((await stateIn(stores.store, one.requestId)).phase).toBe(phase);
    const tasks = (await plannedTasks(stores.store, one.requestId)).map((task) => task.key).slice(1);
    expect(tasks).toEqual(
      next === undefined ? [] : [expect.stringMatching(`^${next}:${one.requestId}:${next === 'send' ? 2 : 1}`)],
    );
  });

  it('that a server before the registry may have refused is looked up', async () => {
    const one = await harness();
    one.registry.sendDocument = () => Promise.resolve({ ...badOutcome('refused'), mayBeOthers: true } as never);
    await ran(one, 'send', 'look_up');
    expect((await typesOf(one.requestId)).slice(2)).toEqual(['SendUnconfirmed', 'LookUpMissed']);
  });

  it('is not begun while nobody can sign in, and leaves no trace in the log', async () => {
    const one = await harness();
    one.registry.notReady = 'sign-in is paused';
    const { sign } = one.registry;
    one.registry.sign = () => Promise.reject(new Error('signed in vain'));
    expect(await runTask(one.context, await planned(one.requestId, 'send'))).toMatchObject({
      kind: 'retry',
      error: 'sign-in is paused',
      countsAsAttempt: false,
    });
    expect(await typesOf(one.requestId)).toEqual(['DocumentRegistered']);
    one.registry.notReady = undefined;
    one.registry.sign = sign;
    await ran(one, 'send');
    expect((await typesOf(one.requestId)).at(-1)).toBe('DocumentSent');
  });

  it('keeps signature, certificate and answer as evidence before an event names them', async () => {
    const one = await harness(['refused']);
    await ran(one, 'send');
    const attempted = await newestEvent(one.requestId, 'SendAttempted');
    const refused = await newestEvent(one.requestId, 'SendRefused');
    expect((await stores.evidence.get(attempted.data.signatureSha256 ?? ''))?.bytes.toString()).toBe('signature');
    expect((await stores.evidence.get(attempted.data.certificateSha256 ?? ''))?.bytes.toString()).toBe('certificate');
    expect((await stores.evidence.get(refused.data.answerSha256))?.bytes.toString()).toBe('{"error_code":"no"}');
  });

  it('waits longer from one refusal to the next, to a minute', async () => {
    const one = await harness(Array.from({ length: 10 }, () => 'not_sent' as const));
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      await ran(one, 'send');
      waits.push((await newestEvent(one.requestId, 'SendNotDelivered')).data.retryAfterMs);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('that comes again after its end does nothing', async () => {
    const one = await harness();
    const task = await planned(one.requestId, 'send');
    await runTask(one.context, task);
    expect(await runTask(one.context, task)).toEqual({ kind: 'done' });
    expect(one.registry.calls).toEqual(['sendDocument']);
  });

  it('is given up in words when the document’s bytes are gone', async () => {
    const one = await harness();
    const { registration } = (await stateIn(stores.store, one.requestId)) as {
      registration: { documentSha256: string };
    };
    await stores.pool.query('DELETE FROM evidence WHERE sha256 = $1', [
      Buffer.from(registration.documentSha256, 'hex'),
    ]);
    const fresh = processOn({ ...(await openStores(stores.pool)), registry: one.registry, clock: one.clock });
    expect(await runTask(fresh, await planned(one.requestId, 'send'))).toEqual({
      kind: 'failed',
      error: expect.stringContaining(registration.documentSha256),
    });
    expect(one.registry.calls).toEqual([]);
  });
});

describe('a look-up', () => {
  it.each(failing.filter((kind) => kind !== 'not_found'))(
    'that ends %s proves nothing and comes again',
    async (kind) => {
      const one = await harness(['unknown_lost']);
      await ran(one, 'send');
      one.registry.fail('findByRequestId', kind);
      const result = await runTask(one.context, await planned(one.requestId, 'look_up'));
      expect(result).toMatchObject({ kind: 'retry', error: expect.stringContaining(kind) });
      expect((await typesOf(one.requestId)).at(-1)).toBe('SendUnconfirmed');
    },
  );

  it('that finds the document ends the doubt, and says how it was known', async () => {
    const one = await harness(['unknown_taken']);
    await ran(one, 'send', 'look_up');
    expect(await newestEvent(one.requestId, 'DocumentSent')).toMatchObject({
      data: { attempt: 1, foundByLookUp: true, documentId: one.registry.taken.get(one.requestId)?.[0] },
    });
  });

  it('in vain counts; the second proves absence only after the grace', async () => {
    const one = await harness(['unknown_lost', 'ok']);
    await ran(one, 'send');
    for (const [afterMs, event] of [
      [5_000, 'LookUpMissed'],
      [15_000, 'LookUpMissed'],
      [15_000, 'SendAbsenceProven'],
    ] as const) {
      one.clock.advance(afterMs);
      await ran(one, 'look_up');
      expect((await typesOf(one.requestId)).at(-1)).toBe(event);
    }
    expect((await plannedTasks(stores.store, one.requestId)).at(-1)).toMatchObject({ key: `send:${one.requestId}:2` });
  });

  it('that finds two is an alarm; the first is followed as ours, the other like one of others', async () => {
    const one = await harness(['unknown_taken']);
    one.registry.take(one.requestId);
    await ran(one, 'send', 'look_up');
    const documentIds = one.registry.taken.get(one.requestId);
    expect(documentIds).toHaveLength(2);
    expect(await newestEvent(one.requestId, 'DuplicateDetected')).toMatchObject({ data: { documentIds } });
    expect(await stateIn(stores.store, one.requestId)).toMatchObject({ phase: 'sent', documentId: documentIds?.[0] });
    const seen = documentIds?.map(async (id) => (await stores.store.readStream(inboundStream(id))).map((e) => e.type));
    expect(await Promise.all(seen ?? [])).toEqual([[], ['InboundSeen']]);
  });
});

describe('a status read', () => {
  it.each(failing)('that ends %s is made again', async (kind) => {
    const one = await harness();
    await ran(one, 'send');
    one.registry.fail('documentStatus', kind);
    expect(await runTask(one.context, await planned(one.requestId, 'status'))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining(kind),
    });
    expect((await typesOf(one.requestId)).at(-1)).toBe('DocumentSent');
  });

  it.each(['uploading', 'processing'] as const)(
    'that shows %s is noted once and asked again, which is no failed attempt',
    async (status) => {
      const one = await harness();
      await ran(one, 'send');
      one.registry.status = status;
      const task = await planned(one.requestId, 'status');
      for (let read = 0; read < 2; read += 1)
        expect(await runTask(one.context, task)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
      expect((await typesOf(one.requestId)).slice(2)).toEqual(['DocumentSent', 'StatusObserved']);
    },
  );

  it.each([
    ['processed', 'sent'],
    ['failed_result_ready', 'sent'],
    ['failed', 'concluded'],
  ] as const)('that shows %s is the last', async (status, phase) => {
    const one = await harness();
    await ran(one, 'send');
    one.registry.status = status;
    expect(await runTask(one.context, await planned(one.requestId, 'status'))).toEqual({ kind: 'done' });
    expect(await stateIn(stores.store, one.requestId)).toMatchObject({ phase, status });
  });

  /** Three documents of one registry that fall due together. */
  async function three(): Promise<{
    context: TaskContext;
    registry: FakeRegistry;
    tasks: TaskOf<'status'>[];
    requestIds: string[];
  }> {
    const registry = new FakeRegistry();
    const context = processOn({ ...stores, registry, clock: new VirtualClock(new Date()) });
    const requestIds = await Promise.all([1, 2, 3].map(async () => (await registerDocument(stores)).requestId));
    for (const requestId of requestIds) await runTask(context, await planned(requestId, 'send'));
    registry.calls.length = 0;
    return {
      context,
      registry,
      requestIds,
      tasks: await Promise.all(requestIds.map((requestId) => planned(requestId, 'status'))),
    };
  }

  it('of many documents is one page; who is not on it is asked again', async () => {
    const { context, registry, tasks, requestIds } = await three();
    registry.taken.delete(requestIds[1] as string);
    registry.fail('documentStatus', 'not_found');
    const results = await readStatuses(context, tasks);
    expect(registry.calls).toEqual(['listOutgoing', 'documentStatus']);
    expect(results).toEqual([{ kind: 'done' }, expect.objectContaining({ kind: 'retry' }), { kind: 'done' }]);
    const states = await Promise.all(requestIds.map((requestId) => stateIn(stores.store, requestId)));
    expect(states.map((state) => 'status' in state && state.status)).toEqual(['processed', undefined, 'processed']);
  });

  it('of many documents that the list never shows comes to its end, one document a time', async () => {
    const { context, registry, tasks, requestIds } = await three();
    registry.taken.clear();
    let pending = tasks;
    for (let reads = 0; reads < 3; reads += 1) {
      const results = await readStatuses(context, pending);
      pending = pending.filter((_, at) => results[at]?.kind === 'retry');
      expect(pending).toHaveLength(2 - reads);
    }
    const states = await Promise.all(requestIds.map((requestId) => stateIn(stores.store, requestId)));
    expect(states.map((state) => 'status' in state && state.status)).toEqual(['processed', 'processed', 'processed']);
  });

  it.each(failing)('of many documents whose list ends %s is read one by one', async (kind) => {
    const { context, registry, tasks } = await three();
    registry.fail('listOutgoing', kind);
    registry.fail('documentStatus', kind);
    const again = expect.objectContaining({ kind: 'retry', error: expect.stringContaining(kind) });
    expect(await readStatuses(context, tasks)).toEqual([again, { kind: 'done' }, { kind: 'done' }]);
    expect(registry.calls).toEqual(['listOutgoing', ...Array(3).fill('documentStatus')]);
  });

  it('of more documents than a poll reads one by one comes to all of them, while the list is away', async () => {
    const registry = new FakeRegistry();
    const clock = new VirtualClock(new Date());
    const context = processOn({ ...stores, registry, clock });
    const requestIds = await Promise.all(
      Array.from({ length: 12 }, async () => (await registerDocument(stores)).requestId),
    );
    for (const requestId of requestIds) await runTask(context, await planned(requestId, 'send'));
    let pending = await Promise.all(requestIds.map((requestId) => planned(requestId, 'status')));
    // The first ten stay in work, and take the turn of the other two at no poll but the first.
    for (const { payload } of pending.slice(0, 10)) registry.statusOf.set(payload.documentId as string, 'processing');
    const left: number[] = [];
    for (let polls = 0; polls < 4; polls += 1) {
      registry.calls.length = 0;
      registry.fail('listOutgoing', 'unknown');
      const results = await readStatuses(context, pending);
      expect(registry.calls.length).toBeLessThanOrEqual(11);
      pending = pending.filter((_, at) => results[at]?.kind === 'retry');
      left.push(pending.length);
      clock.advance(context.profile.rules.statusPollMs);
    }
    expect(left.at(-1)).toBe(10);
  });
});

describe('the registry’s copy of a document that was found by a look-up', () => {
  it('is kept as evidence and compared with what was sent', async () => {
    const one = await harness(['unknown_taken']);
    await ran(one, 'send', 'look_up', 'status');
    await ran(one, 'download');
    const { data } = await newestEvent(one.requestId, 'DocumentDownloaded');
    expect(data.sameBytes).toBe(true);
    expect(await stores.evidence.get(data.documentSha256)).toBeDefined();
  });

  it('is said to be another when it is', async () => {
    const one = await harness(['unknown_taken']);
    await ran(one, 'send', 'look_up', 'status');
    for (const documentId of one.registry.copies.keys()) one.registry.copies.set(documentId, Buffer.from('<other/>'));
    await ran(one, 'download');
    expect(await newestEvent(one.requestId, 'DocumentDownloaded')).toMatchObject({
      data: { sameBytes: false, documentSha256: sha256Hex('<other/>') },
    });
  });

  it.each(failing)('is asked for again when the call ends %s', async (kind) => {
    const one = await harness(['unknown_taken']);
    await ran(one, 'send', 'look_up', 'status');
    one.registry.fail('downloadDocument', kind);
    expect(await runTask(one.context, await planned(one.requestId, 'download'))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining(kind),
    });
  });
});

describe('a receipt', () => {
  it.each(failing)('whose call ends %s is asked for again', async (kind) => {
    const one = await harness();
    await ran(one, 'send', 'status');
    one.registry.fail('receipt', kind);
    expect(await runTask(one.context, await planned(one.requestId, 'receipt'))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining(kind),
    });
    expect((await typesOf(one.requestId)).at(-1)).toBe('StatusObserved');
  });

  it('that says Rejected only because it is still being prepared is asked for again', async () => {
    const one = await harness();
    await ran(one, 'send', 'status');
    const xml = Buffer.from(
      receiptXml(one.requestId, 'Rejected')
        .toString()
        .replace(
          '</operation_result>',
          '</operation_result><operation_comment>Ошибка на этапе подготовки ответа</operation_comment>',
        ),
    );
    one.registry.receipt = () =>
      Promise.resolve({
        kind: 'ok',
        value: { xml },
        raw: { httpStatus: 200, contentType: '', body: xml, receivedMonotonicMs: 0, receivedAt: new Date() },
      });
    expect(await runTask(one.context, await planned(one.requestId, 'receipt'))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining('being prepared'),
    });
    expect((await typesOf(one.requestId)).at(-1)).toBe('StatusObserved');
  });

  it.each([
    ['Accepted', 'accepted'],
    ['Partial', 'partial'],
    ['Rejected', 'rejected'],
  ] as const)('that says %s concludes the document', async (said, outcome) => {
    const one = await harness();
    await ran(one, 'send', 'status');
    const xml = receiptXml(one.requestId, said);
    one.registry.receipt = () =>
      Promise.resolve({
        kind: 'ok',
        value: { xml },
        raw: { httpStatus: 200, contentType: '', body: xml, receivedMonotonicMs: 0, receivedAt: new Date() },
      });
    await ran(one, 'receipt');
    expect(await newestEvent(one.requestId, 'DocumentConcluded')).toMatchObject({
      data: { outcome, receiptSha256: sha256Hex(xml), acceptedAt: '2026-03-02T07:15:07Z' },
    });
    expect((await stores.evidence.get(sha256Hex(xml)))?.bytes).toEqual(xml);
  });

  it.each([
    ['of another document', (): Buffer => receiptXml('0d9e1f22-3344-5566-8777-8899aabbccdd')],
    [
      'that is not a receipt',
      (): Buffer => Buffer.from('<documents version="1.38"><accept action_id="701"/></documents>'),
    ],
    ['with an unknown result', (requestId: string): Buffer => receiptXml(requestId, 'Perhaps')],
  ])('%s is asked for again; if it stays so, it is kept, named and left to people', async (_what, xmlFor) => {
    const one = await harness();
    await ran(one, 'send', 'status');
    const xml = xmlFor(one.requestId);
    one.registry.receipt = () =>
      Promise.resolve({
        kind: 'ok',
        value: { xml },
        raw: { httpStatus: 200, contentType: '', body: xml, receivedMonotonicMs: 0, receivedAt: new Date() },
      });
    const task = await planned(one.requestId, 'receipt');
    const error = expect.stringContaining(sha256Hex(xml));
    for (const [attempts, delayMs] of [5_000, 10_000, 20_000, 40_000, 80_000].entries())
      expect(await runTask(one.context, { ...task, attempts: attempts + 1 })).toEqual({
        ...{ kind: 'retry', delayMs, error, countsAsAttempt: true },
      });
    expect(await stores.evidence.get(sha256Hex(xml))).toBeUndefined();
    expect(await runTask(one.context, { ...task, attempts: REFUSED_TRIES - 1 })).toMatchObject({ kind: 'retry' });
    expect(await runTask(one.context, { ...task, attempts: REFUSED_TRIES })).toEqual({ kind: 'failed', error });
    expect((await stores.evidence.get(sha256Hex(xml)))?.bytes).toEqual(xml);
    expect((await stateIn(stores.store, one.requestId)).phase).toBe('sent');
  });
});

describe('a receipt that states its moment without a zone', () => {
  it('means the zone of the profile', async () => {
    const registry = new FakeRegistry();
    const { requestId } = await registerDocument(stores);
    const context = processOn({
      ...stores,
      registry,
      clock: new VirtualClock(new Date()),
      profile: loadProfile('interface-v1', { zone: '+05:00' }),
    });
    const one = { context, registry, clock: context.clock as VirtualClock, requestId };
    await ran(one, 'send', 'status');
    const zoneless = Buffer.from(receiptXml(requestId).toString('utf8').replace('+03:00"', '"'));
    registry.receipt = () =>
      Promise.resolve({
        kind: 'ok',
        value: { xml: zoneless },
        raw: {
          httpStatus: 200,
          contentType: '',
          body: Buffer.alloc(0),
          receivedMonotonicMs: 0,
          receivedAt: new Date(0),
        },
      });
    await ran(one, 'receipt');
    expect(await newestEvent(requestId, 'ReceiptStored')).toMatchObject({
      data: { acceptedAt: '2026-03-02T05:15:07Z' },
    });
  });
});

describe('a document with every kind of trouble on its way', () => {
  it('concludes, and the registry has it once', async () => {
    const one = await harness(['not_sent', 'rate_limited', 'unknown_lost', 'unknown_late']);
    one.registry.fail('findByRequestId', 'unknown', 'rate_limited', 'not_sent');
    one.registry.fail('documentStatus', ...failing);
    one.registry.fail('receipt', ...failing);
    const failed = await workOff(
      {
        context: () => one.context,
        thrown: (error) => expect(error).toBeUndefined(),
        clock: one.clock,
        store: stores.store,
      },
      one.requestId,
    );
    expect(failed).toEqual([]);
    expect(await stateIn(stores.store, one.requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    expect(one.registry.taken.get(one.requestId)).toHaveLength(1);
    expect(one.registry.calls.filter((call) => call === 'sendDocument')).toHaveLength(4);
  });
});

describe('a task that is not for this version', () => {
  it('is refused in words, not dropped', async () => {
    const one = await harness();
    const task = {
      ...(await planned(one.requestId, 'send')),
      kind: 'note_predecessor',
      lane: 'internal',
      payload: { requestId: one.requestId, account: ACCOUNT },
    };
    expect(await runTask(one.context, task)).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('predecessor'),
    });
  });
});
