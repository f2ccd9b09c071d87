import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { documentReading } from '#documents';
import { caseIdOf, type CaseCause, type DocumentCommand } from '#domain';
import { PostgresEventStore, type EventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { systemClock } from '#kernel';
import { caseDetail, projections } from '#read-models';
import { Duck } from '#duckdb';
import { CaseLog, closeRemedies, runsFolder } from '#reconciliation';
import { catchUpProjection } from '#subscriptions';
import { writeFinishedRun } from '../../../../libs/reconciliation/test/finished-run.js';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { caseActionResults, casePage } from '../api/case-answers.js';
import { Cases } from './cases.js';

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1',
  profile: 'n',
};
const GTIN = '04600000000015';
const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;

let folder: TemporaryFolder;
let harness: TestHarness;
let store: PostgresEventStore;
let log: CaseLog;
beforeAll(async () => {
  folder = await temporaryFolder();
  harness = await TestHarness.start(await testDatabase(), { segmentsFolder: folder.path });
  store = new PostgresEventStore({ pool: harness.db.pool });
  log = new CaseLog({ db: harness.db.pool, store, installation: INSTALLATION });
});
afterAll(async () => {
  await store.close();
  await Promise.all([harness.stop(), folder.remove()]);
});

/** Cases, and what became of documents; receipts are none of these tests' concern. */
async function projected(): Promise<void> {
  const { pool } = harness.db;
  const options = { evidence: new PostgresEvidenceStore({ pool }), documents: documentReading(), store };
  for (const projection of projections(options))
    if (['cases', 'document-outcomes'].includes(projection.name)) await catchUpProjection({ projection, store, pool });
}
const ends = async (commandId: string, result: 'accepted' | 'rejected'): Promise<string> => {
  const requestId = await harness.run(commandId, answered(result), { projected: false });
  await projected();
  return requestId;
};
let made = 0;
interface Over {
  severity?: 'critical' | 'warning';
  dueAt?: string;
  cause?: CaseCause;
  code?: string;
  places?: string[];
  /** Digest of the inputs of its run, and where its items lie. */
  run?: string;
  rows?: { file: string; from: number; to: number };
}

/** A run about packs that found these, as the reconciler leaves it in its folder. */
async function runOfFindings(items: string[]): Promise<{ inputs: string; rows: NonNullable<Over['rows']> }> {
  const out = join(runsFolder(folder.path), randomUUID(), 'comparison');
  await mkdir(dirname(out), { recursive: true });
  const findings = items.map((item) => ({ item, code: 'missing_locally', severity: 'warning' }));
  await writeFinishedRun(out, { findings, registry: [], moment: '2026-03-01T00:00:00.000Z' });
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(folder.path, 'duck') });
  const file = join(out, 'case-items.parquet');
  const rows = ['beside', ...items].map((item) => `('${item}')`).join(', ');
  await duck.run(`COPY (SELECT item FROM (VALUES ${rows}) t(item)) TO '${file}' (FORMAT parquet)`);
  await duck.close();
  const { inputs } = JSON.parse(await readFile(join(out, 'run.json'), 'utf8')) as { inputs: string };
  return { inputs, rows: { file: 'case-items.parquet', from: 1, to: items.length + 1 } };
}

const SHA = 'a'.repeat(64);
const answered = (result: 'accepted' | 'rejected'): DocumentCommand[] => [
  { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'sent', documentId: 'd-1', answerSha256: SHA } },
  { type: 'RecordReceipt', receipt: { receiptSha256: SHA, result, acceptedAt: '2026-01-15T09:00:00Z', errorCount: 0 } },
];
/** A case that a run of this day found. */
async function opened(day = 1, over: Over = {}) {
  const { severity = 'warning', dueAt = '2999-01-01T00:00:00.000Z', code = 'missing_locally' } = over;
  const cause = over.cause ?? { kind: 'series', gtin: GTIN, series: `S${(made += 1)}`, place: 'P1' };
  const caseId = caseIdOf(code, cause);
  const moment = `2026-03-${String(day).padStart(2, '0')}T00:00:00.000Z`;
  const run = { kind: 'packs', id: over.run ?? `run-${day}`, moment } as const;
  const places = over.places ?? null;
  const seen = { run, count: 5, findingsSha256: SHA, places, rows: over.rows ?? { file: 'f', from: 0, to: 5 } };
  const act = { actor: { kind: 'system', name: 't', authenticatedBy: 'process' }, id: `t-${day}`, at: moment } as const;
  await log.tell({ type: 'See', caseId, code, cause, severity, dueAt, seen }, act);
  await projected();
  return caseId;
}
const act = (caseId: string, body: object) =>
  harness.post({ reason: 'for the test', ...body }, `/v1/cases/${caseId}/actions`);
const show = async (caseId: string) => caseDetail.parse((await harness.ask(`/v1/cases/${caseId}`)).json());
async function list(query: string): Promise<string[]> {
  await projected();
  return casePage.parse((await harness.ask(`/v1/cases?${query}`)).json()).items.map((one) => one.case_id);
}

describe('a text that somebody has cut within a character', () => {
  it('is refused with its place, for the row of the case could not hold it, nor any row after it', async () => {
    const caseId = await opened();
    const cut = 'Ada \u{1F600}'.slice(0, -1);
    const answer = await act(caseId, { action: 'assign', assignee: cut });
    expect([answer.status, answer.json()]).toMatchObject([400, { code: 'invalid_command', field: '/assignee' }]);
    expect((await act(caseId, { action: 'comment', reason: `${cut} asked` })).json()).toMatchObject({
      field: '/reason',
      detail: expect.stringMatching(/half of a surrogate pair, at position 4/),
    });
    expect((await act(caseId, { action: 'assign', assignee: 'Ada \u{1F600}' })).status).toBeLessThan(300);
    await projected();
    expect(await show(caseId)).toMatchObject({ assignee: 'Ada \u{1F600}' });
  });
});

describe('cases over HTTP', () => {
  it('are shown with their history, and what persons did in it, with who and why', async () => {
    const id = await opened();
    expect(caseDetail.parse((await act(id, { action: 'acknowledge' })).json())).toMatchObject({
      state: 'acknowledged',
    });
    await act(id, { action: 'assign', assignee: 'anna' });
    await act(id, { action: 'comment', reason: 'looked behind the rack' });
    await act(id, { action: 'explain', reason: 'it is on its way back' });
    await act(id, { action: 'resolve', resolution: 'corrected_here', reason: 'found again' });
    const shown = await show(id);
    expect(shown).toMatchObject({
      ...{ state: 'resolved', assignee: 'anna', resolved_by: 'person', resolution: 'corrected_here', item_count: 5 },
    });
    expect(shown.timeline.map(({ type }) => type)).toEqual([
      ...['CaseOpened', 'CaseAcknowledged', 'CaseAssigned', 'CaseCommented', 'CaseExplained', 'CaseResolved'],
    ]);
    const events = await store.readStream(`case-${id}`);
    expect(events[2]?.metadata).toMatchObject({
      reason: 'for the test',
      actor: { kind: 'person' },
      participant: 'own',
    });
  });

  it('are reopened by a person, and by a later run, and not by a run from before they were resolved', async () => {
    const id = await opened();
    const resolve = { action: 'resolve', resolution: 'false_alarm' };
    expect((await act(id, resolve)).status).toBe(200);
    expect((await act(id, resolve)).status).toBe(200);
    for (const other of [{ action: 'acknowledge' }, { ...resolve, resolution: 'other' }, { action: 'explain' }])
      expect((await act(id, other)).json()).toMatchObject({ status: 409, code: 'case_conflict', item: id });
    await opened(9, { cause: { kind: 'series', gtin: GTIN, series: `S${made}`, place: 'P1' } });
    expect((await show(id)).state).toBe('resolved');
    await act(id, { action: 'reopen' });
    expect(await show(id)).toMatchObject({ state: 'open', runs_seen: 1 });
  });

  it('are split: the part is a case of its own, once', async () => {
    const id = await opened();
    const split = { action: 'split', items: [pack(2), pack(1), pack(1)] };
    const first = caseDetail.parse((await act(id, split)).json());
    const second = caseDetail.parse((await act(id, split)).json());
    expect([first.parts, first.item_count, second.parts]).toEqual([second.parts, 3, [expect.any(String)]]);
    const part = await show(first.parts[0] as string);
    expect(part).toMatchObject({ part_of: id, item_count: 2, items: [pack(1), pack(2)], gtin: GTIN, state: 'open' });
    expect((await act(part.case_id, split)).json()).toMatchObject({ code: 'case_conflict' });
    const all = { action: 'split', items: [3, 4, 5].map(pack) };
    expect((await act(id, all)).json()).toMatchObject({
      code: 'case_conflict',
      detail: expect.stringContaining('stay'),
    });
    expect((await act(id, { action: 'split', items: ['0460'] })).json()).toMatchObject({
      status: 400,
      field: '/items/0',
    });
  });

  it('are split by their own items alone: others are named, as far as the files of the run are here', async () => {
    const other = `04600000000022${'1'.padStart(13, '0')}`;
    const elsewhere = await opened();
    expect((await act(elsewhere, { action: 'split', items: [pack(1), other] })).json()).toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', field: '/items', item: other },
    });
    const { inputs, rows } = await runOfFindings([pack(1), pack(2), pack(3)]);
    const id = await opened(1, { run: inputs, rows });
    expect((await act(id, { action: 'split', items: [pack(1), pack(4)] })).json()).toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', field: '/items', item: pack(4) },
    });
    expect((await show(id)).parts).toEqual([]);
    expect((await act(id, { action: 'split', items: [pack(1)] })).status).toBe(200);
    // It lies in the part already.
    expect((await act(id, { action: 'split', items: [pack(1), pack(2)] })).json()).toMatchObject({
      ...{ status: 400, item: pack(1) },
    });
  });

  it('are acted on together for one reason: one that it does not fit does not stop the others', async () => {
    const [open, resolved, unknown] = [await opened(), await opened(), '0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55'];
    await act(resolved, { action: 'resolve', resolution: 'other' });
    const body = { action: 'assign', assignee: 'ben', reason: 'his branch', cases: [open, resolved, unknown, open] };
    const { items } = caseActionResults.parse((await harness.post(body, '/v1/cases/actions')).json());
    expect(items.map(({ case_id, done }) => [case_id, done])).toEqual([
      [open, true],
      [resolved, false],
      [unknown, false],
    ]);
    expect(await list('assignee=ben')).toEqual([open]);
    const tooMany = { ...body, cases: Array.from({ length: 501 }, () => open) };
    expect((await harness.post(tooMany, '/v1/cases/actions')).status).toBe(400);
  });

  it('are listed by what a person would ask for, page by page, and as files', async () => {
    const late = await opened(1, { severity: 'critical', dueAt: '2026-03-05T00:00:00.000Z' });
    const container = await opened(1, { cause: { kind: 'container', container: '046012345678900031' } });
    const document = await opened(1, { cause: { kind: 'document', document: 'r-1' } });
    expect(await list('overdue=true')).toEqual([late]);
    expect(await list('severity=critical&state=open&code=missing_locally&place=P1')).toEqual([late]);
    expect(await list('container=046012345678900031')).toEqual([container]);
    expect(await list('document=r-1')).toEqual([document]);
    expect(await list('gtin=1')).toEqual([]);
    const everything = await list('');
    // Whoever sends the flag always misses no open case by it.
    expect(await list('unresolved=false')).toEqual(everything);
    expect((await list('unresolved=true')).length).toBeLessThan(everything.length);
    const walked: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = casePage.parse((await harness.ask(`/v1/cases?limit=2${cursor}`)).json());
      walked.push(...page.items.map((one) => one.case_id));
      cursor = page.next_cursor === undefined ? undefined : `&cursor=${page.next_cursor}`;
    }
    expect(walked).toEqual(everything);
    const csv = await harness.ask('/v1/cases?unresolved=true', { headers: { accept: 'text/csv' } });
    expect(csv.text.split('\r\n')[0]).toContain('case_id,code,severity,state');
    expect(csv.text).toContain(`${container},missing_locally`);
    expect((await harness.ask('/v1/cases?colour=red')).json()).toMatchObject({ code: 'invalid_parameter' });
  });

  it('have their suggested document sent once, and are resolved by its accepted receipt, and not by another', async () => {
    const cause: CaseCause = { kind: 'container', container: '046012345678900055' };
    const id = await opened(1, { cause, code: 'container_mismatch', places: ['00000000100101'] });
    expect(await show(id)).toMatchObject({ suggested_action: 'unpack' });
    const release = () => harness.post({ reason: 'it is empty', account: 'main' }, `/v1/cases/${id}/releases`);
    const first = caseDetail.parse((await release()).json());
    expect(caseDetail.parse((await release()).json()).remedy_request_id).toBe(first.remedy_request_id);
    await ends(`case-${id}-0`, 'rejected');
    expect(await closeRemedies(harness.db.pool, log)).toBe(1);
    const again = await show(id);
    expect([again.state, again.suggested_action, again.remedy_request_id]).toEqual(['open', 'unpack', undefined]);
    await release();
    await ends(`case-${id}-1`, 'accepted');
    expect(await closeRemedies(harness.db.pool, log)).toBe(1);
    expect(await closeRemedies(harness.db.pool, log)).toBe(0);
    expect(await show(id)).toMatchObject({ state: 'resolved', resolved_by: 'receipt' });
    const resolved = (await store.readStream(`case-${id}`)).at(-1);
    expect(resolved?.data).toMatchObject({ by: { receiptSha256: 'a'.repeat(64), documentId: 'd-1' } });
    expect((await release()).json()).toMatchObject({ status: 409, code: 'case_conflict' });
    expect((await harness.post({ reason: 'no way' }, `/v1/cases/${await opened()}/releases`)).json()).toMatchObject({
      detail: expect.stringContaining('no document is suggested'),
    });
  });

  it('of a rejected document have it sent again, under a command of the case', async () => {
    const xml = arrival();
    expect((await harness.post({ command_id: 'bad', account: 'north', xml })).status).toBe(202);
    const document = await ends('bad', 'rejected');
    const id = await opened(1, { cause: { kind: 'document', document }, code: 'rejected_document' });
    const answer = await harness.post({ reason: 'the supplier has shipped it now' }, `/v1/cases/${id}/releases`);
    const { remedy_request_id: sent } = caseDetail.parse(answer.json());
    expect((await harness.ask(`/v1/commands/case-${id}-0`)).json()).toMatchObject({ request_id: sent });
    await ends(`case-${id}-0`, 'accepted');
    expect(await closeRemedies(harness.db.pool, log)).toBe(1);
    expect(await show(id)).toMatchObject({ state: 'resolved', resolved_by: 'receipt' });
  });

  it('of a rejected document that was sent again otherwise say so, and send nothing', async () => {
    expect((await harness.post({ command_id: 'bad 2', account: 'north', xml: arrival() })).status).toBe(202);
    const document = await ends('bad 2', 'rejected');
    const id = await opened(1, { cause: { kind: 'document', document }, code: 'rejected_document' });
    const given = { reason: 'once more', command_id: `case-${id}-0`, account: 'north' };
    const resent = (await harness.post(given, `/v1/documents/${document}/resends`)).json() as { request_id: string };
    const again = await harness.post({ reason: 'once more', account: 'main' }, `/v1/cases/${id}/releases`);
    expect(again.json()).toMatchObject({ code: 'not_resendable', detail: expect.stringContaining(resent.request_id) });
    expect(await show(id)).toMatchObject({ state: 'open', suggested_action: 'resend' });
    expect((await harness.ask(`/v1/commands/case-${id}-1`)).status).toBe(404);
  });

  it('of which one changes all the time are acted on all the same, each by itself', async () => {
    const [busy, calm] = [await opened(), await opened()];
    const { pool } = harness.db;
    const conflicting: Pick<EventStore, 'append' | 'readStream'> = {
      readStream: (...asked) => store.readStream(...asked),
      append: (stream, ...rest) =>
        stream === `case-${busy}`
          ? Promise.resolve({ kind: 'conflict', version: 0 } as never)
          : store.append(stream, ...rest),
    };
    const cases = new Cases({
      ...{ pool, store: conflicting, installationId: INSTALLATION.id, says: INSTALLATION, clock: systemClock },
      ...{ dueDays: {} as never, resends: {} as never, intake: {} as never, segmentsFolder: undefined },
    });
    const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
    const asked = { cases: [busy, calm], action: 'acknowledge', reason: 'for the test' } as const;
    expect(await cases.actOnMany(asked as never, actor)).toEqual([
      { caseId: busy, done: false, why: `case ${busy} changes all the time; try again` },
      { caseId: calm, done: true },
    ]);
  });

  it('that nobody opened are not found, and an action without a reason is refused', async () => {
    const unknown = '0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55';
    expect((await act(unknown, { action: 'acknowledge' })).json()).toMatchObject({ status: 404, code: 'not_found' });
    expect((await harness.ask(`/v1/cases/${unknown}`)).status).toBe(404);
    expect((await act(await opened(), { action: 'acknowledge', reason: ' ' })).status).toBe(400);
    expect((await act(await opened(), { action: 'forget' })).status).toBe(400);
  });
});
