import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DocumentCommand, Registration } from '#domain';
import { PostgresEventStore } from '#event-store';
import { canonicalJson, sha256Hex } from '#kernel';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness, type Answer } from '../../test/test-harness.js';
import { resent } from '../api/answers.js';
import { endBy } from './may-turn.js';

const SHA = 'a'.repeat(64);
const SENT: DocumentCommand[] = [
  { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'sent', documentId: 'd-1', answerSha256: SHA } },
];
const answered = (result: 'accepted' | 'partial' | 'rejected'): DocumentCommand[] => [
  ...SENT,
  { type: 'RecordReceipt', receipt: { receiptSha256: SHA, result, acceptedAt: '2026-01-15T09:00:00Z', errorCount: 0 } },
];
const FAILED: DocumentCommand[] = [...SENT, { type: 'ObserveStatus', status: 'failed', answerSha256: SHA }];
const TURNED: DocumentCommand[] = [...FAILED, { type: 'ObserveStatus', status: 'processed', answerSha256: SHA }];
const REASON = 'the wholesaler has corrected the shipment';
const GRACE_MS = 3_600_000;

let harness: TestHarness;
let patient: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  patient = await TestHarness.start(await testDatabase(TestHarness.schemas), { failedGraceMs: GRACE_MS });
});
afterAll(async () => {
  await harness.stop();
  await patient.stop();
});

let documents = 0;
/** Another document, which went so far. */
async function ended(commands: DocumentCommand[], on = harness): Promise<string> {
  const command_id = `document-${(documents += 1)}`;
  expect(
    (
      await on.post({
        command_id,
        account: 'north',
        reference: `ERP-${documents}`,
        xml: arrival(`<sgtin>${SGTIN.slice(0, -3)}${String(documents).padStart(3, '0')}</sgtin>`),
      })
    ).status,
  ).toBe(202);
  return on.run(command_id, commands, { projected: false });
}

const resend = (requestId: string, body: object, on = harness): Promise<Answer> =>
  on.post({ reason: REASON, ...body }, `/v1/documents/${requestId}/resends`);

interface RunTask {
  registration: Registration;
  reason?: string;
  actor: object;
}

/** What the worker is told to run. */
async function taskOf(requestId: string): Promise<RunTask> {
  const { rows } = await harness.db.pool.query<{ payload: string }>('SELECT payload FROM task WHERE key = $1', [
    `run_command:${requestId}`,
  ]);
  return JSON.parse(rows[0]?.payload ?? 'null') as RunTask;
}

const xmlOf = async ({ documentSha256 }: Registration): Promise<string> =>
  (await harness.ask(`/v1/evidence/${documentSha256}`)).text;
const withSession = (xml: string, session: string): string =>
  xml.replace('<documents ', `<documents session_ui="${session}" `);

describe('a document that is sent again by an operator', () => {
  it.each([
    ['rejected', answered('rejected')],
    ['failed', FAILED],
  ] as const)(
    'after it was %s goes as another one, but for its session the same, and says why and in whose place',
    async (_outcome, commands) => {
      const requestId = await ended([...commands]);
      const answer = await resend(requestId, {});
      expect(answer.status).toBe(202);
      const taken = resent.parse(answer.json());
      expect(taken).toMatchObject({ command_id: `resend-${requestId}`, resend_of: requestId, repeated: false });
      expect(taken.request_id).not.toBe(requestId);
      const { registration, reason, actor } = await taskOf(taken.request_id);
      const original = (await taskOf(requestId)).registration;
      const { account, reference, docType } = original;
      expect(registration).toMatchObject({
        account,
        reference,
        docType,
        requestId: taken.request_id,
        resendOf: { requestId, commandId: original.commandId },
      });
      expect(await xmlOf(registration)).toBe(withSession(await xmlOf(original), taken.request_id));
      expect(registration.byteLength).toBe(Buffer.byteLength(await xmlOf(registration)));
      expect({ reason, actor }).toMatchObject({
        reason: REASON,
        actor: { kind: expect.any(String), name: expect.any(String) },
      });
    },
  );

  it('keeps what the ERP gave first, however often it is sent again', async () => {
    const requestId = await ended(answered('rejected'));
    const { commandId, reference } = (await taskOf(requestId)).registration;
    const firstCommand = { commandId, reference };
    const second = resent.parse((await resend(requestId, {})).json());
    await harness.run(second.command_id, answered('rejected'), { projected: false });
    const third = resent.parse((await resend(second.request_id, { command_id: 'third-try' })).json());
    expect((await taskOf(second.request_id)).registration).toMatchObject({ firstCommand, resendOf: { requestId } });
    expect((await taskOf(third.request_id)).registration).toMatchObject({
      firstCommand,
      resendOf: { requestId: second.request_id, commandId: second.command_id },
    });
  });

  it('may be corrected, and given a command id and an account', async () => {
    const requestId = await ended(answered('rejected'));
    const xml = arrival(`<sgtin>${SGTIN.slice(0, -3)}999</sgtin>`);
    const { request_id } = resent.parse(
      (await resend(requestId, { xml, command_id: 'corrected', account: 'main' })).json(),
    );
    const { registration } = await taskOf(request_id);
    expect(registration).toMatchObject({ commandId: 'corrected', account: 'main', byteLength: Buffer.byteLength(xml) });
    expect(registration.documentSha256).not.toBe((await taskOf(requestId)).registration.documentSha256);
  });

  it('and again has a session of its own each time, also where the correction given for it changes nothing', async () => {
    const requestId = await ended(answered('rejected'));
    const original = await xmlOf((await taskOf(requestId)).registration);
    const second = resent.parse((await resend(requestId, { xml: original })).json());
    expect((await resend(requestId, {})).json()).toEqual({ ...second, repeated: true });
    await harness.run(second.command_id, answered('rejected'), { projected: false });
    const third = resent.parse((await resend(second.request_id, {})).json());
    const written = [second, third].map(async ({ request_id }) => xmlOf((await taskOf(request_id)).registration));
    expect(await Promise.all(written)).toEqual(
      [second, third].map(({ request_id }) => withSession(original, request_id)),
    );
  });

  it('is the same bytes when the call is repeated after it failed between evidence and command', async () => {
    const requestId = await ended(answered('rejected'));
    const { pool } = harness.db;
    const kept = async (): Promise<string[]> =>
      (
        await pool.query<{ sha256: string }>(`SELECT encode(sha256, 'hex') AS sha256 FROM evidence ORDER BY 1`)
      ).rows.map((row) => row.sha256);
    const before = await kept();
    await pool.query(`ALTER TABLE command ADD CONSTRAINT none_today CHECK (resend_of <> '${requestId}')`);
    expect((await resend(requestId, {})).status).toBe(500);
    await pool.query('ALTER TABLE command DROP CONSTRAINT none_today');
    const written = (await kept()).filter((sha256) => !before.includes(sha256));
    const { request_id } = resent.parse((await resend(requestId, {})).json());
    expect(written).toEqual([(await taskOf(request_id)).registration.documentSha256]);
    expect(await kept()).toEqual([...before, ...written].sort());
  });

  it('is known by what it was when it went as it was: a repeat of a resend of an older version is one', async () => {
    const requestId = await ended(answered('rejected'));
    const { account, reference, ...original } = (await taskOf(requestId)).registration;
    const { command_id } = resent.parse((await resend(requestId, {})).json());
    const xml = await xmlOf({ account, ...original });
    const body = { command_id, type: 'send_document', account, after: [], reference, xml };
    const { rows } = await harness.db.pool.query<{ body: string }>(
      `SELECT encode(body_sha256, 'hex') AS body FROM command WHERE command_id = $1`,
      [command_id],
    );
    expect(rows[0]?.body).toBe(sha256Hex(canonicalJson({ ...body, resend_of: requestId, reason: REASON })));
  });

  it('goes once: the same call again changes nothing, another one is refused', async () => {
    const requestId = await ended(answered('rejected'));
    const first = resent.parse((await resend(requestId, {})).json());
    const again = await resend(requestId, {});
    expect([again.status, again.json()]).toEqual([200, { ...first, repeated: true }]);
    expect((await resend(requestId, { reason: 'for another reason' })).json()).toMatchObject({
      status: 409,
      code: 'command_conflict',
    });
    expect((await resend(requestId, { command_id: 'another' })).json()).toMatchObject({
      status: 409,
      code: 'not_resendable',
      detail: expect.stringContaining(first.request_id),
    });
  });

  it('goes once when two ask at the same moment', async () => {
    const requestId = await ended(answered('rejected'));
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) => resend(requestId, { command_id: `${requestId}-${name}` })),
    );
    expect(answers.map((one) => one.status).sort()).toEqual([202, 409, 409]);
    for (const one of answers) if (one.status === 409) expect(one.json()).toMatchObject({ code: 'not_resendable' });
  });

  it.each([
    ['was accepted', answered('accepted'), /was accepted/],
    ['was accepted in part', answered('partial'), /in part.*new document for the items/],
    ['is under way', SENT, /has not concluded: it is sent/],
    ['was never sent', [], /has not concluded: it is ready/],
  ] as const)('is refused when it %s', async (_what, commands, words) => {
    const requestId = await ended([...commands]);
    const answer = await resend(requestId, {});
    expect(answer.json()).toMatchObject({
      status: 409,
      code: 'not_resendable',
      item: requestId,
      detail: expect.stringMatching(words),
    });
  });

  it('is refused while the registry may still turn its FAILED', async () => {
    const requestId = await ended(FAILED, patient);
    const refusal = { code: 'not_resendable', detail: expect.stringContaining('may still say otherwise') };
    // Its saga has not seen the end yet; then the last read of its status is planned; then that was done.
    expect((await resend(requestId, {}, patient)).json()).toMatchObject(refusal);
    const { pool } = patient.db;
    const store = new PostgresEventStore({ pool });
    const endOf = endBy({ pool, store, failedGraceMs: GRACE_MS });
    const turns = async () => (await endOf(requestId)).mayTurn;
    expect(await turns()).toBe(true);
    await pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', 1000000, now())`);
    const queue = new PostgresTaskQueue({ pool });
    await queue.schedule(pool, [
      {
        key: `status:${requestId}:after-failed`,
        kind: 'status',
        lane: 'north/status',
        dueAt: new Date('2999-01-01'),
        payload: {},
      },
    ]);
    expect((await resend(requestId, {}, patient)).json()).toMatchObject(refusal);
    expect(await turns()).toBe(true);
    await pool.query('DELETE FROM task WHERE key LIKE $1', ['%:after-failed']);
    expect(await turns()).toBe(false);
    expect((await resend(requestId, {}, patient)).status).toBe(202);
    await queue.close();
    await store.close();
    expect((await resend(await ended(answered('rejected'), patient), {}, patient)).status).toBe(202);
  });

  it.each<[string, DocumentCommand[], object]>([
    ['with its status', FAILED, { outcome: 'failed', mayTurn: false }],
    ['otherwise, and its receipt is to come', TURNED, { outcome: 'failed', mayTurn: true }],
    ['otherwise after all', [...TURNED, ...answered('accepted').slice(-1)], { outcome: 'accepted', mayTurn: false }],
    ['not yet', SENT, { outcome: undefined, mayTurn: false }],
  ])('has ended as its own stream says: %s', async (_how, commands, end) => {
    const { pool } = harness.db;
    const store = new PostgresEventStore({ pool });
    expect(await endBy({ pool, store, failedGraceMs: 0 })(await ended(commands))).toEqual(end);
    await store.close();
  });

  it.each([
    ['no reason', { reason: '  ' }, 'invalid_command', '/reason'],
    ['two corrections', { xml: arrival(), document: { action_id: 701 } }, 'invalid_command', '/xml'],
    ['an unknown field', { resaon: 'x' }, 'invalid_command', '/resaon'],
    ['a correction that is not a document', { xml: '<documents' }, 'malformed_xml', '/xml'],
    ['an unknown account', { account: 'nobody' }, 'unknown_account', '/account'],
  ])('is refused with %s', async (_what, body, code, field) => {
    const requestId = await ended(answered('rejected'));
    expect((await resend(requestId, body)).json()).toMatchObject({ code, field });
    expect((await resend(requestId, {})).status).toBe(202);
  });

  it('must be known', async () => {
    expect((await resend('0d9e1f22-3344-5566-8777-8899aabbccdd', {})).json()).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect((await resend('nothing', {})).json()).toMatchObject({ status: 400, code: 'invalid_parameter' });
  });
});
