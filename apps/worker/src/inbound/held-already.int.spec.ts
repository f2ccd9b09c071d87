import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listsSince } from '#backup';
import type { DocumentCommand } from '#domain';
import { VirtualClock } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import { outcomeWords } from '#registry-client';
import { tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, rawOf } from '../../test/fake-registry.js';
import {
  ACCOUNT,
  asTask,
  eventsOf,
  newestTask,
  openStores,
  plannedTasks,
  processOn,
  registerDocument,
  runTask,
  type Stores,
} from '../../test/test-harness.js';
import { bySystem, type TaskContext } from '../registry-tasks/context.js';
import type { InboundRepository } from './inbound-repository.js';
import { moveCursor, inboundSchema, RegistryDocuments, writeListed } from './registry-documents.js';

let db: TestDatabase;
let stores: Stores;
beforeAll(async () => {
  db = await testDatabase();
  stores = await openStores(db.pool);
  await migrate(db.pool, [tasksSchema, inboundSchema]);
});
afterAll(async () => {
  await stores.close();
  await db.drop();
});

type Told = Record<'Recognise' | 'See', string[]>;

/** A process that knows the lists, and remembers what it told documents of others. */
async function start(registry: FakeRegistry): Promise<{ context: TaskContext; held: RegistryDocuments; told: Told }> {
  const held = new RegistryDocuments(db.pool);
  await held.open();
  const told: Told = { Recognise: [], See: [] };
  const own = processOn({ ...stores, registry, clock: new VirtualClock() });
  const execute = (documentId: string, { type }: { type: keyof Told }) => {
    if (!told[type].includes(documentId)) told[type].push(documentId);
  };
  const inbound = { execute } as unknown as InboundRepository;
  return { context: { ...own, held, inbound }, held, told };
}

const listed = (documentId: string, requestId: string) => ({
  documentId,
  requestId,
  direction: 'outgoing' as const,
  account: ACCOUNT,
  docType: 701,
  status: 'processed' as const,
  receivedAt: undefined,
  processedAt: undefined,
});
const typesOf = async (requestId: string): Promise<string[]> =>
  (await eventsOf(stores.store, requestId)).map((event) => event.type);
const isRead = async (loadedAt: Date): Promise<boolean | undefined> =>
  (await listsSince(db.pool, { loadedAt })).find(({ list }) => list === 'outgoing')?.isRead;
const readAtOf = async (): Promise<Date | null | undefined> =>
  (await db.pool.query<{ read_at: Date | null }>(`SELECT read_at FROM list_cursor WHERE list = 'outgoing'`)).rows[0]
    ?.read_at;
const sendTask = async (requestId: string) => asTask((await plannedTasks(stores.store, requestId))[0] as never);

describe('a document whose request_id a list has shown', () => {
  it('is recorded as sent, found by look-up, and not sent again', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const documentId = registry.take(requestId);
    await inTransaction(db.pool, (tx) => writeListed(tx, [listed(documentId, requestId)]));
    const { context, told } = await start(registry);
    expect(await runTask(context, await sendTask(requestId))).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['findByRequestId']);
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'DocumentSent']);
    expect((await eventsOf(stores.store, requestId))[1]?.data).toMatchObject({
      documentId,
      attempt: 1,
      foundByLookUp: true,
    });
    expect(told).toEqual({ Recognise: [documentId], See: [] });
  });

  it('is the one of two that the registry has not failed; the other is followed like one of others', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const [repeat, landed] = [registry.take(requestId), registry.take(requestId)];
    registry.statusOf.set(repeat, 'failed_result_ready');
    await inTransaction(db.pool, (tx) => writeListed(tx, [listed(repeat, requestId), listed(landed, requestId)]));
    const { context, told } = await start(registry);
    expect(await runTask(context, await sendTask(requestId))).toEqual({ kind: 'done' });
    expect((await eventsOf(stores.store, requestId))[1]?.data).toMatchObject({ documentId: landed });
    expect(told).toEqual({ Recognise: [landed], See: [repeat] });
  });

  it('is given up for a look-up by a process that remembers it from before the send of another', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const { context } = await start(registry);
    await context.documents.state(requestId);
    const task = await sendTask(requestId);
    const other = processOn({ ...stores, registry, clock: new VirtualClock() });
    await bySystem(other, task, { type: 'BeginSend' });
    const documentId = registry.take(requestId);
    await inTransaction(db.pool, (tx) => writeListed(tx, [listed(documentId, requestId)]));
    // The other may be at its call: only whoever finds the intent at the start of a lease says that it was given up.
    expect(await runTask(context, task)).toEqual({ kind: 'give_back' });
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted']);
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered', 'SendAttempted', 'SendUnconfirmed']);
  });

  it('is not sent again where an attempt that counted as absent has landed since', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const { context } = await start(registry);
    const task = await sendTask(requestId);
    await bySystem(context, task, { type: 'BeginSend' });
    const nothing = { answerSha256: 'a'.repeat(64), sinceAttemptEndedMs: 60_000, unknownGraceMs: 30_000 };
    const answer = { kind: 'unconfirmed', reason: 'timeout' } as const;
    const lost: DocumentCommand = { type: 'RecordSendAnswer', attempt: 1, answer };
    const lookUp: DocumentCommand = { type: 'RecordLookUp', attempt: 1, documentIds: [], ...nothing };
    for (const command of [lost, lookUp, lookUp]) await bySystem(context, task, command);
    const documentId = registry.take(requestId);
    await inTransaction(db.pool, (tx) => writeListed(tx, [listed(documentId, requestId)]));
    expect(await runTask(context, await newestTask(stores.store, requestId, 'send'))).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['findByRequestId']);
    expect((await typesOf(requestId)).slice(-2)).toEqual(['SendAbsenceProven', 'DocumentSent']);
  });

  it('waits while the registry itself does not say the same', async () => {
    const { requestId } = await registerDocument(stores);
    await inTransaction(db.pool, (tx) => writeListed(tx, [listed(`d-${requestId}`, requestId)]));
    const registry = new FakeRegistry();
    const { context } = await start(registry);
    expect(await runTask(context, await sendTask(requestId))).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect(registry.calls).toEqual(['findByRequestId']);
    expect(await typesOf(requestId)).toEqual(['DocumentRegistered']);
  });

  it('does not hold up another, which is sent as ever', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const { context } = await start(registry);
    await runTask(context, await sendTask(requestId));
    expect(registry.calls).toEqual(['sendDocument']);
  });
});

describe('a process that begins on a database whose lists were read before', () => {
  it('sends nothing until they have been read again', async () => {
    const cursor = { account: ACCOUNT, list: 'outgoing' as const, since: '2026-03-01T00:00:00Z', isAtEnd: true };
    await moveCursor(db.pool, cursor);
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const { context, held } = await start(registry);
    expect(await runTask(context, await sendTask(requestId))).toMatchObject({
      kind: 'retry',
      error: 'the outgoing list is read first',
    });
    await moveCursor(db.pool, { ...cursor, isAtEnd: false, problem: 'unknown: HTTP 502' });
    expect(await held.outgoingSince(ACCOUNT)).toBe('unread');
    await moveCursor(db.pool, cursor);
    expect(await runTask(context, await sendTask(requestId))).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['sendDocument']);
  });

  it('asks for each document by itself where the list is refused, and sends where that is refused too', async () => {
    const cursor = { account: ACCOUNT, list: 'outgoing' as const, since: '2026-03-01T00:00:00Z', isAtEnd: true };
    await moveCursor(db.pool, cursor);
    const [absent, held] = [await registerDocument(stores), await registerDocument(stores)];
    const registry = new FakeRegistry();
    const documentId = registry.take(held.requestId);
    const { context } = await start(registry);
    await moveCursor(db.pool, { ...cursor, problem: 'refused: Forbidden' });
    expect(await runTask(context, await sendTask(held.requestId))).toEqual({ kind: 'done' });
    expect(registry.taken.get(held.requestId)).toEqual([documentId]);
    const page = { kind: 'refused', code: 'http_403', text: '', raw: rawOf('<html>', 403), mayBeOthers: true } as const;
    const proxied = { ...context, registry: Object.assign(new FakeRegistry(), { findByRequestId: async () => page }) };
    expect(await runTask(proxied, await sendTask(absent.requestId))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining('no list can be read'),
    });
    registry.fail('findByRequestId', 'refused');
    expect(await runTask(context, await sendTask(absent.requestId))).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['findByRequestId', 'findByRequestId', 'sendDocument']);
  });

  it('does not take a list for read of which there is more, though it was refused before', async () => {
    const cursor = { account: ACCOUNT, list: 'outgoing' as const, since: '2026-03-01T00:00:00Z', isAtEnd: true };
    await moveCursor(db.pool, cursor);
    const { held } = await start(new FakeRegistry());
    await moveCursor(db.pool, { ...cursor, problem: 'refused: HTTP 403' });
    expect(await held.outgoingSince(ACCOUNT)).toBe('not_given');
    await moveCursor(db.pool, { ...cursor, isAtEnd: false });
    const { rows } = await db.pool.query<{ now: Date }>(`SELECT now() - interval '1 hour' AS now`);
    const loadedAt = (rows[0] as { now: Date }).now;
    expect([await held.outgoingSince(ACCOUNT), await isRead(loadedAt)]).toEqual(['unread', false]);
    await moveCursor(db.pool, cursor);
    expect([await held.outgoingSince(ACCOUNT), await isRead(loadedAt)]).toEqual(['read', true]);
  });

  it.each([['unknown: timeout'], ['the list moved in each of 4 rounds']])(
    'keeps a list for read that was, though then there was a problem (%s), and then more to read',
    async (problem) => {
      const cursor = { account: ACCOUNT, list: 'outgoing' as const, since: '2026-03-01T00:00:00Z', isAtEnd: true };
      await moveCursor(db.pool, cursor);
      const { held } = await start(new FakeRegistry());
      await moveCursor(db.pool, cursor);
      const readAt = await readAtOf();
      await moveCursor(db.pool, { ...cursor, isAtEnd: false, problem });
      await moveCursor(db.pool, { ...cursor, isAtEnd: false });
      expect([readAt, await readAtOf()]).toEqual([expect.any(Date), readAt]);
      expect(await held.outgoingSince(ACCOUNT)).toBe('read');
    },
  );

  it('does not take a list for read that was refused, then timed out, and of which there is more', async () => {
    const cursor = { account: ACCOUNT, list: 'outgoing' as const, since: '2026-03-01T00:00:00Z', isAtEnd: true };
    await moveCursor(db.pool, cursor);
    const { held } = await start(new FakeRegistry());
    await moveCursor(db.pool, { ...cursor, problem: outcomeWords({ kind: 'refused', text: 'HTTP 403' }) });
    await moveCursor(db.pool, { ...cursor, isAtEnd: false, problem: 'unknown: timeout' });
    await moveCursor(db.pool, { ...cursor, isAtEnd: false });
    expect([await readAtOf(), await held.outgoingSince(ACCOUNT)]).toEqual([null, 'unread']);
  });

  it('asks for each document by itself where the list is not to be had for minutes', async () => {
    await moveCursor(db.pool, { account: ACCOUNT, list: 'outgoing', since: '2026-03-01T00:00:00Z', isAtEnd: true });
    const [absent, held] = [await registerDocument(stores), await registerDocument(stores)];
    const registry = new FakeRegistry();
    registry.take(held.requestId);
    const { context } = await start(registry);
    expect(await runTask(context, await sendTask(absent.requestId))).toMatchObject({
      kind: 'retry',
      error: 'the outgoing list is read first',
    });
    (context.clock as VirtualClock).advance(120_000);
    registry.fail('findByRequestId', 'unknown');
    expect(await runTask(context, await sendTask(absent.requestId))).toMatchObject({
      kind: 'retry',
      error: expect.stringContaining('no list can be read'),
    });
    expect(await runTask(context, await sendTask(absent.requestId))).toEqual({ kind: 'done' });
    expect(await runTask(context, await sendTask(held.requestId))).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['findByRequestId', 'findByRequestId', 'sendDocument', 'findByRequestId']);
    expect(await typesOf(held.requestId)).toEqual(['DocumentRegistered', 'DocumentSent']);
  });
});
