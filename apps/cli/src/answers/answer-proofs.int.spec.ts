import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { StreamCounting } from '../../../auditor/src/counts/counting.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { arrival, SGTIN, TestHarness } from '../../../gateway/test/test-harness.js';
import { documentReading } from '#documents';
import {
  caseIdOf,
  decideCase,
  decideGroup,
  documentStream,
  NO_CASE,
  NO_GROUP,
  type CaseCause,
  type CaseCommand,
  type DocumentCommand,
  type Registration,
} from '#domain';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { migrate } from '#postgres';
import { LogKeys, verifyProofLines, type ProofLine, type ProvenAnswer, type ProvenEvent, type Verified } from '#proofs';
import { projections } from '#read-models';
import { catchUp, catchUpProjection } from '#subscriptions';
import { testDatabase } from '../../../../test/support/database.js';
import { AnswerReading, type Reading } from './answer-reading.js';

const ORIGIN = 'pedigree.example/log';
const signer = noteSigner(ORIGIN, newSigningKey());
const key = verifierKeyOf(signer);
const SHA = 'a'.repeat(64);
const OTHER_PACK = SGTIN.replace(/1$/, '2');

let harness: TestHarness;
let store: PostgresEventStore;
let done: string;
let open: string;
const told = 'registry-told-1';
const CAUSE: CaseCause = { kind: 'document', document: 'r-1' };
const caseId = caseIdOf('missing_locally', CAUSE);
let groupId: string;
let runId: string;

const metadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'test', authenticatedBy: 'process' },
  softwareVersion: '1',
  profile: 'interface-v1',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'c',
  causationId: 'd',
} as const;

const append = (stream: string, events: { type: string; data: object }[]) =>
  store.append(
    stream,
    'any',
    events.map(({ type, data }) => ({ id: randomUUID(), type, schemaVersion: 1, data: data as never, metadata })),
  );

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  await migrate(harness.db.pool, auditorSchemas);
  store = new PostgresEventStore({ pool: harness.db.pool });
  const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
  await harness.post({
    command_id: 'done',
    reference: 'Invoice 1',
    xml: arrival(`<sgtin>${SGTIN}</sgtin><sgtin>${OTHER_PACK}</sgtin>`),
  });
  await harness.post({ command_id: 'open', xml: arrival() });
  const { rows } = await harness.db.pool.query("SELECT request_id FROM command WHERE command_id = 'done'");
  done = String(rows[0].request_id);
  const receipt =
    '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T10:00:00+03:00">' +
    `<operation>701</operation><operation_id>${done}</operation_id>` +
    '<operation_result>Partial</operation_result><errors><error_code>4</error_code>' +
    `<error_desc>not yours</error_desc><object_id>${OTHER_PACK}</object_id></errors></result></documents>`;
  await harness.run('done', concluded(await evidence.put(Buffer.from(receipt), 'application/xml')));
  open = await harness.run('open');
  await others();
  await sealed();
});
afterAll(async () => {
  await store.close();
  await harness.stop();
});

/** A document comes to its end. */
const concluded = (receiptSha256: string): DocumentCommand[] => [
  { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
  {
    type: 'RecordSendAnswer',
    attempt: 1,
    answer: { kind: 'sent', documentId: 'registry-1', answerSha256: SHA },
  },
  { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
  {
    type: 'RecordReceipt',
    receipt: { receiptSha256, result: 'partial', acceptedAt: '2026-01-15T07:00:00Z', errorCount: 1, comment: 'x' },
  },
];

/** A document of others about `done`, a group, a case and a run. */
async function others(): Promise<void> {
  await append(`inbound-${told}`, [
    {
      type: 'InboundSeen',
      data: {
        documentId: told,
        direction: 'incoming',
        channel: 'counterparty',
        account: 'main',
        status: 'processed',
        docType: 602,
        answerSha256: SHA,
      },
    },
    { type: 'InboundLinked', data: { requestId: done, by: 'request_id' } },
  ]);
  const [registered] = await store.readStream(documentStream(open));
  const member = registered?.data as unknown as Registration;
  groupId = randomUUID();
  const group = { groupId, index: 0, of: 1, kind: 'given' as const };
  await append(
    `group-${groupId}`,
    decideGroup(NO_GROUP, {
      type: 'Register',
      registration: {
        groupId,
        commandId: 'group',
        account: 'main',
        kind: 'given',
        members: [{ ...member, group }],
        after: [],
      },
    }),
  );
  const run = { kind: 'documents' as const, id: 'run-1', moment: '2026-01-16T00:00:00.000Z' };
  const seen = { run, count: 1, findingsSha256: SHA };
  const opened = { code: 'missing_locally', cause: CAUSE, severity: 'critical', dueAt: '2026-01-20T00:00:00.000Z' };
  await append(`case-${caseId}`, decideCase(NO_CASE, { type: 'See', caseId, ...opened, seen } as CaseCommand));
  const asked = await harness.post({ reason: 'for the auditor' }, '/v1/reconciliations');
  runId = asked.json<{ id: string }>().id;
  await append(`run-${runId}`, [{ type: 'RunStarted', data: { runId } }]);
}

/** The worker follows, and the auditor counts, seals and signs. */
async function sealed(): Promise<void> {
  await followed();
  await sign();
  const keys = new LogKeys(signer);
  const now = () => new Date('2026-03-01T10:00:00.000Z');
  const signal = new AbortController().signal;
  await new StreamCounting({ pool: harness.db.pool, store, keys, now, participant: 'own', signal }).advance();
  await sign();
  await followed();
}

async function sign(): Promise<void> {
  await catchUp({ store, pool: harness.db.pool, name: 'auditor', handle: seal });
  await signCheckpoint(harness.db.pool, signer);
}

async function followed(): Promise<void> {
  const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
  for (const projection of projections({ evidence, documents: documentReading(), store }))
    await catchUpProjection({ projection, store, pool: harness.db.pool });
}

async function proofOf(route: string): Promise<ProofLine[]> {
  const answer = await harness.ask(`${route}${route.includes('?') ? '&' : '?'}proof=1`);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  expect(answer.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
  return answer.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ProofLine);
}

async function* texts(lines: ProofLine[]): AsyncGenerator<string> {
  for (const line of lines) yield await Promise.resolve(JSON.stringify(line));
}

/** As `pedigree audit verify` does it. */
async function verified(lines: ProofLine[]): Promise<Verified & { reading: Reading }> {
  const reading = new AnswerReading();
  const found = await verifyProofLines(texts(lines), key, reading.listening);
  if (found.answer === undefined) throw new Error('no answer');
  return { ...found, reading: await reading.of(found.answer) };
}

const answerIn = (lines: ProofLine[]): ProvenAnswer =>
  (lines.find((line) => 'answer' in line) as { answer: ProvenAnswer }).answer;
const eventsIn = (lines: ProofLine[]): ProvenEvent[] => lines.filter((line) => 'entry' in line);
const changed = (lines: ProofLine[], change: (copy: ProofLine[]) => void): ProofLine[] => {
  const copy = structuredClone(lines);
  change(copy);
  return copy;
};

describe('the proof of an answer', () => {
  it.each([
    ['a document', () => `/v1/documents/${done}`, () => [documentStream(done), `inbound-${told}`], 'follows'],
    ['an open document', () => `/v1/documents/${open}`, () => [documentStream(open), 'account-main'], 'follows'],
    ['a group', () => `/v1/groups/${groupId}`, () => [`group-${groupId}`, documentStream(open)], 'follows'],
    ['an inbound document', () => `/v1/inbound/${told}`, () => [`inbound-${told}`], 'follows'],
    ['a case', () => `/v1/cases/${caseId}`, () => [`case-${caseId}`], 'follows'],
    ['a run', () => `/v1/reconciliations/${runId}?limit=10`, () => [`run-${runId}`], 'unchecked'],
    ['a pack', () => `/v1/packs/${SGTIN}`, () => [documentStream(done)], 'unchecked'],
    ['the history of a pack', () => `/v1/packs/${SGTIN}/history`, () => [documentStream(done)], 'unchecked'],
    ['the configuration', () => '/v1/operations/configuration?limit=5', () => ['configuration'], 'unchecked'],
  ])('has the body of the plain answer to %s, and the events of all its streams', async (_, route, streams, kind) => {
    const plain = await harness.ask(route());
    const lines = await proofOf(route());
    const found = await verified(lines);
    expect(found.answer?.route).toBe(route());
    expect(found.answer?.body).toBe(plain.text);
    expect(found.streams.map(({ stream }) => stream)).toEqual(streams());
    for (const { stream, events, whole } of found.streams)
      expect([stream, events, whole?.events]).toEqual([stream, (await store.readStream(stream)).length, events]);
    expect(found.reading.kind).toBe(kind);
    expect(found.answer?.unsealed).toEqual([]);
  });
});
