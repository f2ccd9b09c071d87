import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { PostgresEvidenceStore } from '#evidence';
import { VirtualClock } from '#kernel';
import { documentSummary, readCalendarFile, timeliness } from '#read-models';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';
import { operationsStatus } from '../api/answers.js';
import { gatewayConfig } from '../config.js';
import { DeadlineWatch } from './deadline-watch.js';

const SANDBOX = fileURLToPath(new URL('../../../sandbox/data/deadlines.json', import.meta.url));
/** A Thursday: three working days later, past the weekend, it is Tuesday. */
const [CLAIMED, DUE] = ['2026-01-15T09:00:00+03:00', '2026-01-20T21:00:00.000Z'];

let harness: TestHarness;
let without: TestHarness;
let requestId: string;

async function given(to: TestHarness): Promise<string> {
  await to.post({
    command_id: 'a-1',
    account: 'main',
    reference: '=A1',
    xml: arrival(`<sgtin>${SGTIN}</sgtin>`, CLAIMED),
  });
  return to.run('a-1');
}

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), {
    calendarFile: readCalendarFile(SANDBOX),
  });
  without = await TestHarness.start(await testDatabase(TestHarness.schemas));
  requestId = await given(harness);
  await given(without);
});
afterAll(async () => {
  await harness?.stop();
  await without?.stop();
});

describe('with the calendar of the sandbox', () => {
  const by = { name: 'Sandbox calendar', edition: '1', fictitious: expect.stringContaining('made up') };

  it('a document says when it is due, by what, and that the calendar is made up', async () => {
    const expected = { due_at: DUE, due_by: { clause: expect.stringContaining('Made-up rule 1'), calendar: by } };
    const list = (await harness.ask('/v1/documents')).json<{ items: object[] }>().items;
    expect(list).toMatchObject([expected]);
    expect(documentSummary.parse(list[0])).toBeDefined();
    expect((await harness.ask(`/v1/documents/${requestId}`)).json()).toMatchObject(expected);
  });

  it('the report tells it as a page, as NDJSON and as CSV', async () => {
    const page = (await harness.ask('/v1/reports/timeliness?late=true&doc_type=701&account=main')).json();
    const row = {
      request_id: requestId,
      role: 'sender',
      channel: 'api',
      due_at: DUE,
      state: 'overdue',
      cause: 'told_late',
    };
    expect(timeliness.parse(page)).toMatchObject({ calendar: by, items: [row] });
    const as = (accept: string) => harness.ask('/v1/reports/timeliness', { headers: { accept } });
    const lines = await as('application/x-ndjson');
    expect(lines.json()).toMatchObject({ ...row, due_by: { calendar: by } });
    const pin = {
      as_of: expect.stringMatching(/^20.*Z$/) as unknown,
      up_to: expect.stringMatching(/^\d+$/) as unknown,
    };
    expect([lines.json(), timeliness.parse(page).items[0]]).toMatchObject([pin, pin]);
    const csv = await as('text/csv');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [head = '', first = '', rest] = csv.text.split('\r\n');
    expect([head.split(',').slice(0, 4), rest]).toEqual([['role', 'channel', 'request_id', 'document_id'], '']);
    expect(first).toContain(`sender,api,${requestId},,a-1,'=A1,main,701`);
    expect(head.split(',').slice(-2)).toEqual(['as_of', 'up_to']);
    expect(first).toMatch(/,20[^,]*Z,\d+$/);
    expect(first).toContain('Sandbox calendar,1,"This calendar is made up');
  });

  it.each([
    ['role=payer', 'role'],
    ['late=1', 'late'],
    ['operation_from=2026-01-01', 'operation_from'],
    ['cursor=x', 'cursor'],
    ['days=3', 'days'],
  ])('a wrong parameter is refused by name: %s', async (query, field) => {
    const answer = await harness.ask(`/v1/reports/timeliness?${query}`);
    expect([answer.status, answer.json()]).toMatchObject([400, { code: 'invalid_parameter', field }]);
  });

  it('its days and types can be asked for', async () => {
    const found = async (query: string) =>
      (await harness.ask(`/v1/reports/timeliness?${query}`)).json<{ items: object[] }>().items.length;
    expect(await found('operation_from=2026-01-15T06:00:00Z&operation_to=2026-01-15T06:00:01Z')).toBe(1);
    expect(await found('operation_to=2026-01-15T06:00:00Z')).toBe(0);
    expect(await found('role=receiver')).toBe(0);
    expect(await found('account=north')).toBe(0);
  });

  it('a look counts what is near and what was due, and knows every type', async () => {
    const { pool } = harness.db;
    const clock = new VirtualClock(new Date('2026-01-19T21:00:00Z'));
    const log = { info: () => undefined, warn: () => undefined };
    const watch = new DeadlineWatch({
      pool,
      evidence: new PostgresEvidenceStore({ pool }),
      calendarFile: readCalendarFile(SANDBOX),
      alertMs: 24 * 3_600_000,
      clock,
      log,
    });
    const one = { role: 'sender', docType: 701 };
    expect((await watch.look()).near).toEqual([{ ...one, near: 1, breached: 0 }]);
    clock.advance(24 * 3_600_000);
    expect(await watch.look()).toEqual({ near: [{ ...one, near: 0, breached: 1 }], unknown: [] });
    expect(watch.found()).toMatchObject({ calendar: by, near: [{ breached: 1 }] });
  });

  it('each start and the page of operations name it', async () => {
    expect(harness.logged).toContainEqual(
      expect.objectContaining({ msg: expect.stringMatching(/Deadlines follow .* It is made up/), level: 30 }),
    );
    const { deadlines } = operationsStatus.parse((await harness.ask('/v1/operations')).json());
    expect(deadlines).toMatchObject({ calendar: by, sentence: expect.stringContaining('It is made up') });
  });
});

describe('without a calendar', () => {
  it('nothing is guessed, and everything says so', async () => {
    const [summary] = (await without.ask('/v1/documents')).json<{ items: object[] }>().items;
    expect(summary).not.toHaveProperty('due_at');
    const page = timeliness.parse((await without.ask('/v1/reports/timeliness')).json());
    expect(page).toMatchObject({ items: [{ state: 'not_known', why: 'no_calendar' }] });
    expect(page).not.toHaveProperty('calendar');
    expect(without.logged).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('no calendar of deadlines is set'), level: 40 }),
    );
    const { deadlines } = operationsStatus.parse((await without.ask('/v1/operations')).json());
    expect(deadlines).toMatchObject({ sentence: expect.stringContaining('nobody can tell which documents are late') });
  });

  it('a look names each type once', async () => {
    const { pool } = without.db;
    const evidence = new PostgresEvidenceStore({ pool });
    const log = { info: () => undefined, warn: () => undefined };
    const clock = new VirtualClock(new Date());
    const watch = new DeadlineWatch({ pool, evidence, calendarFile: undefined, alertMs: 1, clock, log });
    const unknown = [{ role: 'sender', docType: 701, why: 'no_calendar' }];
    expect(await watch.look()).toEqual({ near: [], unknown });
  });
});

it('a wrong calendar ends the start, by the variable, the file and the place', () => {
  const environment = { ...harness.environment, DEADLINE_CALENDAR: harness.environment['PEDIGREE_ACCOUNTS'] };
  expect(() => gatewayConfig(environment)).toThrow(/^DEADLINE_CALENDAR: .*accounts\.json: \//);
});
