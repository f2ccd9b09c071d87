import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PostgresEventStore } from '#event-store';
import { systemClock } from '#kernel';
import {
  FINDING_COLUMNS,
  noteRemoved,
  readRun,
  recordPackRun,
  recordPackRunFailure,
  removeFindings,
  runsFolder,
} from '#reconciliation';
import { writeFinishedRun } from '../../../../libs/reconciliation/test/finished-run.js';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { TestHarness } from '../../test/test-harness.js';
import { Reconciliations } from './reconciliations.js';

const PACK = '046012345678930000000000001';
const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'loopback' } as const;
const FORMATS = ['application/json', 'application/x-ndjson', 'text/csv'];

let harness: TestHarness;
let folder: TemporaryFolder;
let store: PostgresEventStore;
beforeAll(async () => {
  folder = await temporaryFolder();
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { segmentsFolder: folder.path });
  store = new PostgresEventStore({ pool: harness.db.pool });
});
afterAll(async () => {
  await store.close();
  await harness.stop();
  await folder.remove();
});

const parts = () => ({
  ...{ pool: harness.db.pool, store, clock: systemClock },
  installation: { id: '00000000-0000-4000-8000-000000000000', participant: 'own', profile: 'none' } as never,
});
const asked = async (packs?: object): Promise<string> =>
  (await harness.post({ reason: 'a pallet is disputed', ...(packs && { packs }) }, '/v1/reconciliations')).json<{
    id: string;
  }>().id;
const findings = (runId: string, query = '', accept = 'application/json') =>
  harness.ask(`/v1/reconciliations/${runId}/findings${query}`, { headers: { accept } });

/** In no format is it a list without findings. */
async function isNotThere(runId: string, why: RegExp): Promise<void> {
  for (const accept of FORMATS) {
    const { status, json } = await findings(runId, '', accept);
    expect([accept, status, json().detail]).toEqual([accept, 404, expect.stringMatching(why)]);
  }
}

/** A run about packs with these findings, in the log and in files. */
async function completedRun(count: number, more: { namedOnly?: true } = {}): Promise<string> {
  const runId = await asked({});
  await mkdir(join(runsFolder(folder.path), runId), { recursive: true });
  const comparison = join(runsFolder(folder.path), runId, 'comparison');
  await writeFinishedRun(comparison, {
    findings: Array.from({ length: count }, () => ({ item: PACK, code: 'missing_locally', severity: 'critical' })),
    ...{ registry: [], moment: '2026-11-23T05:00:00.000Z' },
  });
  const result = { findings: count, counts: {}, quieted: {}, unseen: [], digest: 'a'.repeat(64), ...more };
  const made = { run: await readRun(comparison), result: result as never, calls: 0 };
  await recordPackRun(parts(), { runId, reason: 'a pallet is disputed', actor: ACTOR }, made);
  return runId;
}

/** A run about documents with two findings. */
async function documentRun(over: object = {}): Promise<string> {
  const runId = await asked();
  const started = { runId, asOf: '2026-11-23T05:00:00.000Z', positions: {}, inputsDigest: 'b'.repeat(64) };
  const rest = { counts: {}, notOurs: {}, digest: 'c'.repeat(64) };
  const completed = { runId, attempt: 'one', findings: 2, ...rest, ...over };
  const finding = { kind: 'missing_at_registry', reasonCode: 'missing_in_registry', requestId: 'r', detail: {} };
  await harness.db.pool.query(
    `INSERT INTO reconciliation_finding (run_id, attempt, n, kind, finding)
     SELECT $1, 'one', n, 'missing_at_registry', $2 FROM generate_series(1, 2) n`,
    [runId, JSON.stringify(finding)],
  );
  const about = { participant: 'own', profile: 'none', softwareVersion: '1', effectiveAt: started.asOf };
  const metadata = { ...about, actor: ACTOR, reason: 'a test', correlationId: runId, causationId: runId };
  const event = (type: string, data: object) => ({ id: randomUUID(), type, schemaVersion: 1, data, metadata });
  await store.append(`run-${runId}`, 'none', [event('RunStarted', started), event('RunCompleted', completed)]);
  return runId;
}

it('a run about packs is refused through an account that there is not: no worker would read for it', async () => {
  const ask = (account: string) =>
    harness.post({ reason: 'a pallet is disputed', packs: { account } }, '/v1/reconciliations');
  expect((await ask('mian')).json()).toMatchObject({
    ...{ status: 422, code: 'unknown_account', field: '/packs/account' },
    detail: expect.stringContaining('known are main, north'),
  });
  expect((await ask('north')).status).toBe(202);
});

it.each([
  ['branch', { stock: 'stock-1', branch: 'P1' }, 'it chooses the newest snapshot, and stock names one'],
  ['incremental', { incremental: {} }, 'no account is named, so the registry is not read'],
  ['fresh_hours', { account: 'main', way: 'filter', fresh_hours: 4 }, 'the way is filter, and only auto chooses by it'],
])('a run about packs is refused with %s where that would change nothing', async (name, packs, why) => {
  const answer = await harness.post({ reason: 'a pallet is disputed', packs }, '/v1/reconciliations');
  expect(answer.json()).toMatchObject({ status: 400, field: `/packs/${name}`, detail: `${name}: ${why}` });
});

describe('the findings of a comparison as a list', () => {
  it('are refused while it is not made, of documents and of packs', async () => {
    for (const runId of [await asked(), await asked({})]) await isNotThere(runId, /the comparison is not made yet$/);
  });

  it('are refused when it has failed, with what it met', async () => {
    const runId = await asked({});
    await recordPackRunFailure(parts(), { runId, reason: 'x', actor: ACTOR }, 'the stock is 40 hours old');
    await isNotThere(runId, /the comparison has failed: the stock is 40 hours old$/);
  });

  it('of documents are no shorter file where they are removed while it is read', async () => {
    const { pool } = harness.db;
    const runId = await documentRun();
    const parts = { pool, store, queue: {} as never, packFindings: {} as never, accounts: [] };
    const run = await new Reconciliations(parts).findWithFindings(runId);
    await pool.query("UPDATE reconciliation_request SET requested_at = now() - interval '9 days' WHERE run_id = $1", [
      runId,
    ]);
    expect(await removeFindings(pool, { keptDays: 1, limit: 1 })).toBe(1);
    const rest = new Reconciliations(parts).findings(run, { after: 0, limit: 10 });
    await expect(rest).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('were removed') });
  });

  it('of documents say how many are not kept', async () => {
    const runId = await documentRun({ findings: 5, findingsLeftOut: 3 });
    const { json } = await harness.ask(`/v1/reconciliations/${runId}`);
    expect(json()).toMatchObject({ result: { findings: 5, findings_left_out: 3 } });
  });

  it('are refused when they were removed, with the moment', async () => {
    const runId = await completedRun(1);
    await noteRemoved(harness.db.pool, runId);
    await isNotThere(runId, /they were removed at 20\d\d-\d\d-\d\dT/);
  });

  it('are listed when it was made, also where there are none', async () => {
    const [some, none] = [await completedRun(2), await completedRun(0)];
    const { status, json } = await findings(some);
    expect([status, json<{ items: { item: string }[] }>().items.map(({ item }) => item)]).toEqual([200, [PACK, PACK]]);
    expect((await findings(some, '', 'text/csv')).text.trim().split('\n')).toHaveLength(3);
    expect(Object.keys(json<{ items: object[] }>().items[0] ?? {}).sort()).toEqual([...FINDING_COLUMNS].sort());
    expect((await findings(none)).json()).toEqual({ items: [] });
  });
});

describe('a run about packs', () => {
  it('has no list of findings of its own that could seem empty', async () => {
    const answer = (await harness.ask(`/v1/reconciliations/${await completedRun(2)}`)).json<object>();
    expect(answer).toMatchObject({ packs: { findings: 2 } });
    expect(answer).not.toHaveProperty('findings');
  });

  it('says where the registry was asked by name alone', async () => {
    const told = async (runId: string) =>
      (await harness.ask(`/v1/reconciliations/${runId}`)).json<{ packs: object }>().packs;
    expect(await told(await completedRun(0, { namedOnly: true }))).toMatchObject({ registry_named_only: true });
    expect(await told(await completedRun(0))).not.toHaveProperty('registry_named_only');
  });
});

describe('a filter of the other kind', () => {
  it('is refused, with its name', async () => {
    const runId = await completedRun(1);
    expect((await findings(runId, '?kind=overdue')).json()).toMatchObject({
      ...{ code: 'invalid_parameter', field: 'kind', status: 400 },
    });
    expect((await findings(runId, '?code=missing_locally')).status).toBe(200);
    const ofDocuments = await asked();
    await documentsRun(ofDocuments);
    expect((await findings(ofDocuments, '?kind=overdue')).json()).toEqual({ items: [] });
    for (const name of ['code', 'place', 'series'])
      expect((await findings(ofDocuments, `?${name}=x`)).json()).toMatchObject({ field: name, status: 400 });
    expect((await findings(ofDocuments, '?severity=critical')).json()).toMatchObject({ field: 'severity' });
  });
});

/** A comparison of documents that found nothing, as the log has it. */
async function documentsRun(runId: string): Promise<void> {
  const metadata = {
    ...{ participant: 'own', actor: ACTOR, softwareVersion: '1', profile: 'none', correlationId: 'c' },
    ...{ causationId: 'c', effectiveAt: '2026-11-23T05:00:00.000Z' },
  };
  const event = (type: string, data: object) => ({
    ...{ id: crypto.randomUUID(), type, schemaVersion: 1, data, metadata },
  });
  await store.append(`run-${runId}`, 'none', [
    event('RunStarted', { runId }),
    event('RunCompleted', { runId, attempt: 'a' }),
  ]);
}
