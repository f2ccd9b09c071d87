import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { readModelSchemas } from '../schema.js';
import { documentFigures, unconfirmedSince } from './figures.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
});
afterAll(() => db.drop());

let position = 0;
async function given(id: string, { phase, group, hours }: { phase: string; group?: string; hours: number }) {
  position += 1;
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type, subject_id,
       operation_date, item_count, phase, waiting_for, held_for, attempts, error_count, document_sha256, duplicate,
       registered_at, group_id)
     VALUES ($1, $5, $5, $1, 'main', 415, '', '', 1, $2, '[]', '[]', 0, 0, '', false,
       now() - make_interval(hours => $4), $3)`,
    [id, phase, group ?? null, hours, position],
  );
}

async function givenGroup(id: string, phase: string): Promise<void> {
  await db.pool.query(
    `INSERT INTO document_group (group_id, registered_position, position, command_id, account, kind, phase, waiting_for,
       held_for, member_count, sent_count, ended_count, item_count, registered_at)
     VALUES ($1, $3, $3, $1, 'main', 'group', $2, '[]', '[]', 2, 0, 0, 2, now())`,
    [id, phase, (position += 1)],
  );
}

it('counts the documents of a group that waits, is held or has an unknown start as it stands, with their age', async () => {
  for (const phase of ['waiting', 'held', 'sending', 'unconfirmed']) await givenGroup(phase, phase);
  await given('alone', { phase: 'ready', hours: 1 });
  await given('waits', { phase: 'waiting', hours: 2 });
  for (const index of [0, 1]) {
    await given(`waiting ${index}`, { phase: 'ready', group: 'waiting', hours: 5 });
    await given(`held ${index}`, { phase: 'ready', group: 'held', hours: 4 });
  }
  await given('unconfirmed 0', { phase: 'sent', group: 'unconfirmed', hours: 6 });
  await given('sending 0', { phase: 'sent', group: 'sending', hours: 3 });
  await given('sending 1', { phase: 'ready', group: 'sending', hours: 3 });
  const { phases } = await documentFigures(db.pool);
  const hours = Object.fromEntries(
    phases.map(({ phase, documents, oldestSeconds }) => [phase, [documents, Math.round(oldestSeconds / 3600)]]),
  );
  expect(hours).toEqual({ ready: [2, 3], waiting: [3, 5], held: [2, 4], sent: [1, 3], unconfirmed: [1, 6] });
});

it('counts the age of what the registry has from its send, for it may have waited for days before that', async () => {
  await given('waited, then sent', { phase: 'sent', hours: 72 });
  await given('waited, then received', { phase: 'received', hours: 72 });
  await given('released', { phase: 'ready', hours: 7 });
  await db.pool.query(
    `INSERT INTO document_timing (stream, first_position, position, kind, id, account, channel, known_at, day_at,
       sent_at)
     SELECT 'document-' || id, 1, 1, 'own', id, 'main', 'api', now(), now(), now() - interval '2 hours'
     FROM unnest('{"waited, then sent","waited, then received",released}'::text[]) AS id`,
  );
  const { phases } = await documentFigures(db.pool);
  const hours = phases.map(({ phase, oldestSeconds }) => [phase, Math.round(oldestSeconds / 3600)]);
  expect(Object.fromEntries(hours)).toMatchObject({ sent: 3, received: 2, ready: 7 });
});

it('tells since when nothing was learnt of a send of unknown outcome, of the one that is unknown for longest', async () => {
  const at = new Map<bigint, string>();
  const store = { eventAt: (one: bigint) => Promise.resolve({ recordedAt: at.get(one) }) };
  const since = () => unconfirmedSince(db.pool, store as never);
  await db.pool.query(`DELETE FROM document_group`);
  expect(await since()).toBeUndefined();
  for (const id of ['first', 'second']) {
    await given(id, { phase: 'unconfirmed', hours: 90 });
    at.set(BigInt(position), `of the ${id}`);
  }
  expect(await since()).toBe('of the first');
  await db.pool.query(`UPDATE document_outcome SET phase = 'sent' WHERE request_id = 'first'`);
  expect(await since()).toBe('of the second');
  // So does a group of unknown start.
  await db.pool.query(`UPDATE document_outcome SET phase = 'sent' WHERE request_id = 'second'`);
  expect(await since()).toBeUndefined();
  await givenGroup('started?', 'unconfirmed');
  at.set(BigInt(position), 'of the group');
  await given('its first', { phase: 'sent', group: 'started?', hours: 90 });
  expect(await since()).toBe('of the group');
});
