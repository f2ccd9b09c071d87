import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { caseIdOf, type CaseCommand } from '#domain';
import { PostgresEventStore, type EventStore } from '#event-store';
import { PedigreeError, systemClock } from '#kernel';
import { caseDetail, projections } from '#read-models';
import { CaseLog } from '#reconciliation';
import { catchUpProjection } from '#subscriptions';
import { documentReading } from '#documents';
import { PostgresEvidenceStore } from '#evidence';
import { installationId } from '#postgres';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { gatewayConfig } from '../config.js';
import { startGateway } from '../gateway.js';
import { Cases, type CasesOptions } from './cases.js';

const SAYS = { participant: 'own', softwareVersion: '1', profile: 'n' };
const PERSON = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
const SYSTEM = { kind: 'system', name: 't', authenticatedBy: 'process' } as const;
const REASON = 'it is empty';
const PLACE = '00000000100101';

let harness: TestHarness;
let store: PostgresEventStore;
let log: CaseLog;
let id: string;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase());
  store = new PostgresEventStore({ pool: harness.db.pool });
  id = await installationId(harness.db.pool);
  log = new CaseLog({ db: harness.db.pool, store, installation: { id, ...SAYS } });
});
afterAll(async () => {
  await store.close();
  await harness.stop();
});

/** A run of this day finds it at this place. */
const seen = (container: string, day: number, place = PLACE): CaseCommand & { type: 'See' } => {
  const cause = { kind: 'container', container } as const;
  const moment = `2026-03-${String(day).padStart(2, '0')}T00:00:00.000Z`;
  const run = { kind: 'packs', id: `run-${day}`, moment } as const;
  return {
    ...{ type: 'See', caseId: caseIdOf('container_mismatch', cause), code: 'container_mismatch', cause },
    ...{ severity: 'warning', dueAt: '2999-01-01T00:00:00.000Z' },
    seen: { run, count: 5, findingsSha256: 'a'.repeat(64), places: [place], rows: { file: 'f', from: 0, to: 5 } },
  };
};
const act = (day: number) => ({ actor: SYSTEM, id: `t-${day}`, at: `2026-03-0${day}T00:00:00.000Z` });
let made = 0;
async function opened(): Promise<{ container: string; caseId: string }> {
  const container = String((made += 1)).padStart(18, '0');
  const { caseId } = await log.tell(seen(container, 1), act(1));
  return { container, caseId };
}

const events = async (caseId: string) =>
  (await store.readStream(`case-${caseId}`)).map(({ type, data }) => ({ type, data }));
const types = async (caseId: string) => (await events(caseId)).map(({ type }) => type);
const release = (caseId: string, account = 'main') =>
  harness.post({ reason: REASON, account }, `/v1/cases/${caseId}/releases`);
const show = async (caseId: string) => caseDetail.parse((await harness.ask(`/v1/cases/${caseId}`)).json());
const command = (commandId: string) => harness.ask(`/v1/commands/${commandId}`);
async function commandsOf(caseId: string): Promise<{ command_id: string; account: string; actor: { name: string } }[]> {
  const { rows } = await harness.db.pool.query<{ command_id: string; account: string; actor: { name: string } }>(
    'SELECT command_id, account, actor FROM command WHERE command_id LIKE $1 ORDER BY command_id',
    [`case-${caseId}-%`],
  );
  return rows;
}

/** Whether somebody waits for a lock that is named, and held. */
async function isWaiting(): Promise<boolean> {
  const text = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  return (await harness.db.pool.query(text)).rows.length > 0;
}

/** The part of a gateway that releases, of which something goes wrong. */
const casesWith = (wrong: Partial<CasesOptions>): Cases =>
  new Cases({
    ...{ pool: harness.db.pool, store, installationId: id, says: SAYS, clock: systemClock },
    ...{ dueDays: {} as never, resends: {} as never, intake: {} as never, segmentsFolder: undefined, ...wrong },
  });
const dying = (): Cases => casesWith({ intake: { take: () => Promise.reject(new Error('the gateway died')) } });

describe('a released document', () => {
  it('is told before it is taken: after a crash the same again takes it, once, as it was released first', async () => {
    const { caseId } = await opened();
    await expect(dying().release(caseId, { reason: REASON, account: 'north' }, PERSON)).rejects.toThrow('died');
    expect(await types(caseId)).toEqual(['CaseOpened', 'CaseRemedyReleased']);
    expect((await command(`case-${caseId}-0`)).status).toBe(404);
    const [first, second] = [await release(caseId), await release(caseId)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await types(caseId)).toEqual(['CaseOpened', 'CaseRemedyReleased']);
    expect(await commandsOf(caseId)).toMatchObject([
      { command_id: `case-${caseId}-0`, account: 'north', actor: { name: 'anna' } },
    ]);
    expect((await command(`case-${caseId}-0`)).json()).toMatchObject({
      request_id: (await show(caseId)).remedy_request_id,
    });
  });

  it('is taken by a gateway that starts when nobody asks again, and is what the person saw', async () => {
    const { caseId, container } = await opened();
    await expect(dying().release(caseId, { reason: REASON }, PERSON)).rejects.toThrow('died');
    await log.tell(seen(container, 2, '00000000200202'), act(2));
    const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
    for (const projection of projections({ evidence, documents: documentReading(), store }))
      if (projection.name === 'cases') await catchUpProjection({ projection, store, pool: harness.db.pool });
    const other = await startGateway(gatewayConfig(harness.environment));
    try {
      await until('the released document is taken', async () => (await commandsOf(caseId)).length > 0);
    } finally {
      await other.stop();
    }
    expect(await types(caseId)).toEqual(['CaseOpened', 'CaseRemedyReleased', 'CaseSeen']);
    const { rows } = await harness.db.pool.query<{ payload: string }>(
      `SELECT payload FROM task WHERE key = (SELECT 'run_command:' || request_id FROM command WHERE command_id = $1)`,
      [`case-${caseId}-0`],
    );
    const { registration } = JSON.parse(rows[0]?.payload ?? 'null') as { registration: { documentSha256: string } };
    const xml = (await evidence.get(registration.documentSha256))?.bytes.toString() ?? '';
    expect([xml.includes(PLACE), xml.includes('00000000200202'), xml.includes('2026-03-01')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('never is a command of somebody else that has its id: it takes another one', async () => {
    const { caseId } = await opened();
    const foreign = { command_id: `case-${caseId}-0`, xml: arrival() };
    expect((await harness.post(foreign)).status).toBe(202);
    expect((await release(caseId)).status).toBe(200);
    const { request_id: sent } = (await command(`case-${caseId}-1`)).json();
    expect([sent, (await show(caseId)).remedy_request_id]).toEqual([expect.any(String), sent]);
  });

  it('is refused where somebody else took its id a moment before, and takes another one next time', async () => {
    const { caseId } = await opened();
    const conflict = new PedigreeError('command_conflict', 'it was acknowledged before with other content');
    const beaten = casesWith({ intake: { take: () => Promise.reject(conflict) } });
    await expect(beaten.release(caseId, { reason: REASON }, PERSON)).rejects.toBe(conflict);
    expect(await show(caseId)).toMatchObject({ state: 'open', suggested_action: 'unpack' });
    expect((await release(caseId)).status).toBe(200);
    expect((await commandsOf(caseId)).map((one) => one.command_id)).toEqual([`case-${caseId}-1`]);
  });

  it('that the intake refuses is over, says why, and is released again as another', async () => {
    const { caseId } = await opened();
    expect((await release(caseId, 'nobody')).json()).toMatchObject({ status: 422, code: 'unknown_account' });
    expect((await events(caseId)).slice(1)).toMatchObject([
      { type: 'CaseRemedyReleased', data: { commandId: `case-${caseId}-0`, account: 'nobody' } },
      { type: 'CaseRemedyConcluded', data: { outcome: 'not_taken', why: expect.stringContaining('nobody') } },
    ]);
    const { timeline, ...shown } = await show(caseId);
    expect(shown).toMatchObject({ state: 'open', suggested_action: 'unpack' });
    expect(timeline.at(-1)?.sentence).toMatch(/^The document \S+ was not sent: .*nobody/);
    expect((await release(caseId)).status).toBe(200);
    expect((await commandsOf(caseId)).map((one) => one.command_id)).toEqual([`case-${caseId}-1`]);
  });

  it('stands while the intake has no room, and is taken later', async () => {
    const { caseId } = await opened();
    const full = new PedigreeError('backlog_full', 'so many tasks wait to be done');
    const busy = casesWith({ intake: { take: () => Promise.reject(full) } });
    await expect(busy.release(caseId, { reason: REASON }, PERSON)).rejects.toBe(full);
    expect(await types(caseId)).toEqual(['CaseOpened', 'CaseRemedyReleased']);
    expect((await release(caseId)).status).toBe(200);
    expect(await commandsOf(caseId)).toHaveLength(1);
  });

  it('is one, however many ask at once', async () => {
    const { caseId } = await opened();
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => release(caseId)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect([await types(caseId), (await commandsOf(caseId)).length]).toEqual([['CaseOpened', 'CaseRemedyReleased'], 1]);
  });

  it('is refused to one before another asks: what was refused is not taken after that', async () => {
    const { caseId } = await opened();
    let refuse: (() => void) | undefined;
    const refusal = new Promise<never>((_, reject) => {
      refuse = () => reject(new PedigreeError('not_resendable', 'it failed a moment ago'));
    });
    let isAsked = false;
    const first = casesWith({ intake: { take: () => ((isAsked = true), refusal) } });
    const one = first.release(caseId, { reason: REASON }, PERSON).catch((error: unknown) => error);
    await until('the intake is asked', () => isAsked);
    const ids: string[] = [];
    const take = (body: { command_id: string }) => Promise.resolve((ids.push(body.command_id), {} as never));
    let isDone = false;
    const other = casesWith({ intake: { take } as CasesOptions['intake'] })
      .release(caseId, { reason: REASON }, PERSON)
      .finally(() => (isDone = true));
    await until('the other waits, or has ended', async () => isDone || (await isWaiting()));
    refuse?.();
    await Promise.all([one, other]);
    expect([ids, await types(caseId)]).toEqual([
      [`case-${caseId}-1`],
      ['CaseOpened', 'CaseRemedyReleased', 'CaseRemedyConcluded', 'CaseRemedyReleased'],
    ]);
  });

  /** A store in which this happens to the case before something is appended for the first time. */
  const before = (happens: () => Promise<unknown>): Pick<EventStore, 'append' | 'readStream'> => {
    let isDone = false;
    return {
      readStream: (...asked) => store.readStream(...asked),
      append: async (...asked) => {
        if (!isDone) await happens();
        isDone = true;
        return store.append(...asked);
      },
    };
  };
  const taken: { document?: object }[] = [];
  const intake = {
    take: (body: { document?: object }) => Promise.resolve((taken.push(body), {} as never)),
  } as CasesOptions['intake'];

  it('is not sent where a run has resolved the case meanwhile', async () => {
    const { caseId } = await opened();
    const { run } = seen('', 2).seen;
    const miss = { type: 'Miss', caseId, run, findingsSha256: 'a'.repeat(64) } as const;
    const cases = casesWith({ store: before(() => log.tell(miss, act(2))), intake });
    await expect(cases.release(caseId, { reason: REASON }, PERSON)).rejects.toMatchObject({ code: 'case_conflict' });
    expect([await types(caseId), taken]).toEqual([['CaseOpened', 'CaseResolved'], []]);
  });

  it('is of the place where a run has found the container meanwhile', async () => {
    const { caseId, container } = await opened();
    const found = seen(container, 2, '00000000200202');
    const cases = casesWith({ store: before(() => log.tell(found, act(2))), intake });
    await cases.release(caseId, { reason: REASON }, PERSON);
    expect(taken).toMatchObject([{ document: { subject_id: '00000000200202', sscc: [container] } }]);
  });
});
