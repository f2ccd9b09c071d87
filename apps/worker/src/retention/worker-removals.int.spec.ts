import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { removeOldRows } from '#retention';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { workerSchemas } from '../worker.js';
import { workerRemovals } from './worker-removals.js';

const SAGAS = [{ name: 'document' }, { name: 'inbound' }];

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase(workerSchemas);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});
beforeEach(() =>
  db.pool.query(
    'TRUNCATE task_key, checkpoint, upload_link, document_outcome, event, event_any; UPDATE event_counter SET ' +
      'position = 0',
  ),
);

async function round(): Promise<Map<string, number>> {
  const removals = workerRemovals({ store, sagas: SAGAS, taskKeysKeptDays: 400, uploadLinksKeptDays: 30 });
  return removeOldRows({
    pool: db.pool,
    removals,
    signal: new AbortController().signal,
    report: (_, error) => expect(error).toBeUndefined(),
  });
}

const event = (): NewEvent => {
  const metadata = {
    participant: 'own',
    actor: { kind: 'system', name: 't', authenticatedBy: 't' },
    softwareVersion: '0',
    profile: 'p',
    effectiveAt: '2026-01-01T00:00:00Z',
    correlationId: 'c',
    causationId: 'c',
  } as const;
  return { id: randomUUID(), type: 'T', schemaVersion: 1, data: {}, metadata };
};

/** One old key, and a log of two events: one from then and one of today. */
async function given(checkpoints: Record<string, number>): Promise<void> {
  await db.pool.query(`INSERT INTO task_key (digest, scheduled_on) VALUES ('a', current_date - 500)`);
  await store.append('s', 'none', [event(), event()]);
  await db.pool.query(`UPDATE event SET recorded_at = recorded_at - interval '500 days' WHERE position = 1`);
  for (const [name, position] of Object.entries(checkpoints))
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())`, [name, position]);
}

describe('old keys of tasks', () => {
  it('go once every saga is past the events that scheduled them', async () => {
    await given({ 'saga:document': 1, 'saga:inbound': 2 });
    expect((await round()).get('task_key')).toBe(1);
  });

  it.each([
    ['a saga stands at an event of that time', { 'saga:document': 0, 'saga:inbound': 2 }],
    ['a saga begins anew', { 'saga:document': 2 }],
    ['no saga has begun', {}],
  ])('stay while %s: it would schedule them again', async (_why, checkpoints) => {
    await given(checkpoints);
    expect((await round()).get('task_key')).toBe(0);
  });
});

describe('upload links', () => {
  it('go so long after their document was concluded, and never while it is open', async () => {
    const document = async (requestId: string, concludedDaysAgo: number | undefined): Promise<void> => {
      await db.pool.query(
        `INSERT INTO upload_link (request_id, document_id, link_cipher, kept_at) VALUES ($1, 'd', 'x', now() - ` +
          `interval '900 days')`,
        [requestId],
      );
      await db.pool.query(
        `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
            subject_id, operation_date, item_count, phase, waiting_for, attempts, error_count,
           document_sha256, duplicate, held_for, registered_at, concluded_at)
         VALUES ($1, $2, 1, $1, 'main', 415, 's', '2026-01-01', 1, 'p', '{}', 1, 0, 'x', false, '[]', now(),
           now() - $3 * interval '1 day')`,
        [requestId, BigInt(`0x${requestId.slice(0, 8)}`), concludedDaysAgo ?? null],
      );
    };
    const [open, fresh, old] = [
      '00000001-0000-5000-8000-000000000000',
      '00000002-0000-5000-8000-000000000000',
      '00000003-0000-5000-8000-000000000000',
    ] as const;
    await document(open, undefined);
    await document(fresh, 29);
    await document(old, 31);
    expect((await round()).get('upload_link')).toBe(1);
    expect(
      (await db.pool.query<{ request_id: string }>('SELECT request_id FROM upload_link ORDER BY 1')).rows.map(
        (row) => row.request_id,
      ),
    ).toEqual([open, fresh]);
  });

  it('removes what a fetch has brought that nobody took for thirty days, and no younger one', async () => {
    await db.pool.query(
      `INSERT INTO registry_fetch (fetch_id, account, way, phase, reason, actor, items, requested_at) SELECT
         'f' || days, 'main', 'list', 'complete', 'spec', '{}', 1, now() - days * interval '1 day'
       FROM (VALUES (29), (31)) v(days)`,
    );
    await db.pool.query(`INSERT INTO registry_fetch_asked SELECT fetch_id, 'list', 0, 'x' FROM registry_fetch`);
    expect((await round()).get('registry_fetch_asked')).toBe(1);
    const { rows } = await db.pool.query(
      'SELECT a.fetch_id, f.phase FROM registry_fetch f LEFT JOIN registry_fetch_asked a USING (fetch_id) ORDER BY 1',
    );
    expect(rows).toEqual([
      { fetch_id: 'f29', phase: 'complete' },
      { fetch_id: null, phase: 'failed' },
    ]);
  });
});
