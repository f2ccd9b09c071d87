import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listsSince } from '#backup';
import { INBOUND_SAGA, inboundStream, reactToInboundEvent, type DocumentCommand, type PlannedTask } from '#domain';
import type { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { databaseNow } from '#reconciliation';
import type { DocumentLists, DocumentMetadata, NewDocuments } from '#registry-client';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { rawOf, receiptXml } from '../../test/fake-registry.js';
import { QueueHarness, type World } from '../../test/queue-harness.js';
import {
  ACCOUNT,
  asTask,
  eventsOf,
  newestTask,
  openStores,
  plannedTasks,
  registerDocument,
  runTask,
  stateIn,
  type Stores,
} from '../../test/test-harness.js';
import type { InboundContext } from './context.js';
import { listTasks, readList } from './read-list.js';
import { inboundSchema, moveCursor, RegistryDocuments } from './registry-documents.js';

const DAY_MS = 24 * 3_600_000;
const RECEIVED_AT = '2026-03-02T07:00:00Z';

let db: TestDatabase;
let stores: Stores;
let queue: PostgresTaskQueue;
let harness: QueueHarness;
beforeAll(async () => {
  db = await testDatabase();
  stores = await openStores(db.pool);
  await migrate(db.pool, [tasksSchema, subscriptionsSchema, ...readModelSchemas, inboundSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
  harness = new QueueHarness({ ...stores, pool: db.pool, queue });
});
afterAll(async () => {
  await queue.close();
  await stores.close();
  await db.drop();
});

type Shown = Pick<DocumentMetadata, 'documentId' | 'requestId'> & Partial<DocumentMetadata>;

/** A worker whose outgoing list shows these documents. */
function readerOf({ context }: World, shown: Shown[]): { reader: InboundContext; planned: PlannedTask[] } {
  const planned: PlannedTask[] = [];
  const fields = { status: 'processed', docType: 701, receivedAt: RECEIVED_AT, fields: {} } as const;
  const answer = rawOf('{"documents":[]}');
  const documentsSince = () =>
    Promise.resolve({
      documents: shown.map((one) => ({ ...fields, ...one })),
      cursor: { since: RECEIVED_AT, handedOut: {} },
      walk: { kind: 'complete' },
      more: false,
      answers: new Map(shown.map((one) => [one.documentId, answer])),
    });
  const reader = {
    ...context,
    lists: { documentsSince } as never,
    held: new RegistryDocuments(db.pool),
    queue: { schedule: (_: unknown, tasks: PlannedTask[]) => Promise.resolve(void planned.push(...tasks)) },
    warn: () => undefined,
  } satisfies InboundContext;
  return { reader, planned };
}

/** Reads the list, does what follows from that, and tells how each task ended. */
async function read(world: World, ...shown: Shown[]): Promise<string[]> {
  const { reader, planned } = readerOf(world, shown);
  await runTask(reader, asTask(listTasks(ACCOUNT)[1] as never));
  const results: string[] = [];
  for (const one of planned) results.push((await runTask(reader, asTask(one as never))).kind);
  return results;
}

interface Received {
  documentId: string;
  at: Date;
}

/** What a reading finds from `since` on. */
function answerOf(
  shown: Received[],
  since: string,
  { strange, isLong }: { strange: NewDocuments['notUnderstood']; isLong: boolean },
): NewDocuments {
  const newest = Math.max(Date.parse(since), ...shown.map(({ at }) => at.getTime()));
  return {
    documents: shown.map(({ documentId, at }) => ({
      ...{ documentId, requestId: '', status: 'processed', fields: {}, receivedAt: at.toISOString() },
    })),
    cursor: { since: new Date(newest).toISOString(), handedOut: {} },
    walk: { kind: 'complete', items: [], restarts: 0, pages: 1 },
    ...{ notUnderstood: strange, more: isLong },
    answers: new Map(shown.map(({ documentId }) => [documentId, rawOf('{}')])),
  } as NewDocuments;
}

/** A worker whose list shows what it received from an overlap before the cursor on; and what it has noted so far. */
function readingOf(
  world: World,
  account: string,
  {
    received,
    strange = [],
    list: which = 'incoming',
  }: {
    received: Received[];
    strange?: NewDocuments['notUnderstood'];
    list?: 'incoming' | 'outgoing';
  },
) {
  const { reader, planned } = readerOf(world, []);
  const asked: { at: number; since: number }[] = [];
  const documentsSince: DocumentLists['documentsSince'] = (_account, _list, { cursor, overlapMs }) => {
    asked.push({ at: world.context.clock.now().getTime(), since: Date.parse(cursor.since) });
    const from = Date.parse(cursor.since) - overlapMs;
    const shown = received.filter(({ at }) => at.getTime() >= from);
    return Promise.resolve(answerOf(shown, cursor.since, { strange, isLong }));
  };
  let [isLong, isFailing] = [false, false];
  const newAmong = (ids: string[]) => (isFailing ? Promise.reject(new Error('no room')) : reader.held.newAmong(ids));
  const held = Object.assign(new RegistryDocuments(db.pool), { newAmong });
  const planOf = listTasks(account).find(({ payload }) => (payload as { list: string }).list === which);
  const list = asTask(planOf as never) as Parameters<typeof readList>[1];
  return {
    read: (more = false) => {
      isLong = more;
      return readList({ ...reader, held, lists: { documentsSince } }, list, new AbortController().signal);
    },
    /** From now on what a reading shows cannot be kept. */
    fail: (fails: boolean) => void (isFailing = fails),
    asked: () => asked,
    noted: () => planned.map(({ payload }) => (payload as { documentId: string }).documentId),
  };
}

const after = (clock: { now(): Date }, hours: number): Date => new Date(clock.now().getTime() + hours * 3_600_000);

describe('a document that the list shows hours later than it dates it', () => {
  it('is seen when a reading reaches back, which two in a day do', async () => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const received: { documentId: string; at: Date }[] = [];
    const { read, noted, asked } = readingOf(world, 'busy', { received });
    for (let hour = 0; hour <= 24; hour += 1) {
      received.push({ documentId: `of-hour-${hour}`, at: clock.now() });
      if (hour === 3) received.push({ documentId: 'late', at: after(clock, -2) });
      await read();
      clock.advance(3_600_000);
    }
    expect(noted()).toHaveLength(26);
    expect(noted().slice(11, 14)).toEqual(['of-hour-11', 'late', 'of-hour-12']);
    const reachingBack = asked().filter(({ at, since }) => at - since > 2 * 3_600_000);
    expect(reachingBack.map(({ at, since }) => at - since)).toEqual([24, 24, 24].map((hours) => hours * 3_600_000));
  });
});

describe('an entry that is dated ahead of our clock', () => {
  it('keeps nobody from what comes before it, however long the list is not read', async () => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const received = [{ documentId: 'ahead', at: after(clock, 20) }];
    const { read, noted } = readingOf(world, 'hurried', { received });
    await read();
    clock.advance(3_600_000);
    received.push({ documentId: 'after-it', at: after(clock, -0.5) });
    await read();
    expect(noted()).toEqual(['ahead', 'after-it']);
  });

  it('is no place to begin at where the cursor was left there', async () => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const received = [{ documentId: 'just-now', at: after(clock, 0) }];
    const { read, noted } = readingOf(world, 'left-ahead', { received });
    const at = { account: 'left-ahead', list: 'incoming', isAtEnd: true, lookedBackAt: clock.now() } as const;
    await moveCursor(db.pool, { ...at, since: after(clock, 20).toISOString() });
    await read();
    expect(noted()).toEqual(['just-now']);
    clock.advance(3_600_000);
    received.push({ documentId: 'later', at: after(clock, -0.5) });
    await read();
    expect(noted()).toEqual(['just-now', 'later']);
  });

  it('has the list read again later where more of them are left, and does not count as its end', async () => {
    const world = harness.worldOf();
    const received = [{ documentId: 'far-ahead', at: after(world.context.clock, 3) }];
    const { read } = readingOf(world, 'flooded', { received });
    const result = await read(true);
    expect(result).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect((result as { delayMs: number }).delayMs).toBeGreaterThan(0);
    const { rows } = await db.pool.query(`SELECT read_at, problem FROM list_cursor WHERE account = 'flooded'`);
    expect(rows).toEqual([{ read_at: null, problem: expect.stringContaining('dated ahead of our clock') }]);
  });
});

describe('a list that two accounts read at the same time', () => {
  it('has the status of the newer answer, though the older one comes slowly, and is written last', async () => {
    const { reader } = readerOf(harness.worldOf(), []);
    const clock = reader.clock as VirtualClock;
    /** A reading of which the answer came, and which goes on when it is told to. */
    const readingBy = (account: string, status: 'processing' | 'processed') => {
      let [cameIn, goOn] = [(): void => undefined, (): void => undefined];
      const answered = new Promise<void>((resolve) => (cameIn = resolve));
      const goesOn = new Promise<void>((resolve) => (goOn = resolve));
      const documentsSince = async () => {
        const askedMonotonicMs = clock.monotonicMs();
        cameIn();
        await goesOn;
        const answer = { ...rawOf('{}'), askedMonotonicMs, receivedMonotonicMs: clock.monotonicMs() };
        return {
          documents: [
            { documentId: 'of-both', requestId: '', status, docType: 701, receivedAt: RECEIVED_AT, fields: {} },
          ],
          ...{ cursor: { since: RECEIVED_AT, handedOut: {} }, walk: { kind: 'complete' }, more: false },
          answers: new Map([['of-both', answer]]),
        };
      };
      const list = asTask(listTasks(account)[1] as never) as Parameters<typeof readList>[1];
      const ended = readList({ ...reader, lists: { documentsSince } as never }, list, new AbortController().signal);
      return { answered, goOn, ended };
    };
    const older = readingBy('older', 'processing');
    await older.answered;
    // The row keeps milliseconds of the database's clock, which no test moves.
    const begunAt = await databaseNow(db.pool);
    await until('the next millisecond', async () => (await databaseNow(db.pool)) > begunAt);
    clock.advance(1_000);
    const newer = readingBy('newer', 'processed');
    newer.goOn();
    await newer.ended;
    older.goOn();
    await older.ended;
    const { rows } = await db.pool.query(`SELECT status FROM registry_document WHERE document_id = 'of-both'`);
    expect(rows).toEqual([{ status: 'processed' }]);
  });
});

const seen = async (documentId: string): Promise<string[]> =>
  (await stores.store.readStream(inboundStream(documentId))).map((event) => event.type);

describe('an entry that tells no document', () => {
  it('keeps nobody from the others, and the list does not count as read whole', async () => {
    const world = harness.worldOf();
    const strange = [{ at: 0, written: '{"date":"today"}', problem: 'a document without "document_id"' }];
    const received = [{ documentId: 'beside-it', at: after(world.context.clock, 0) }];
    const { read, noted } = readingOf(world, 'strange', { received, strange });
    await read();
    expect(noted()).toEqual(['beside-it']);
    const { rows } = await db.pool.query(`SELECT since, problem FROM list_cursor WHERE account = 'strange'`);
    const problem = '1 entries are not understood, the first: a document without "document_id": {"date":"today"}';
    expect(rows).toEqual([{ since: received[0]?.at, problem }]);
  });

  const standing = async (account: string): Promise<{ isRead: boolean; problem: string | null }> => {
    const loadedAt = new Date(0);
    const lists = await listsSince(db.pool, { loadedAt });
    return lists.find((one) => one.account === account) as never;
  };
  const strange = () => [{ at: 0, written: '{"date":"today"}', problem: 'a document without "document_id"' }];

  it('holds a restored database until the list was read again from there to its end without one', async () => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const shown = strange();
    const received = [{ documentId: 'of-stretch-1', at: after(clock, -3) }];
    const { read } = readingOf(world, 'in stretches', { received, strange: shown });
    await read(true);
    shown.pop();
    received.push({ documentId: 'of-stretch-2', at: after(clock, 0) });
    await read();
    clock.advance(3_600_000);
    await read();
    expect(await standing('in stretches')).toMatchObject({
      isRead: false,
      problem: expect.stringContaining('a document without "document_id"'),
    });
    clock.advance(11 * 3_600_000);
    // The first stretch of the way back says nothing yet.
    received.splice(1, 1);
    await read(true);
    expect(await standing('in stretches')).toMatchObject({ isRead: false });
    received.push({ documentId: 'of-the-way-back', at: after(clock, 0) });
    await read();
    expect(await standing('in stretches')).toMatchObject({ isRead: true, problem: null });
  });

  it('is read again each time as long as it is there, for a week at the most', async () => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const shown = strange();
    const received: { documentId: string; at: Date }[] = [];
    const { read, asked } = readingOf(world, 'for a week', { received, strange: shown });
    const began = clock.now().getTime() - DAY_MS;
    for (let halfDay = 0; halfDay < 4; halfDay += 1) {
      received.splice(0, 1, { documentId: `of-half-day-${halfDay}`, at: clock.now() });
      await read();
      clock.advance(DAY_MS / 2);
    }
    expect(asked().map(({ since }) => since)).toEqual([began, began, began, began]);
    clock.advance(6 * DAY_MS);
    shown.pop();
    await read();
    expect(asked().at(-1)).toMatchObject({ since: clock.now().getTime() - 7 * DAY_MS });
    expect(await standing('for a week')).toMatchObject({ isRead: true });
  });

  it.each([
    {
      list: 'outgoing',
      what: 'is never given up while a restored database holds back: it may be what would be sent again',
    },
    { list: 'incoming', what: 'is given up after its week, though a restored database holds back: others wrote it' },
  ] as const)('of the $list list $what', async ({ list }) => {
    const world = harness.worldOf();
    const clock = world.context.clock as VirtualClock;
    const restored = { ...{ was: true, takenAt: after(clock, -1) }, releaseWhenCompared: () => Promise.resolve() };
    let isHolding = true;
    Object.assign(world.context, { restored: { ...restored, isHolding: () => Promise.resolve(isHolding) } });
    const shown = strange();
    const received: { documentId: string; at: Date }[] = [];
    const account = `restored ${list}`;
    const { read, asked } = readingOf(world, account, { list, received, strange: shown });
    const readNow = async (): Promise<number> => {
      received.splice(0, 1, { documentId: `of-${clock.now().toISOString()}`, at: clock.now() });
      await read();
      const since = asked().at(-1)?.since as number;
      clock.advance(9 * DAY_MS);
      return since;
    };
    const cursor = clock.now().getTime();
    const began = await readNow();
    expect(await readNow()).toBe(list === 'outgoing' ? began : cursor);
    expect(await standing(account)).toMatchObject({ isRead: false });
    isHolding = false;
    shown.pop();
    expect(await readNow()).toBe(clock.now().getTime() - 18 * DAY_MS);
    expect(await standing(account)).toMatchObject({ isRead: true });
  });
});

describe('a reading that fails each time', () => {
  it('is told in the table, first readings included, and leaves the place of the next one alone', async () => {
    const world = harness.worldOf();
    const received = [{ documentId: 'not-kept', at: after(world.context.clock, 0) }];
    const { read, fail } = readingOf(world, 'failing', { received });
    const row = async () =>
      (
        await db.pool.query(
          `SELECT problem, unread_since IS NOT NULL AS told, since, read_at FROM list_cursor WHERE account = 'failing'`,
        )
      ).rows;
    fail(true);
    expect(await read()).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    const since = new Date(world.context.clock.now().getTime() - DAY_MS);
    expect(await row()).toEqual([{ problem: 'failed: no room', told: true, since, read_at: null }]);
    fail(false);
    await read();
    expect(await row()).toEqual([{ problem: null, told: false, since: received[0]?.at, read_at: expect.any(Date) }]);
    fail(true);
    await read();
    expect(await row()).toMatchObject([{ problem: 'failed: no room', told: true, since: received[0]?.at }]);
  });
});

describe('a list that was read back while our clock was ahead', () => {
  it('is read back by the right clock', async () => {
    const world = harness.worldOf();
    const { read, asked } = readingOf(world, 'by a wrong clock', { received: [] });
    const now = world.context.clock.now();
    const at = { account: 'by a wrong clock', list: 'incoming', isAtEnd: true, since: now.toISOString() } as const;
    await moveCursor(db.pool, { ...at, lookedBackAt: after(world.context.clock, 1_000) });
    await read();
    expect(asked()).toEqual([{ at: now.getTime(), since: now.getTime() - DAY_MS }]);
  });
});

describe('an outgoing document that bears a request_id of ours', () => {
  it('is followed as one of others where ours ended and the registry has it not, and else is ours', async () => {
    const world = harness.worldOf(['refused']);
    const { requestId: ended } = await registerDocument(stores);
    const { requestId: open } = await registerDocument(stores);
    await runTask(world.context, asTask((await plannedTasks(stores.store, ended))[0] as never));
    await harness.catchUp('read models');
    await read(world, { documentId: 'of-ended', requestId: ended });
    await read(world, { documentId: 'of-open', requestId: open });
    expect([await seen('of-ended'), await seen('of-open')]).toEqual([['InboundSeen'], []]);
  });
});

describe('a document of an attempt that landed after it had counted as absent', () => {
  /** Its second attempt may go: the first was not found, and has landed since, as `late`. */
  async function landedLate(): Promise<{ world: World; requestId: string; late: string }> {
    const world = harness.worldOf(['unknown_lost', 'ok']);
    const { requestId } = await registerDocument(stores);
    for (const kind of ['send', 'look_up', 'look_up'] as const) {
      await runTask(world.context, await newestTask(stores.store, requestId, kind));
      (world.context.clock as VirtualClock).advance(60_000);
    }
    return { world, requestId, late: world.registry.take(requestId) };
  }

  const told = (world: World, requestId: string, command: DocumentCommand) =>
    world.context.documents.execute(requestId, command, {
      ...{ taskKey: 'spec', lease: '1', actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' } as const },
    });

  /** It was announced, and its bytes are awaited. */
  async function announced(world: World, requestId: string): Promise<string> {
    const documentId = world.registry.announce(requestId);
    await told(world, requestId, { type: 'BeginSend', upload: true });
    const answer = { kind: 'announced', documentId } as const;
    await told(world, requestId, { type: 'RecordSendAnswer', attempt: 1, answer });
    return documentId;
  }

  /** The end of its upload has no answer, and the look-up does not show it any more. */
  async function lookedUpWithout(world: World, requestId: string, documentId: string): Promise<void> {
    const answer = { kind: 'unconfirmed', reason: 'timeout' } as const;
    await told(world, requestId, { type: 'BeginFinish', attempt: 1, round: 1 });
    await told(world, requestId, { type: 'RecordUploadAnswer', attempt: 1, round: 1, answer });
    const left = (world.registry.taken.get(requestId) ?? []).filter((one) => one !== documentId);
    world.registry.taken.set(requestId, left);
    await runTask(world.context, await newestTask(stores.store, requestId, 'look_up'));
  }

  /** Does what is planned for a document of others, until nothing is. */
  async function follow(world: World, documentId: string): Promise<void> {
    const { reader } = readerOf(world, []);
    const react = reactToInboundEvent({ ...world.context.profile.rules, statusGridMs: 1_000 });
    let state = INBOUND_SAGA.initial;
    for (const event of await stores.store.readStream(inboundStream(documentId))) {
      const after = react(state, { ...event, handledAt: event.recordedAt });
      state = after.state;
      for (const one of after.tasks) await runTask(reader, asTask(one));
    }
  }

  it.each(['in one list', 'the late one first, while the repeat is unknown'])(
    'is followed to its end, whatever becomes of the repeat: seen %s',
    async (how) => {
      const { world, requestId, late } = await landedLate();
      const { context, registry } = world;
      const ran = async (kind: 'send' | 'status' | 'receipt') =>
        runTask(context, await newestTask(stores.store, requestId, kind));
      await harness.catchUp('read models');
      const before = how === 'in one list' ? [] : [await read(world, { documentId: late, requestId })];
      registry.receipts.set(requestId, receiptXml(requestId, 'Rejected'));
      for (const kind of ['send', 'status', 'receipt'] as const) await ran(kind);
      registry.receipts.delete(requestId);
      await harness.catchUp('read models');
      const repeat = registry.taken.get(requestId)?.[1] as string;
      await read(world, { documentId: late, requestId }, { documentId: repeat, requestId });
      await follow(world, late);
      expect(before.flat()).toEqual([]);
      expect(await seen(repeat)).toEqual([]);
      expect((await stores.store.readStream(inboundStream(late))).at(-1)).toMatchObject({
        type: 'InboundConcluded',
        data: { requestId, outcome: 'accepted', direction: 'outgoing' },
      });
      expect(await eventsOf(stores.store, requestId)).toContainEqual(
        expect.objectContaining({ type: 'DuplicateDetected' }),
      );
    },
  );

  it('is looked at again while it is not known which of the two is ours', async () => {
    const { world, requestId, late } = await landedLate();
    const repeat = world.registry.take(requestId);
    expect(await read(world, { documentId: late, requestId }, { documentId: repeat, requestId })).toEqual([
      'retry',
      'retry',
    ]);
    expect([await seen(late), await seen(repeat)]).toEqual([[], []]);
    // Nor is there an alarm for each look.
    expect((await eventsOf(stores.store, requestId)).map(({ type }) => type)).not.toContain('DuplicateDetected');
  });

  it('counts as ours alone where a look-up takes it for ours after it was followed like one of others', async () => {
    const world = harness.worldOf();
    const { requestId } = await registerDocument(stores);
    const upload = await announced(world, requestId);
    const late = world.registry.take(requestId);
    await harness.catchUp('read models');
    await read(world, { documentId: upload, requestId }, { documentId: late, requestId });
    expect([await seen(upload), await seen(late)]).toEqual([[], ['InboundSeen']]);
    await lookedUpWithout(world, requestId, upload);
    expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'sent', documentId: late });
    expect(await seen(late)).toEqual(['InboundSeen', 'InboundRecognised']);
  });
});
