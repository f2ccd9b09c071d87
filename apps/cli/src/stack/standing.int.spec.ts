import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { requestIdOf } from '#kernel';
import { installationId } from '#postgres';
import { PostgresTaskQueue, type TaskResult } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { allSchemas } from '../schemas.js';
import { causeOf, markOf, type Looked } from './standing.js';

const COMMAND = 'day-1';
const LATER = new Date('2100-01-01T00:00:00Z');
const FAILED = {
  name: 'saga:document',
  program: 'worker',
  isHalted: true,
  since: new Date(0),
  reason: 'failed 9 times in a row, last at position 3: refused',
};

let db: TestDatabase;
let store: PostgresEventStore;
let queue: PostgresTaskQueue;
let requestId: string;

beforeAll(async () => {
  db = await testDatabase(allSchemas());
  store = new PostgresEventStore({ pool: db.pool });
  queue = new PostgresTaskQueue({ pool: db.pool });
  requestId = requestIdOf(await installationId(db.pool), COMMAND);
});
beforeEach(async () => {
  await db.pool.query('TRUNCATE task, task_key, checkpoint, document_outcome');
});
afterAll(async () => {
  await queue.close();
  await store.close();
  await db.drop();
});

const event = (id: string): NewEvent => ({
  id: `6f1b2c9e-3a70-4a51-9a7e-0000000000${id}`,
  type: 'Noted',
  schemaVersion: 1,
  data: {},
  metadata: {
    participant: 'own',
    actor: { kind: 'system', name: 't', authenticatedBy: 't' },
    softwareVersion: '0',
    profile: 'p',
    effectiveAt: '2026-03-01T10:00:00Z',
    correlationId: 'c',
    causationId: 'c',
  },
});

/** Everything as it is on this database, with what only processes know. */
const looked = (known: { failing?: (typeof FAILED)[]; paused?: string[] } = {}): Looked => ({
  pool: db.pool,
  store,
  logs: 'the log',
  failing: () => known.failing ?? [],
  worker: {
    pausedAccounts: () =>
      (known.paused ?? []).map((account) => ({
        account,
        cause: 'certificate',
        text: 'it has ended',
        seenAt: new Date(0),
      })),
  },
});
const cause = (known?: Parameters<typeof looked>[0]) => causeOf(looked(known), [COMMAND]);
const schedule = (of = requestId, dueAt = new Date(0)) =>
  queue.schedule(db.pool, [{ key: `send:${of}:1`, kind: 'send', lane: 'main/send', dueAt, payload: {} }]);
async function settle(result: TaskResult): Promise<void> {
  const [task] = await queue.claim('main/send', { limit: 1, leaseMs: 60_000, holder: 'spec' });
  if (task === undefined) throw new Error('nothing is due');
  await queue.settle(task, result);
}

describe('the mark of progress', () => {
  it('changes with each event, each task that is done and each step of a subscription', async () => {
    const marks = [await markOf(looked())];
    const note = async (): Promise<void> => void marks.push(await markOf(looked()));
    await store.append('noted-1', 'any', [event('01')]);
    await note();
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', 0, now())`);
    await store.append('noted-1', 'any', [event('02')]);
    await note();
    await db.pool.query('UPDATE checkpoint SET position = position + 1');
    await note();
    await schedule();
    await note();
    await settle({ kind: 'done' });
    await note();
    expect(marks).toHaveLength(6);
    expect(marks.filter((mark, n) => mark === marks[n - 1])).toEqual([]);
  });

  it('does not change with a failure, nor by what is tried again, nor while a server numbers events of its own', async () => {
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', 1000, now())`);
    await schedule();
    const mark = await markOf(looked());
    await settle({ kind: 'retry', delayMs: 0, error: 'no answer' });
    await settle({ kind: 'failed', error: 'no answer' });
    await db.pool.query('UPDATE checkpoint SET position = position + 100, updated_at = now()');
    expect(await markOf(looked({ failing: [FAILED] }))).toBe(mark);
  });
});

describe('the cause of a stall', () => {
  it('is a subscription that fails, whose it is and with which error; of many, two are named', async () => {
    expect(await cause({ failing: [FAILED] })).toEqual({
      sentence: `subscription saga:document of the worker ${FAILED.reason}`,
      isHalted: true,
      waits: false,
    });
    const many = ['saga:inbound', 'projection:movements', 'projection:outbox'].map((name) => ({
      ...FAILED,
      name,
      isHalted: false,
    }));
    expect(await cause({ failing: many })).toMatchObject({
      sentence: expect.stringMatching(
        /^subscription saga:inbound .*; subscription projection:movements .*; so do 1 more$/,
      ),
      isHalted: false,
    });
  });

  it('is a subscription that stands still without a word', async () => {
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', 0, now())`);
    expect(await cause()).toEqual({
      sentence: `nobody runs subscription saga:document (events behind: ${await store.head()})`,
      isHalted: false,
      waits: false,
    });
  });

  it('is a task that nobody takes, or that was given up: neither has a reason to wait', async () => {
    await schedule();
    expect(await cause()).toEqual({
      sentence: `tasks overdue that nobody takes: 1, such as send:${requestId}:1 since 1970-01-01T00:00:00.000Z`,
      isHalted: false,
      waits: false,
    });
    await settle({ kind: 'failed', error: 'evidence is missing' });
    expect(await cause()).toEqual({
      sentence: `tasks given up: 1, such as send:${requestId}:1: evidence is missing`,
      isHalted: false,
      waits: false,
    });
  });

  it('is what a task waits for: its time, its account, an answer on its way, a decision', async () => {
    await schedule();
    expect(await cause({ paused: ['main'] })).toEqual({
      sentence: 'account main is paused (certificate: it has ended); see pedigree accounts',
      isHalted: false,
      waits: true,
    });
    expect(await cause({ paused: ['north'] })).toMatchObject({
      sentence: expect.stringMatching(/^tasks overdue/),
      waits: false,
    });
    await queue.claim('main/send', { limit: 1, leaseMs: 60_000, holder: 'spec' });
    expect(await cause()).toMatchObject({ sentence: `tasks at work: 1, such as send:${requestId}:1`, waits: true });
    await db.pool.query('TRUNCATE task, task_key');
    await schedule(requestId, LATER);
    expect(await cause()).toEqual({
      sentence: `tasks that wait for their time: 1, the first send:${requestId}:1 until 2100-01-01T00:00:00.000Z`,
      isHalted: false,
      waits: true,
    });
    await db.pool.query('TRUNCATE task');
    await db.pool.query(HELD, [requestId]);
    expect(await cause()).toEqual({
      sentence: 'documents held: 1 (GET /v1/documents?phase=held)',
      isHalted: false,
      waits: true,
    });
  });

  it('is not known where there is none, whatever other documents and lists wait for', async () => {
    await schedule('another', LATER);
    await queue.schedule(db.pool, [
      { key: 'list:main:outgoing', kind: 'read_list', lane: 'main/outgoing', dueAt: LATER, payload: {} },
    ]);
    expect(await cause()).toEqual({ sentence: 'no cause is known; see the log', isHalted: false, waits: false });
  });
});

const HELD = `
INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type, subject_id,
  operation_date, item_count, phase, waiting_for, attempts,
  error_count, document_sha256, duplicate, registered_at)
VALUES ($1, 1, 1, 'day-1', 'main', 415, 's', '2026-03-01T10:00:00Z', 1, 'held', '[]', 0, 0, repeat('a', 64), false,
  now())`;
