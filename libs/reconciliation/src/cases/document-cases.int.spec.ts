import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { caseIdOf } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { sha256Hex, VirtualClock } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas } from '#read-models';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { inOrder } from '../../test/in-order.js';
import { registryListsSchema } from '../registry-lists/schema.js';
import { keepRequest, reconciliationSchema } from '../runs/request.js';
import { makeRun, type RunRules } from '../runs/run.js';
import { CaseLog } from './case-log.js';
import { openDocumentCases } from './document-cases.js';
import { DEFAULT_DUE_DAYS, dueDaysOf, type Opening } from './opening.js';

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1',
  profile: 'n',
};
const HOUR_MS = 3_600_000;
const RULES: RunRules = {
  ...{ windowMs: 40 * 24 * HOUR_MS, missingAfterMs: HOUR_MS, overdueAfterMs: 24 * HOUR_MS, overdueAfterMsByType: {} },
};

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [
    ...[installationSchema, eventStoreSchema, evidenceSchema, subscriptionsSchema, ...readModelSchemas],
    ...[registryListsSchema, reconciliationSchema],
  ]);
  store = new PostgresEventStore({ pool: db.pool });
  // 1 agrees, 2 is missing at the registry, 3 is overdue, 4 was rejected, 5 failed, 6 stood behind another of a group.
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
        subject_id, operation_date, item_count, phase, waiting_for, held_for, attempts, document_id, outcome, cause,
        error_count, document_sha256, duplicate, registered_at, concluded_at)
     SELECT 'r-' || n, n, n, n::text, 'main', 701, '', '', 1, CASE n WHEN 3 THEN 'sent' ELSE 'concluded' END,
       '[]', '[]', 1, 'd-' || n, CASE WHEN n = 3 THEN NULL WHEN n < 3 THEN 'accepted' WHEN n = 4 THEN 'rejected'
       ELSE 'failed' END,
       CASE n WHEN 6 THEN 'not_processed' END, 0, '', false, now() - interval '2 days',
       CASE n WHEN 3 THEN NULL ELSE now() - interval '47 hours' END FROM generate_series(1, 6) n`,
  );
  await db.pool.query(
    `INSERT INTO registry_document (document_id, request_id, direction, account, status)
     SELECT document_id, request_id, 'outgoing', 'main', CASE request_id WHEN 'r-1' THEN 'processed' ELSE 'failed' END
     FROM document_outcome WHERE request_id NOT IN ('r-2', 'r-3')`,
  );
  await listRead("now() - interval '30 days'");
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const listRead = (from: string) =>
  db.pool.query(
    `INSERT INTO list_cursor (account, list, since, read_at, covered_from) VALUES ('main', 'outgoing', now(), now(),
      ${from}) ON CONFLICT (account, list) DO UPDATE SET covered_from = excluded.covered_from, read_at = now()`,
  );

const logOver = (over: Pick<EventStore, 'append' | 'readStream'> = store): CaseLog =>
  new CaseLog({ db: db.pool, store: over, installation: INSTALLATION });

async function open(runId: string, log = logOver(inOrder(store))): Promise<Opening | undefined> {
  const opening = await openDocumentCases(
    { db: db.pool, store, log, dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 't') },
    runId,
  );
  await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
  return opening;
}

async function made(over: Partial<RunRules> = {}): Promise<string> {
  const runId = randomUUID();
  const actor = { kind: 'person', name: 'anna', authenticatedBy: 'api-key' } as const;
  await keepRequest(db.pool, { runId, reason: 'a test', actor });
  const rules = { ...RULES, ...over };
  await makeRun({ pool: db.pool, store, installation: INSTALLATION, rules, clock: new VirtualClock() }, runId);
  return runId;
}

const cases = async (): Promise<Record<string, string>> => {
  const { rows } = await db.pool.query<{ code: string; document: string; phase: string }>(
    'SELECT code, document, phase FROM reconciliation_case',
  );
  return Object.fromEntries(rows.map(({ code, document, phase }) => [`${code} ${document}`, phase]));
};
const events = async (): Promise<number> =>
  Number((await db.pool.query<{ n: bigint }>("SELECT count(*) AS n FROM event WHERE stream LIKE 'case-%'")).rows[0]?.n);

/** A document of today, of which there is no entry in the list yet. */
async function endedAs(requestId: string, outcome: string | null): Promise<void> {
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
        subject_id, operation_date, item_count, phase, waiting_for, held_for, attempts, document_id, outcome,
        error_count, document_sha256, duplicate, registered_at, concluded_at)
     VALUES ($1, substr($1, 3)::bigint, substr($1, 3)::bigint, $1, 'main', 701, '', '', 1, 'concluded', '[]', '[]', 1,
       'd-' || $1, $2, 0, '', false, now(), now())
     ON CONFLICT (request_id) DO UPDATE SET outcome = excluded.outcome`,
    [requestId, outcome],
  );
  await db.pool.query(
    `INSERT INTO registry_document (document_id, request_id, direction, account, status)
     VALUES ('d-' || $1, $1, 'outgoing', 'main', $2) ON CONFLICT (document_id) DO UPDATE SET status = excluded.status`,
    [requestId, outcome === 'rejected' ? 'failed' : 'processed'],
  );
}

/** Runs of packs find a rejected document by its packs, and then not any more. */
async function packsAreOver(document: string): Promise<void> {
  const [code, cause] = ['rejected_document', { kind: 'document', document } as const];
  const caseId = caseIdOf(code, cause);
  const run = (day: number) =>
    ({ kind: 'packs', id: `packs-${day}`, moment: `2026-01-0${day}T00:00:00.000Z` }) as const;
  const findingsSha256 = sha256Hex('');
  const about = { caseId, code, cause, severity: 'critical', dueAt: run(1).moment } as const;
  const act = { actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' }, at: '' } as const;
  await logOver().tell({ type: 'See', ...about, seen: { run: run(1), count: 1, findingsSha256 } }, { ...act, id: 's' });
  await logOver().tell({ type: 'Miss', caseId, run: run(2), findingsSha256 }, { ...act, id: 'm' });
  await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
}

const ALL = {
  ...{ 'missing_in_registry r-2': 'open', 'overdue_document r-3': 'open', 'rejected_document r-4': 'open' },
  ...{ 'failed_document r-5': 'open', 'halted_in_group r-6': 'open' },
};

describe('cases of a comparison of documents', () => {
  let first: string;

  it('are opened for findings, and for documents that ended badly; with who asked and why', async () => {
    first = await made();
    expect(await open(first)).toMatchObject({ opened: 5, resolved: 0 });
    expect(await cases()).toEqual(ALL);
    const caseId = caseIdOf('missing_in_registry', { kind: 'document', document: 'r-2' });
    const [event] = await store.readStream(`case-${caseId}`);
    expect(event).toMatchObject({ type: 'CaseOpened', metadata: { actor: { name: 'anna' }, reason: 'a test' } });
    expect(event?.data).toMatchObject({ severity: 'critical', seen: { run: { id: first }, rows: { from: 1, to: 2 } } });
  });

  it('are the same ones for the same run, for another run, and after a death in between', async () => {
    expect(await open(first)).toMatchObject({ opened: 0, unchanged: 5 });
    expect(await events()).toBe(5);
    const second = await made();
    let left = 2;
    const append: EventStore['append'] = (...args) =>
      (left -= 1) < 0 ? Promise.reject(new Error('killed')) : store.append(...args);
    const dying = logOver({ append, readStream: store.readStream.bind(store) });
    await expect(open(second, dying)).rejects.toThrow('killed');
    await open(second);
    await open(second);
    expect(await events()).toBe(10);
    expect(await cases()).toEqual(ALL);
  });

  it('are not resolved by a run that did not cover them: another window, a list with a gap', async () => {
    await db.pool.query(
      "UPDATE document_outcome SET registered_at = now() - interval '20 days' WHERE request_id <> 'r-3'",
    );
    await open(await made({ windowMs: 10 * 24 * HOUR_MS }));
    expect(await cases()).toEqual(ALL);
    await listRead("now() - interval '19 days'");
    await open(await made());
    expect(await cases()).toEqual(ALL);
    await listRead("now() - interval '30 days'");
  });

  it('are not resolved by a run of higher limits, nor is one missing that has ended once more since', async () => {
    expect(await open(await made({ missingAfterMs: 100 * HOUR_MS, overdueAfterMs: 100 * HOUR_MS }))).toMatchObject({
      ...{ resolved: 0, notCovered: 2 },
    });
    expect(await cases()).toEqual(ALL);
    const ended = "UPDATE document_outcome SET concluded_at = now() - $1::interval WHERE request_id = 'r-2'";
    await db.pool.query(ended, ['1 minute']);
    expect(await open(await made())).toMatchObject({ resolved: 0, notCovered: 1 });
    await db.pool.query(ended, ['47 hours']);
  });

  it('are opened, and none is resolved, with a warning, by a run that does not keep all of its findings', async () => {
    const cut: Pick<EventStore, 'readStream'> = {
      readStream: async (...asked) =>
        (await store.readStream(...asked)).map((one) => ({
          ...one,
          data: one.type === 'RunCompleted' ? { ...one.data, findings: 9, findingsLeftOut: 3 } : one.data,
        })),
    };
    const warnings: string[] = [];
    const options = { db: db.pool, log: logOver(), dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 't') };
    await openDocumentCases({ ...options, store: cut, onWarning: (text) => warnings.push(text) }, await made());
    expect(warnings).toEqual(['3 of 9 findings are not kept: they open no case, and none is resolved']);
  });

  it('that a person resolved come back when a document ends once more, and not for what was known then', async () => {
    const caseId = caseIdOf('failed_document', { kind: 'document', document: 'r-5' });
    const by = { kind: 'person', resolution: 'written_off', note: 'told by a new document' } as const;
    const at = new Date().toISOString();
    const actor = { kind: 'person', name: 'anna', authenticatedBy: 'api-key' } as const;
    await logOver().tell({ type: 'Resolve', caseId, at, by }, { actor, id: 'resolved', at });
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    expect(await open(await made())).toMatchObject({ reopened: 0 });
    expect(await cases()).toEqual({ ...ALL, 'failed_document r-5': 'resolved' });
    await db.pool.query("UPDATE document_outcome SET concluded_at = now() WHERE request_id = 'r-5'");
    expect(await open(await made())).toMatchObject({ reopened: 1 });
    expect(await cases()).toEqual(ALL);
  });

  it('are not resolved while the document that was sent in place of one is in flight, or when it was rejected', async () => {
    await db.pool.query("UPDATE document_outcome SET resent_as = 'r-7' WHERE request_id = 'r-4'");
    expect(await open(await made())).toMatchObject({ resolved: 0, notCovered: 1 });
    await endedAs('r-7', null);
    expect(await open(await made())).toMatchObject({ resolved: 0, notCovered: 1 });
    await endedAs('r-7', 'rejected');
    // The other one has a case of its own.
    expect(await open(await made())).toMatchObject({ opened: 1, resolved: 0, notCovered: 1 });
    await db.pool.query("UPDATE document_outcome SET resent_as = 'r-8' WHERE request_id = 'r-7'");
    await endedAs('r-8', null);
    expect(await open(await made())).toMatchObject({ resolved: 0, notCovered: 2 });
    expect(await cases()).toEqual({ ...ALL, 'rejected_document r-7': 'open' });
  });

  it('are resolved by the run that no longer finds them, also where what was sent in place of one is accepted', async () => {
    await endedAs('r-8', 'accepted');
    await db.pool.query(
      `INSERT INTO registry_document (document_id, request_id, direction, account, status)
       VALUES ('d-2', 'r-2', 'outgoing', 'main', 'processed')`,
    );
    expect(await open(await made())).toMatchObject({ resolved: 3 });
    expect(await cases()).toEqual({
      ...ALL,
      'missing_in_registry r-2': 'resolved',
      'rejected_document r-4': 'resolved',
      'rejected_document r-7': 'resolved',
    });
  });

  it('come back under the same key when a later run finds them', async () => {
    await db.pool.query("DELETE FROM registry_document WHERE document_id = 'd-2'");
    expect(await open(await made())).toMatchObject({ reopened: 1 });
    expect(await cases()).toMatchObject({ ...ALL, 'rejected_document r-4': 'resolved' });
  });

  it('are opened for a document that waited longer than the window is, and ended badly in it', async () => {
    await endedAs('r-9', 'rejected');
    const old =
      "UPDATE document_outcome SET registered_at = now() - interval '50 days', concluded_at = now() - $1::interval";
    await db.pool.query(`${old} WHERE request_id = 'r-9'`, ['41 days']);
    await open(await made());
    expect(await cases()).not.toHaveProperty('rejected_document r-9');
    await db.pool.query(`${old} WHERE request_id = 'r-9'`, ['1 hour']);
    expect(await open(await made())).toMatchObject({ opened: 1 });
    expect(await cases()).toMatchObject({ 'rejected_document r-9': 'open' });
  });

  it('that packs are over for are resolved behind the window, and not while a resend is not accepted', async () => {
    for (const document of ['r-11', 'r-12']) await endedAs(document, 'rejected');
    expect(await open(await made())).toMatchObject({ opened: 2 });
    for (const document of ['r-11', 'r-12']) await packsAreOver(document);
    await db.pool.query(
      `UPDATE document_outcome SET registered_at = now() - interval '50 days',
        concluded_at = now() - interval '49 days',
        resent_as = CASE request_id WHEN 'r-12' THEN 'r-13' END WHERE request_id IN ('r-11', 'r-12')`,
    );
    await endedAs('r-13', null);
    expect(await open(await made())).toMatchObject({ resolved: 1 });
    const both = { 'rejected_document r-11': 'resolved', 'rejected_document r-12': 'open' };
    expect(await cases()).toMatchObject(both);
    await endedAs('r-13', 'rejected');
    await open(await made());
    expect(await cases()).toMatchObject(both);
    await endedAs('r-13', 'accepted');
    await open(await made());
    expect(await cases()).toMatchObject({ 'rejected_document r-12': 'resolved' });
  });

  it('that packs are over for are resolved when the rejected resend has left the window, too', async () => {
    const resends = [['r-14', 'r-15'] as const, ['r-16', 'r-17'] as const, ['r-18', 'r-19'] as const];
    for (const document of resends.flat()) await endedAs(document, 'rejected');
    expect(await open(await made())).toMatchObject({ opened: 6 });
    for (const [document, resentAs] of resends)
      await db.pool.query('UPDATE document_outcome SET resent_as = $2 WHERE request_id = $1', [document, resentAs]);
    const code = 'rejected_document';
    for (const document of ['r-14', 'r-16', 'r-18', 'r-19']) await packsAreOver(document);
    await db.pool.query(
      `UPDATE document_outcome SET registered_at = now() - interval '50 days', concluded_at = now() - interval '49 days'
        WHERE request_id IN ('r-14', 'r-15', 'r-16', 'r-18', 'r-19')`,
    );
    // Of the first, the resend has not ended; of the second, it lies in the window; of the third, it is behind it.
    await endedAs('r-15', null);
    await open(await made());
    expect(await cases()).toMatchObject({
      ...{ [`${code} r-14`]: 'open', [`${code} r-16`]: 'open', [`${code} r-17`]: 'open' },
      ...{ [`${code} r-18`]: 'resolved', [`${code} r-19`]: 'resolved' },
    });
  });
});
