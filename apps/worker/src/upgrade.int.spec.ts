import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DocumentReference } from '#domain';
import { eventStoreSchema } from '#event-store';
import { evidenceSchema } from '#evidence';
import { migrate } from '#postgres';
import { orphans, readModelSchemas } from '#read-models';
import { registryClientSchema } from '#registry-client';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { QueueHarness, type World } from '../test/queue-harness.js';
import { eventsOf, groupStateIn, openStores, registerDocument, stateIn, type Stores } from '../test/test-harness.js';

/**
 * A database as the version of commit e997da2 left it, made by its own saga, projections and tasks: documents in every
 * phase, dependents inside the saga's states, event ids by task key and version, two tasks under the leases of a
 * process that died after its events, and two documents that nothing behind the log had seen.
 */
interface Left {
  ids: Record<string, string>;
  /** What the registry had taken: its ids by request_id; and those that lie there until their group is started. */
  taken: Record<string, string[]>;
  open: string[];
  tables: Record<string, Record<string, unknown>[]>;
}

const SCHEMAS = [
  eventStoreSchema,
  evidenceSchema,
  registryClientSchema,
  tasksSchema,
  subscriptionsSchema,
  ...readModelSchemas,
];
const LEFT = JSON.parse(readFileSync(new URL('../test/database-before-holds.json', import.meta.url), 'utf8')) as Left;
const { schema_migration: APPLIED = [], ...TABLES } = LEFT.tables;
const idOf = (name: string): string => LEFT.ids[name] as string;
const referTo = (name: string): DocumentReference => ({ commandId: `command-${idOf(name)}`, requestId: idOf(name) });
const namesOfDocuments = Object.keys(LEFT.ids).filter((name) => name !== 'group');

let db: TestDatabase;
let stores: Stores;
let queue: PostgresTaskQueue;
let harness: QueueHarness;
let world: World;

beforeAll(async () => {
  db = await testDatabase();
  await restore();
  stores = await openStores(db.pool);
  await migrate(db.pool, SCHEMAS);
  queue = new PostgresTaskQueue({ pool: db.pool });
  harness = new QueueHarness({ ...stores, pool: db.pool, queue });
  world = harness.worldOf();
  for (const [requestId, documentIds] of Object.entries(LEFT.taken)) {
    world.registry.taken.set(requestId, documentIds);
    for (const one of documentIds) world.registry.copies.set(one, Buffer.from('<documents/>'));
  }
  for (const one of LEFT.open) world.registry.open.add(one);
});

afterAll(async () => {
  await queue.close();
  await stores.close();
  await db.drop();
});

/** The tables of that time, with what stood in them. */
async function restore(): Promise<void> {
  const of = (row: Record<string, unknown>): string => `${String(row['set_name'])}/${String(row['file_name'])}`;
  await migrate(db.pool, SCHEMAS, { only: new Set(APPLIED.map(of)) });
  for (const [name, rows] of Object.entries(TABLES)) {
    await db.pool.query(`TRUNCATE ${name}`);
    await db.pool.query(
      `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::${name}, $1)`,
      [JSON.stringify(rows)],
    );
  }
  await db.pool.query(`SELECT setval(pg_get_serial_sequence('task', 'id'), (SELECT max(id) FROM task))`);
}

const outcomeOf = async (requestId: string): Promise<string> => {
  const state = await stateIn(stores.store, requestId);
  return state.phase === 'concluded' ? state.outcome : state.phase;
};

describe('a database of the version before, with documents under way', () => {
  it('is upgraded by migrations none of which has changed since', async () => {
    const { rows } = await db.pool.query<Record<string, unknown>>(
      'SELECT set_name, file_name, sha256 FROM schema_migration',
    );
    const now = new Set(rows.map((row) => JSON.stringify([row['set_name'], row['file_name'], row['sha256']])));
    expect(
      APPLIED.map((row) => JSON.stringify([row['set_name'], row['file_name'], row['sha256']])).filter(
        (one) => !now.has(one),
      ),
    ).toEqual([]);
    expect(rows.length).toBeGreaterThan(APPLIED.length);
    // Lists of what is under way are answered from a table that was not there.
    const open = await db.pool.query<{ phase: string }>(
      'SELECT o.phase FROM document_open o JOIN document_outcome d USING (registered_position) WHERE d.outcome ' +
        'IS NULL ORDER BY o.phase',
    );
    expect(open.rows.map((row) => row.phase)).toEqual(
      (TABLES['document_outcome'] ?? [])
        .filter((row) => row['outcome'] === null)
        .map((row) => row['phase'])
        .sort(),
    );
  });

  it('leaves nothing that nobody carries on, and every document of it ends as it would have, sent once', async () => {
    await harness.catchUp();
    expect(await orphans(db.pool, stores.store)).toEqual([]);
    await harness.run(world, 200);
    const outcomes = Object.fromEntries(
      await Promise.all(namesOfDocuments.map(async (name) => [name, await outcomeOf(idOf(name))] as const)),
    );
    const bad = { failed: 'failed', refusedBehindFailed: 'failed' };
    expect(outcomes).toEqual({ ...Object.fromEntries(namesOfDocuments.map((name) => [name, 'accepted'])), ...bad });
    expect(await groupStateIn(stores.store, idOf('group'))).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
    const sent = namesOfDocuments.filter((name) => name !== 'refusedBehindFailed');
    expect(sent.map((name) => `${name} ${world.registry.taken.get(idOf(name))?.length}`)).toEqual(
      sent.map((name) => `${name} 1`),
    );
  });

  it('says nothing twice, leaves no task and no row of a dependent, and shows each end', async () => {
    const types = (await Promise.all(namesOfDocuments.map((name) => eventsOf(stores.store, idOf(name))))).map(
      (events) => events.map((one) => one.type),
    );
    for (const of of types) {
      expect(of).not.toContain('DuplicateDetected');
      expect(of.filter((type) => type === 'DocumentConcluded')).toHaveLength(1);
      expect(of.filter((type) => type === 'DocumentSent').length).toBeLessThanOrEqual(1);
    }
    for (const table of ['task', 'saga_dependent', 'document_open'])
      expect([table, (await db.pool.query(`SELECT FROM ${table}`)).rowCount]).toEqual([table, 0]);
    const { rows } = await db.pool.query<{ outcome: string }>('SELECT outcome FROM document_outcome');
    expect(rows.map((row) => row.outcome).filter((one) => one !== 'accepted')).toEqual(['failed', 'failed']);
    expect(rows).toHaveLength(namesOfDocuments.length);
  });

  it(
    'answers those who come later from what the version before remembered: released by a good end, held by a bad ' +
      'one',
    async () => {
      const after = async (name: string): Promise<string> =>
        (await registerDocument(stores, randomUUID(), { after: [referTo(name)] })).requestId;
      const [behindAccepted, behindFailed] = [await after('accepted'), await after('failed')];
      await harness.catchUp();
      await harness.run(world, 200);
      expect(await outcomeOf(behindAccepted)).toBe('accepted');
      expect(await stateIn(stores.store, behindFailed)).toMatchObject({
        phase: 'waiting',
        holds: [{ for: referTo('failed'), outcome: 'failed' }],
      });
      expect(await orphans(db.pool, stores.store)).toEqual([]);
    },
  );
});
