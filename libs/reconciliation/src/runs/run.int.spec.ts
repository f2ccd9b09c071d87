import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { VirtualClock } from '#kernel';
import { installationSchema } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { lockIsAwaited } from '../../../../test/support/lock-is-awaited.js';
import { until } from '../../../../test/support/until.js';
import { registryListsSchema } from '../registry-lists/schema.js';
import { readFindings } from './findings.js';
import { findRun, listRuns } from './query.js';
import { keepRequest, reconciliationSchema, runStream } from './request.js';
import { makeRun, type RunOptions } from './run.js';

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1',
  profile: 'none',
};
const HOUR_MS = 3_600_000;
const RULES = {
  windowMs: 40 * 24 * HOUR_MS,
  missingAfterMs: HOUR_MS,
  overdueAfterMs: 24 * HOUR_MS,
  overdueAfterMsByType: {},
};
const DOCUMENTS = 12_000;

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([
    installationSchema,
    eventStoreSchema,
    evidenceSchema,
    subscriptionsSchema,
    ...readModelSchemas,
    registryListsSchema,
    reconciliationSchema,
  ]);
  store = new PostgresEventStore({ pool: db.pool });
  // More than two pages of documents that agree, registered two days ago, and lists that were read to their end just
  // now.
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
        subject_id, operation_date, item_count, phase, waiting_for, attempts, document_id, outcome, error_count,
        document_sha256, duplicate, registered_at, concluded_at)
     SELECT 'r' || lpad(n::text, 6, '0'), n, n, n::text, 'main', 701, '', '', 1, 'concluded', '[]', 1, 'd' || n,
       'accepted', 0, '', false, now() - interval '2 days', now() - interval '47 hours' FROM generate_series(1,
       $1::int) n`,
    [DOCUMENTS],
  );
  await db.pool.query(
    'INSERT INTO registry_document (document_id, request_id, direction, account, status) SELECT document_id, ' +
      `request_id, 'outgoing', account, 'processed' FROM document_outcome`,
  );
  // As autovacuum would soon: without it the plans are those for empty tables.
  await db.pool.query('ANALYZE document_outcome, registry_document');
  await db.pool.query(
    `INSERT INTO list_cursor (account, list, since, read_at, covered_from) VALUES ('main', 'outgoing', now(), ` +
      `now(), now() - interval '30 days')`,
  );
  await db.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ('projection:document-outcomes', 17, now()), ` +
      `('saga:document', 3, now())`,
  );
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

async function run(over: Partial<RunOptions> = {}, runId: string = randomUUID()) {
  await keepRequest(db.pool, {
    runId,
    reason: 'a test',
    actor: { kind: 'person', name: 'operator', authenticatedBy: 'api-key' },
  });
  // The longest reading is no matter of these tests: on a busy machine it would be one of the machine.
  await makeRun(
    { pool: db.pool, store, installation: INSTALLATION, rules: RULES, clock: new VirtualClock(), ...over },
    runId,
  );
  const shown = await findRun(db.pool, store, runId);
  if (shown?.completed === undefined || shown.started === undefined) throw new Error('the run was not recorded');
  const findings = await readFindings(db.pool, { runId, attempt: shown.completed.attempt, after: 0, limit: 5_000 });
  return { runId, started: shown.started, completed: shown.completed, findings: findings.map((one) => one.finding) };
}

describe('the list of runs', () => {
  it('goes on behind a run that is there, and refuses one that is not', async () => {
    const { runId } = await run({}, 'the-first-of-all');
    expect(await listRuns(db.pool, store, { before: runId, limit: 5 })).toEqual({ runs: [], next: undefined });
    await expect(listRuns(db.pool, store, { before: 'nobody', limit: 5 })).rejects.toMatchObject({
      ...{ code: 'invalid_parameter', message: expect.stringContaining('nobody') },
    });
  });
});

describe('a run', () => {
  it('over thousands of documents that agree finds nothing, and is recorded with who and why', async () => {
    const { runId, started, completed } = await run();
    expect(started.positions).toEqual({ 'projection:document-outcomes': '17' });
    expect(completed).toMatchObject({ findings: 0, counts: { documents: DOCUMENTS, listed: DOCUMENTS } });
    const events = await store.readStream(runStream(runId));
    expect(events.map((event) => event.type)).toEqual(['RunStarted', 'RunCompleted']);
    expect(events[0]?.metadata).toMatchObject({ actor: { name: 'operator' }, reason: 'a test', correlationId: runId });
  });

  it('finds each sort of difference, and another run over the same rows the same with the same digests', async () => {
    await db.pool.query(`DELETE FROM registry_document WHERE document_id = 'd1'`);
    await db.pool.query(`UPDATE registry_document SET status = 'failed', status_at = now() WHERE document_id = 'd2'`);
    await db.pool.query(
      `INSERT INTO registry_document (document_id, request_id, direction, account, status) VALUES ('twin', ` +
        `'r000003', 'outgoing', 'main', 'processed')`,
    );
    await db.pool.query(
      `UPDATE document_outcome SET outcome = NULL, concluded_at = NULL, phase = 'sent', registered_at = now() - ` +
        `interval '90 days' WHERE document_id = 'd4'`,
    );
    const first = await run();
    expect(first.findings.map((one) => [one.kind, one.requestId])).toEqual([
      ['missing_at_registry', 'r000001'],
      ['status_differs', 'r000002'],
      ['held_twice', 'r000003'],
      ['overdue', 'r000004'],
    ]);
    // Rows that were written anew lie elsewhere in the tables.
    await db.pool.query(`UPDATE document_outcome SET comment = 'moved' WHERE registered_position % 3 = 0`);
    const second = await run();
    expect(second.findings).toEqual(first.findings);
    expect(second.started.digests).toEqual(first.started.digests);
    expect(second.completed.findingsDigest).toBe(first.completed.findingsDigest);
  });

  it('leaves documents older than its window alone, but for those without an outcome', async () => {
    const { completed } = await run({ rules: { ...RULES, windowMs: 24 * HOUR_MS } });
    expect(completed.counts).toMatchObject({ documents: 1, overdue: 1, missing_at_registry: 0 });
  });

  it('is recorded once, however often and by however many it is made', async () => {
    const runId = randomUUID();
    await keepRequest(db.pool, {
      runId,
      reason: 'twice',
      actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' },
    });
    const options = { pool: db.pool, store, installation: INSTALLATION, rules: RULES, clock: new VirtualClock() };
    await Promise.all([makeRun(options, runId), makeRun(options, runId)]);
    const { completed, findings } = await run({}, runId);
    expect(await store.readStream(runStream(runId))).toHaveLength(2);
    expect(findings).toHaveLength(completed.findings);
    const { rows } = await db.pool.query<{ n: bigint }>(
      'SELECT count(*) AS n FROM reconciliation_finding WHERE run_id = $1',
      [runId],
    );
    expect(Number(rows[0]?.n)).toBe(completed.findings);
  });

  it('that died between its findings and its events is made again, and shows one set of findings', async () => {
    const runId = randomUUID();
    const dying: Pick<EventStore, 'append' | 'readStream'> = {
      append: () => Promise.reject(new Error('killed')),
      readStream: store.readStream.bind(store),
    };
    await expect(run({ store: dying }, runId)).rejects.toThrow('killed');
    const { findings } = await run({}, runId);
    expect(findings).toHaveLength(4);
    const { rows } = await db.pool.query<{ n: bigint }>(
      'SELECT count(*) AS n FROM reconciliation_finding WHERE run_id = $1',
      [runId],
    );
    expect(Number(rows[0]?.n)).toBe(4);
  });

  it('that begins while a rebuild puts new tables in place reads those, and not what its snapshot saw of them', async () => {
    const before = await run();
    const rebuilding = await db.pool.connect();
    await rebuilding.query('BEGIN');
    await rebuilding.query('LOCK TABLE document_outcome IN ACCESS EXCLUSIVE MODE');
    const running = run();
    await until('the run waits for the table', () => lockIsAwaited(db.pool, 'document_outcome'));
    await rebuilding.query('CREATE TABLE built (LIKE document_outcome INCLUDING ALL)');
    await rebuilding.query('INSERT INTO built SELECT * FROM document_outcome');
    await rebuilding.query('DROP TABLE document_outcome');
    await rebuilding.query('ALTER TABLE built RENAME TO document_outcome');
    await rebuilding.query('COMMIT');
    rebuilding.release();
    const { started, completed } = await running;
    expect(completed.counts).toEqual(before.completed.counts);
    expect(started.digests).toEqual(before.started.digests);
  });

  it('that nobody asked for is none', async () => {
    await expect(
      makeRun({ pool: db.pool, store, installation: INSTALLATION, rules: RULES }, randomUUID()),
    ).rejects.toThrow('nobody asked');
  });
});
