import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { auditorSchemas } from '../../auditor/src/auditor.js';
import { StreamCounting } from '../../auditor/src/counts/counting.js';
import { signCheckpoint } from '../../auditor/src/log/checkpoints.js';
import { seal } from '../../auditor/src/log/seal.js';
import { arrival, SGTIN, TestHarness } from '../../gateway/test/test-harness.js';
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
import { testDatabase } from '../../../test/support/database.js';
import { madeEvent } from '../../../test/support/made-event.js';
import { AnswerReading, type Reading } from '../src/answers/answer-reading.js';

const ORIGIN = 'pedigree.example/log';
const signer = noteSigner(ORIGIN, newSigningKey());
export const key = verifierKeyOf(signer);
export const SHA = 'a'.repeat(64);
const OTHER_PACK = SGTIN.replace(/1$/, '2');
/** A pack that lies in a container. */
export const BOXED = SGTIN.replace(/1$/, '3');
const BOX = '046012345600000009';

export let harness: TestHarness;
export let store: PostgresEventStore;
export let done: string;
export let open: string;
/** The document that put the pack into its container, and one that names the container alone. */
export let boxing: string[];
export const told = 'registry-told-1';
const CAUSE: CaseCause = { kind: 'document', document: 'r-1' };
export const caseId = caseIdOf('missing_locally', CAUSE);
export let groupId: string;
export let runId: string;
/** Of a letter, and the log positions of an opening of evidence and of an entry into the letter's stream. */
export let letterId: string;
export let openedAt: string;
export let enteredAt: string;

export const append = (stream: string, events: { type: string; data: object }[]) =>
  store.append(
    stream,
    'any',
    events.map(({ type, data }) => madeEvent(type, data)),
  );

/** Documents of ours and of others, a group, a case, a run, a letter, and who opened it: counted, sealed and signed. */
export async function openWorld(): Promise<void> {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  await migrate(harness.db.pool, auditorSchemas);
  store = new PostgresEventStore({ pool: harness.db.pool });
  await harness.post({
    command_id: 'done',
    reference: 'Invoice 1',
    xml: arrival(`<sgtin>${SGTIN}</sgtin><sgtin>${OTHER_PACK}</sgtin>`),
  });
  await harness.post({ command_id: 'open', xml: arrival() });
  done = await requestIdOf('done');
  const errors =
    '<errors><error_code>4</error_code>' +
    `<error_desc>not yours</error_desc><object_id>${OTHER_PACK}</object_id></errors>`;
  await harness.run('done', concluded(await receiptOf({ docType: 701, requestId: done, result: 'Partial', errors })));
  open = await harness.run('open');
  await aBox();
  await others();
  await sealed();
}

export async function closeWorld(): Promise<void> {
  await store.close();
  await harness.stop();
}

async function requestIdOf(commandId: string): Promise<string> {
  const { rows } = await harness.db.pool.query('SELECT request_id FROM command WHERE command_id = $1', [commandId]);
  return String(rows[0].request_id);
}

interface ReceiptOf {
  docType: number;
  requestId: string;
  result: 'Accepted' | 'Partial';
  errors?: string;
}

/** Kept as evidence; returns its digest. */
function receiptOf({ docType, requestId, result, errors = '' }: ReceiptOf): Promise<string> {
  const receipt =
    '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T10:00:00+03:00">' +
    `<operation>${docType}</operation><operation_id>${requestId}</operation_id>` +
    `<operation_result>${result}</operation_result>${errors}</result></documents>`;
  return new PostgresEvidenceStore({ pool: harness.db.pool }).put(Buffer.from(receipt), 'application/xml');
}

/** A pack is put into a container, and the container alone is accepted. */
async function aBox(): Promise<void> {
  const subject = '<subject_id>00000000100101</subject_id>';
  const packing =
    `<documents version="1.38"><unit_pack action_id="911">${subject}<sscc>${BOX}</sscc>` +
    '<operation_date>2026-01-14T09:00:00+03:00</operation_date>' +
    `<content><sgtin>${BOXED}</sgtin></content></unit_pack></documents>`;
  await harness.post({ command_id: 'packing', xml: packing });
  await harness.post({ command_id: 'box', xml: arrival(`<sscc>${BOX}</sscc>`) });
  boxing = [];
  for (const [commandId, docType] of [
    ['packing', 911],
    ['box', 701],
  ] as const) {
    const requestId = await requestIdOf(commandId);
    const receipt = await receiptOf({ docType, requestId, result: 'Accepted' });
    boxing.push(await harness.run(commandId, concluded(receipt, 'accepted')));
  }
}

/** A document comes to its end. */
const concluded = (receiptSha256: string, result: 'accepted' | 'partial' = 'partial'): DocumentCommand[] => [
  { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
  {
    type: 'RecordSendAnswer',
    attempt: 1,
    answer: { kind: 'sent', documentId: 'registry-1', answerSha256: SHA },
  },
  { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
  {
    type: 'RecordReceipt',
    receipt: {
      ...{ receiptSha256, result, acceptedAt: '2026-01-15T07:00:00Z', comment: 'x' },
      errorCount: result === 'partial' ? 1 : 0,
    },
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
  await aGroup();
  const run = { kind: 'documents' as const, id: 'run-1', moment: '2026-01-16T00:00:00.000Z' };
  const seen = { run, count: 1, findingsSha256: SHA };
  const opened = { code: 'missing_locally', cause: CAUSE, severity: 'critical', dueAt: '2026-01-20T00:00:00.000Z' };
  await append(`case-${caseId}`, decideCase(NO_CASE, { type: 'See', caseId, ...opened, seen } as CaseCommand));
  const asked = await harness.post({ reason: 'for the auditor' }, '/v1/reconciliations');
  runId = asked.json<{ id: string }>().id;
  await append(`run-${runId}`, [{ type: 'RunStarted', data: { runId } }]);
  await aLetter();
}

/** A letter about a series, and somebody who opened it. */
async function aLetter(): Promise<void> {
  const written = { number: '01-1/26', date: '2026-01-10', from: 'the inspectorate', reason: 'it came today' };
  const file = { media_type: 'text/plain', base64: Buffer.from('Stop the series A1.').toString('base64') };
  const about = { action: 'suspend', product: 'Aspirin, tablets', series: 'A1' };
  const entered = await harness.post({ ...written, ...about, file }, '/v1/suspensions');
  const { suspension_id: id, letter_sha256: sha256 } = entered.json<Record<string, string>>();
  letterId = String(id);
  const matches = [{ gtin: SGTIN.slice(0, 14), series: 'A1' }];
  await harness.post(
    { action: 'match', matches, reason: 'as our catalogue says' },
    `/v1/suspensions/${letterId}/actions`,
  );
  for (const reason of ['a first look', 'a second look'])
    await harness.ask(`/v1/evidence/${sha256}?reason=${encodeURIComponent(reason)}`);
  await followed();
  const { items } = (await harness.ask('/v1/access-log')).json<{ items: { type: string; position: string }[] }>();
  const positionOf = (type: string): string => String(items.find((one) => one.type === type)?.position);
  [openedAt, enteredAt] = [positionOf('EvidenceOpened'), positionOf('SuspensionEntered')];
}

/** Of the document that is open. */
async function aGroup(): Promise<void> {
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
}

/** The worker follows, and the auditor counts, seals and signs. */
export async function sealed(): Promise<void> {
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

export async function followed(): Promise<void> {
  const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
  for (const projection of projections({ evidence, documents: documentReading(), store }))
    await catchUpProjection({ projection, store, pool: harness.db.pool });
}

export async function proofOf(route: string): Promise<ProofLine[]> {
  // The proof before this one was recorded, and no worker runs here.
  await followed();
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
export async function verified(lines: ProofLine[]): Promise<Verified & { reading: Reading }> {
  const reading = new AnswerReading();
  const found = await verifyProofLines(texts(lines), key, reading.listening);
  if (found.answer === undefined) throw new Error('no answer');
  return { ...found, reading: await reading.of(found.answer) };
}

export const answerIn = (lines: ProofLine[]): ProvenAnswer =>
  (lines.find((line) => 'answer' in line) as { answer: ProvenAnswer }).answer;
export const eventsIn = (lines: ProofLine[]): ProvenEvent[] => lines.filter((line) => 'entry' in line);
export const changed = (lines: ProofLine[], change: (copy: ProofLine[]) => void): ProofLine[] => {
  const copy = structuredClone(lines);
  change(copy);
  return copy;
};
