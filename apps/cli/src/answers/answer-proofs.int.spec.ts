import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { StreamCounting } from '../../../auditor/src/counts/counting.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { KEEPER, NEXT_YEAR, registerOn } from '../../../gateway/test/keys.js';
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
import { answerProofLines } from '#sealed-log';
import { catchUp, catchUpProjection } from '#subscriptions';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { proveNamed, verifyProof } from '../commands/audit-proof.js';
import { cliConfig } from '../config.js';
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
  await aGroup();
  const run = { kind: 'documents' as const, id: 'run-1', moment: '2026-01-16T00:00:00.000Z' };
  const seen = { run, count: 1, findingsSha256: SHA };
  const opened = { code: 'missing_locally', cause: CAUSE, severity: 'critical', dueAt: '2026-01-20T00:00:00.000Z' };
  await append(`case-${caseId}`, decideCase(NO_CASE, { type: 'See', caseId, ...opened, seen } as CaseCommand));
  const asked = await harness.post({ reason: 'for the auditor' }, '/v1/reconciliations');
  runId = asked.json<{ id: string }>().id;
  await append(`run-${runId}`, [{ type: 'RunStarted', data: { runId } }]);
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

/** The same proof without one line, with the numbers that tell of it made to fit. */
function without(lines: ProofLine[], at: number): ProofLine[] {
  const copy = structuredClone(lines);
  const gone = copy.splice(at, 1)[0] as { entry: string };
  const { stream } = JSON.parse(gone.entry) as { stream: string };
  for (const line of copy) {
    if ('stream' in line && line.stream === stream) line.events -= 1;
    if ('end' in line) line.end.events -= 1;
    if ('answer' in line) for (const one of line.answer.streams) if (one.stream === stream) one.events -= 1;
  }
  return copy;
}

const lastOf = (lines: ProofLine[], stream: string): number =>
  lines.findLastIndex((line) => 'entry' in line && line.entry.includes(`"stream":"${stream}"`));

describe('what somebody changed in a proof of an answer', () => {
  it.each<[string, () => string, (body: Record<string, unknown>) => void, RegExp]>([
    ['the outcome of a document', () => `/v1/documents/${done}`, (body) => (body['outcome'] = 'accepted'), /outcome/],
    ['an error of its receipt', () => `/v1/documents/${done}`, (body) => (body['errors'] = []), /errors/],
    ['what others told of it', () => `/v1/documents/${done}`, (body) => (body['notifications'] = []), /notifications/],
    ['a sentence', () => `/v1/documents/${done}`, (body) => (body['sentence'] = 'All is well.'), /sentence/],
    [
      'a line of its timeline',
      () => `/v1/documents/${done}`,
      (body) => (body['timeline'] as unknown[]).pop(),
      /timeline\/length/,
    ],
    ['the phase of an open document', () => `/v1/documents/${open}`, (body) => (body['phase'] = 'sent'), /phase/],
    ['an added member', () => `/v1/documents/${open}`, (body) => (body['status'] = 'processed'), /status/],
    ['the members of a group', () => `/v1/groups/${groupId}`, (body) => (body['members'] = []), /members/],
    ['the sender of others', () => `/v1/inbound/${told}`, (body) => (body['doc_type'] = 601), /doc_type/],
    ['the severity of a case', () => `/v1/cases/${caseId}`, (body) => (body['severity'] = 'warning'), /severity/],
  ])('is refused: %s', async (_, route, change, place) => {
    const lines = changed(await proofOf(route()), (copy) => {
      const answer = answerIn(copy);
      const body = JSON.parse(answer.body) as Record<string, unknown>;
      change(body);
      answer.body = JSON.stringify(body);
    });
    await expect(verified(lines)).rejects.toThrow(place);
    await expect(verified(lines)).rejects.toThrow(/the answer says .*, and from the events follows/);
  });

  it('is refused: an event that is left out, in the middle, at the end, and with its stream', async () => {
    const lines = await proofOf(`/v1/documents/${done}`);
    const stream = documentStream(done);
    const second = lines.findIndex((line) => 'entry' in line && line.entry.includes('"version":1}'));
    await expect(verified(without(lines, second))).rejects.toThrow(/version 2 of .* comes where version 1 belongs/);
    await expect(verified(without(lines, lastOf(lines, stream)))).rejects.toThrow(
      new RegExp(`the log has \\d events of ${stream} before leaf \\d+, and the proof has \\d`),
    );
    const later = lines.findLastIndex((line) => 'stream' in line);
    const cut = changed([...lines.slice(0, later), ...lines.slice(-1)], (copy) => {
      const end = copy.at(-1) as { end: { streams: number; events: number } };
      Object.assign(end.end, { streams: 1, events: eventsIn(copy).length });
    });
    await expect(verified(cut)).rejects.toThrow(
      `the stream inbound-${told}, from which the answer was made, is left out`,
    );
    const silent = changed(cut, (copy) => answerIn(copy).streams.pop());
    await expect(verified(silent)).rejects.toThrow(/notifications/);
  });

  it('is refused: an event that was changed, and one of a later moment', async () => {
    const lines = await proofOf(`/v1/cases/${caseId}`);
    const rewritten = changed(lines, (copy) => {
      const [event] = eventsIn(copy);
      if (event !== undefined) event.data = (event.data ?? '').replace('critical', 'warning');
    });
    await expect(verified(rewritten)).rejects.toThrow('the data is not what the leaf names by digest');
    const fewer = changed(lines, (copy) => answerIn(copy).streams.forEach((one) => (one.events = 0)));
    await expect(verified(fewer)).rejects.toThrow('made from 0 events of');
  });

  it('is refused: the answer of one thing with the events of another', async () => {
    const [one, other] = [await proofOf(`/v1/documents/${done}`), await proofOf(`/v1/documents/${open}`)];
    const swapped = changed(other, (copy) => {
      const answer = answerIn(copy);
      Object.assign(answer, { route: answerIn(one).route, body: answerIn(one).body });
    });
    await expect(verified(swapped)).rejects.toThrow(`is made from the stream ${documentStream(done)}`);
    const run = changed(await proofOf('/v1/operations/configuration?limit=5'), (copy) => {
      answerIn(copy).route = `/v1/reconciliations/${runId}`;
    });
    await expect(verified(run)).rejects.toThrow(`is made from the stream run-${runId}`);
    const pack = await proofOf(`/v1/packs/${SGTIN}/history`);
    const strange = changed(other, (copy) => {
      const { route, body } = answerIn(pack);
      Object.assign(answerIn(copy), { route, body });
    });
    await expect(verified(strange)).rejects.toThrow(/the answer names the evidence [0-9a-f]{64}, which no event names/);
  });

  it('is told apart from what another version of the program words otherwise', async () => {
    const otherVersion = (change: (body: Record<string, unknown>) => void) => async () =>
      verified(
        changed(await proofOf(`/v1/documents/${done}`), (copy) => {
          const answer = answerIn(copy);
          const body = JSON.parse(answer.body) as Record<string, unknown>;
          change(body);
          Object.assign(answer, { software: '0.0.1', body: JSON.stringify(body) });
        }),
      );
    const { reading } = await otherVersion((body) => (body['sentence'] = 'Other words.'))();
    expect(reading).toMatchObject({
      kind: 'follows',
      beside: expect.arrayContaining([expect.stringMatching(/0\.0\.1/)]),
    });
    await expect(otherVersion((body) => (body['outcome'] = 'accepted'))()).rejects.toThrow(/outcome/);
  });
});

describe('pedigree audit', () => {
  /** What a command writes, and its status. */
  async function run(command: () => Promise<number>): Promise<{ status: number; text: string }> {
    const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    try {
      const status = await command();
      return { status, text: print.mock.calls.map(([text]) => String(text)).join('') };
    } finally {
      print.mockRestore();
    }
  }

  /** The commands, one after the other, as a person types them. */
  async function provenAndVerified(answer: string, json = false) {
    const config = cliConfig({ PEDIGREE_URL: harness.gateway.url });
    const proven = await run(() => proveNamed(config, { answer }));
    expect(proven.status).toBe(0);
    const folder = await temporaryFolder();
    try {
      const file = join(folder.path, 'proof.ndjson');
      writeFileSync(file, proven.text);
      return await run(() => verifyProof(file, { key, json }));
    } finally {
      await folder.remove();
    }
  }

  it('proves an answer and verifies it, and says what that proves and what it does not', async () => {
    const document = await provenAndVerified(`/v1/documents/${done}`);
    expect(document.text).toContain(`the answer to GET /v1/documents/${done}, read at `);
    expect(document.text).toContain('the answer follows from its events: it was worked out again from them');
    expect(document.text).toMatch(/not worked out from events: log positions; when it is due/);
    expect(document.status).toBe(0);
    const pack = await provenAndVerified(`/v1/packs/${SGTIN}/history?as_of=2026-02-01T00:00:00Z`);
    expect(pack.text).toContain('NOT CHECKED: that the answer follows from its events');
    expect(pack.status).toBe(0);
    const shown = JSON.parse((await provenAndVerified(`/v1/cases/${caseId}`, true)).text) as { answer: object };
    expect(shown.answer).toMatchObject({ route: `/v1/cases/${caseId}`, reading: 'follows', not_yet_sealed: [] });
  });

  it('ends with status 1 where events of the answer are not sealed yet', async () => {
    await append(`case-${caseId}`, [{ type: 'CaseCommented', data: { caseId, text: 'looked' } }]);
    const { status, text } = await provenAndVerified(`/v1/cases/${caseId}`);
    expect(text).toContain(`NOT PROVEN: the last 1 events of case-${caseId} from which it was made are not sealed yet`);
    expect(status).toBe(1);
    await sealed();
  });

  it('wants a route of the API', async () => {
    const config = cliConfig({ PEDIGREE_URL: harness.gateway.url });
    await expect(proveNamed(config, { answer: 'packs' })).rejects.toThrow(/--answer: must be a route of the API/);
    await expect(proveNamed(config, { answer: '/v1/summary' })).rejects.toThrow('proof: this answer cannot be proven');
    await expect(proveNamed(config, { answer: '/v1/x', stream: 'configuration' })).rejects.toThrow(/^name a document/);
  });
});

describe('an answer that cannot be proven', () => {
  const refusedWith = async (route: string, init: RequestInit = {}) => {
    const answer = await harness.ask(route, init);
    const { code, detail } = answer.json<{ code: string; detail: string }>();
    return [answer.status, code, detail, answer.headers.get('retry-after')];
  };

  it('is refused with its reason', async () => {
    expect(await refusedWith(`/v1/documents/${randomUUID()}?proof=1`)).toMatchObject([
      404,
      'not_found',
      expect.any(String),
      null,
    ]);
    expect(await refusedWith('/v1/documents?proof=1')).toEqual([400, 'invalid_parameter', expect.any(String), null]);
    expect(await refusedWith('/v1/summary?proof=1')).toMatchObject([
      400,
      'invalid_parameter',
      'proof: this answer cannot be proven',
      null,
    ]);
    expect(await refusedWith(`/v1/documents/${done}?proof=yes`)).toMatchObject([
      400,
      'invalid_parameter',
      'proof: must be 1',
      null,
    ]);
    const accept = { headers: { accept: 'application/ld+json' } };
    expect(await refusedWith(`/v1/packs/${SGTIN}/history?proof=1`, accept)).toMatchObject([
      400,
      'invalid_parameter',
      'proof: only an answer in JSON is proven; leave out Accept',
      null,
    ]);
  });

  it('is not sealed yet, in part or whole: what is not is named', async () => {
    await harness.post({ command_id: 'fresh', xml: arrival() });
    const fresh = await harness.run('fresh');
    expect(await refusedWith(`/v1/documents/${fresh}?proof=1`)).toMatchObject([
      503,
      'not_sealed_yet',
      expect.stringMatching(/newer than the newest checkpoint/),
      '60',
    ]);
    await append(documentStream(open), [
      { type: 'SendAttempted', data: { attempt: 1, signatureSha256: SHA, certificateSha256: SHA } },
    ]);
    await followed();
    const lines = await proofOf(`/v1/documents/${open}`);
    const { answer, reading, streams } = await verified(lines);
    expect(answer?.unsealed).toEqual([{ stream: documentStream(open), events: 1 }]);
    expect(reading.kind).toBe('follows');
    expect(streams[0]).toMatchObject({ events: 1, notYetSealed: 1 });
    const unsealed = (copy: ProofLine[]) =>
      (copy.find((line) => 'unsealed' in line) as { unsealed: { entry: string; data: string } }).unsealed;
    const wrong: [(copy: ProofLine[]) => void, RegExp][] = [
      [(copy) => (unsealed(copy).data = '{"attempt":2}'), /unsealed: the data or metadata is not what the entry names/],
      [(copy) => (unsealed(copy).entry = unsealed(copy).entry.replace('"version":1', '"version":2')), /version 2 of/],
      [
        (copy) => void copy.splice(copy.indexOf(copy.find((line) => 'unsealed' in line) as ProofLine), 1),
        /and 0 of them/,
      ],
    ];
    for (const [change, why] of wrong) await expect(verified(changed(lines, change))).rejects.toThrow(why);
    await sealed();
    expect((await verified(await proofOf(`/v1/documents/${open}`))).answer?.unsealed).toEqual([]);
  });

  it('waits for the read models that it is made from, and says which is behind', async () => {
    await append(`thing-${randomUUID()}`, [{ type: 'ThingHappened', data: {} }]);
    const route = `/v1/documents/${done}?proof=1`;
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => refusedWith(route)));
    expect(answers.map(([status, code]) => [status, code])).toEqual(answers.map(() => [503, 'unavailable']));
    const details = answers.map(([, , detail]) => String(detail));
    expect(details.filter((one) => /inbound-documents is behind/.test(one))).toHaveLength(4);
    expect(details.filter((one) => /4 answers are being proven already/.test(one))).toHaveLength(1);
    expect((await harness.ask(`/v1/documents/${done}`)).status).toBe(200);
    await followed();
    expect((await harness.ask(route)).status).toBe(200);
  });

  it('is refused where a stream has grown since it was read', async () => {
    const streams = [documentStream(done)];
    const answer = { route: `/v1/documents/${done}`, readAt: new Date(), software: '1', body: '{}', streams };
    const [first] = await store.readStream(documentStream(done));
    const lines = answerProofLines({ pool: harness.db.pool, store }, { ...answer, position: first?.position ?? 0n });
    await expect(lines.next()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/has grown while the answer was read/),
    });
  });

  it('is refused to a key that may not see evidence', async () => {
    const keys = registerOn(harness.db.pool, store);
    const made = (role: 'erp' | 'auditor') =>
      keys.make({ name: role, roles: [role], expiresAt: NEXT_YEAR() }, { actor: KEEPER, reason: 'a test' });
    const [erp, auditor] = [await made('erp'), await made('auditor')];
    const route = `/v1/inbound/${told}`;
    const as = (apiKey: string) => ({ headers: { authorization: `Bearer ${apiKey}` } });
    expect((await harness.ask(route, as(erp))).status).toBe(200);
    expect((await harness.ask(`${route}?proof=1`, as(erp))).status).toBe(403);
    expect((await harness.ask(`${route}?proof=1`, as(auditor))).status).toBe(200);
  });
});
