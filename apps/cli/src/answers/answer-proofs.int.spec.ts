import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEEPER, NEXT_YEAR, registerOn } from '../../../gateway/test/keys.js';
import { arrival, SGTIN } from '../../../gateway/test/test-harness.js';
import { documentStream } from '#domain';
import { sha256Hex } from '#kernel';
import { type ProofLine } from '#proofs';
import { answerProofLines } from '#sealed-log';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeProofPage } from '../commands/audit-page.js';
import { proveNamed, verifyProof } from '../commands/audit-proof.js';
import { cliConfig } from '../config.js';
import {
  answerIn,
  append,
  BOXED,
  boxing,
  caseId,
  changed,
  closeWorld,
  done,
  enteredAt,
  eventsIn,
  followed,
  groupId,
  harness,
  key,
  letterId,
  open,
  openedAt,
  openWorld,
  proofOf,
  runId,
  SHA,
  sealed,
  store,
  told,
  verified,
} from '../../test/answer-world.js';

beforeAll(openWorld);
afterAll(closeWorld);

describe('the proof of an answer', () => {
  it.each([
    ['a document', () => `/v1/documents/${done}`, () => [documentStream(done), `inbound-${told}`], 'follows'],
    ['an open document', () => `/v1/documents/${open}`, () => [documentStream(open), 'account-main'], 'follows'],
    ['a group', () => `/v1/groups/${groupId}`, () => [`group-${groupId}`, documentStream(open)], 'follows'],
    ['an inbound document', () => `/v1/inbound/${told}`, () => [`inbound-${told}`], 'follows'],
    ['a case', () => `/v1/cases/${caseId}`, () => [`case-${caseId}`], 'follows'],
    ['a suspension', () => `/v1/suspensions/${letterId}`, () => [`suspension-${letterId}`], 'follows'],
    ['a run', () => `/v1/reconciliations/${runId}?limit=10`, () => [`run-${runId}`], 'unchecked'],
    ['a pack', () => `/v1/packs/${SGTIN}`, () => [documentStream(done)], 'unchecked'],
    ['the history of a pack', () => `/v1/packs/${SGTIN}/history`, () => [documentStream(done)], 'unchecked'],
    ['a pack in a container', () => `/v1/packs/${BOXED}`, () => boxing.map(documentStream), 'unchecked'],
    ['the history of one', () => `/v1/packs/${BOXED}/history`, () => boxing.map(documentStream), 'unchecked'],
    ['the configuration', () => '/v1/operations/configuration?limit=5', () => ['configuration'], 'unchecked'],
  ])('has the body of the plain answer to %s, and the events of all its streams', async (_, route, streams, kind) => {
    await followed();
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

describe('whoever is given the proof of an answer', () => {
  it('is recorded before, as of whatever goes out as a file', async () => {
    const exports = async () =>
      (await store.readStream(`access-${new Date().toISOString().slice(0, 10)}`))
        .filter(({ type, data }) => type.startsWith('Export') && data['what'] === '/v1/inbound/{documentId}')
        .map(({ type, data }) => ({ type, ...data }));
    const before = (await exports()).length;
    const { text } = await harness.ask(`/v1/inbound/${told}?proof=1`);
    expect((await exports()).slice(before)).toMatchObject([
      { type: 'ExportBegun', format: 'application/x-ndjson', filter: { documentId: told, proof: '1' } },
      { type: 'ExportEnded', complete: true, byteLength: Buffer.byteLength(text), fileSha256: sha256Hex(text) },
    ]);
    // The plain answer is none.
    await harness.ask(`/v1/inbound/${told}`);
    expect(await exports()).toHaveLength(before + 2);
  });
});

describe('the proof of an entry of the access log', () => {
  it('has the one event that it was made from, and no other of its stream', async () => {
    const route = `/v1/access-log/${openedAt}`;
    const plain = await harness.ask(route);
    const day = plain.json<{ stream: string; version: number }>();
    const recorded = await store.readStream(day.stream);
    expect(day.version).toBeGreaterThan(0);
    expect(recorded.length).toBeGreaterThan(day.version);
    const lines = await proofOf(route);
    const { answer, reading, streams } = await verified(lines);
    expect(answer?.body).toBe(plain.text);
    expect(JSON.parse(plain.text)).toMatchObject({ kind: 'evidence', reason: 'a second look' });
    expect(reading.kind).toBe('follows');
    const whole = undefined;
    expect(streams).toEqual([{ stream: day.stream, from: day.version, events: 1, notYetSealed: 0, whole }]);
    // What was opened is not handed out by the proof of who opened it.
    expect(lines.filter((line) => 'evidence' in line)).toEqual([]);
    const first = await verified(await proofOf(`/v1/access-log/${enteredAt}`));
    expect(first.streams).toMatchObject([{ stream: `suspension-${letterId}`, from: 0, events: 1 }]);
  });

  it('is refused with another event, without a stream that begins there, and as one of a document', async () => {
    const [one, other] = [await proofOf(`/v1/access-log/${openedAt}`), await proofOf(`/v1/access-log/${enteredAt}`)];
    const swapped = changed(other, (copy) => void (answerIn(copy).body = answerIn(one).body));
    await expect(verified(swapped)).rejects.toThrow(/the answer says .*, and from the events follows/);
    const moved = changed(one, (copy) => {
      for (const line of copy) if ('stream' in line) line.from = 0;
      for (const stream of answerIn(copy).streams) stream.from = 0;
    });
    await expect(verified(moved)).rejects.toThrow(/version [1-9]\d* of access-.* comes where version 0 belongs/);
    const whole = changed(one, (copy) => {
      for (const line of copy) if ('stream' in line) delete line.from;
    });
    await expect(verified(whole)).rejects.toThrow(/made from version \d+ of access-.* on, and not from 0/);
    const part = changed(await proofOf(`/v1/documents/${done}`), (copy) => {
      answerIn(copy).streams[0] = { stream: documentStream(done), from: 1, events: 1 };
    });
    await expect(verified(part)).rejects.toThrow(/is made from the whole stream document-/);
    const plain = changed(one, (copy) => {
      Object.assign(copy[0] as object, { format: 'pedigree-proof/2' });
      copy.splice(1, 1);
    });
    await expect(verified(plain)).rejects.toThrow(/access-.* without its first events/);
  });

  it('is of an entry alone: another event, and a position without one, are not found', async () => {
    const { rows } = await harness.db.pool.query<{ position: string }>(
      `SELECT position::text FROM event WHERE type = 'InboundSeen'`,
    );
    for (const position of [rows[0]?.position, '999999', '0'])
      expect((await harness.ask(`/v1/access-log/${position}?proof=1`)).status).toBe(404);
    expect((await harness.ask('/v1/access-log/one')).status).toBe(400);
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
    [
      'who opened evidence',
      () => `/v1/access-log/${openedAt}`,
      (body) => ((body['actor'] as { name: string }).name = 'somebody'),
      /actor\/name/,
    ],
    [
      'what was opened',
      () => `/v1/access-log/${openedAt}`,
      (body) => ((body['objects'] as string[])[0] = SHA),
      /objects\/0/,
    ],
    [
      'when it was opened',
      () => `/v1/access-log/${openedAt}`,
      (body) => (body['at'] = '2026-01-01T00:00:00.000Z'),
      /at/,
    ],
    [
      'whether a suspension counts',
      () => `/v1/suspensions/${letterId}`,
      (body) => (body['in_force'] = false),
      /in_force/,
    ],
    [
      'what a suspension means',
      () => `/v1/suspensions/${letterId}`,
      (body) => ((body['matches'] as { series: string }[])[0] = { series: 'A2' }),
      /matches/,
    ],
    [
      'the series whose packs are counted',
      () => `/v1/suspensions/${letterId}`,
      (body) =>
        ((body['affected'] as { series: string }[])[0] = {
          ...(body['affected'] as { series: string }[])[0],
          series: 'A2',
        }),
      /affected\/0\/series/,
    ],
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

  it('is named, member by member, where the file says that another version made it', async () => {
    const made = changed(await proofOf(`/v1/documents/${open}`), (copy) => {
      const answer = answerIn(copy);
      const { command_id: _, ...body } = JSON.parse(answer.body) as Record<string, unknown>;
      Object.assign(answer, { software: '0.0.1', body: JSON.stringify({ ...body, status: 'processed' }) });
    });
    expect((await verified(made)).reading).toMatchObject({
      kind: 'follows',
      beside: expect.arrayContaining([
        expect.stringMatching(/^NOT CHECKED: \/command_id, \/status\. Version 0\.0\.1 made it, says the file/),
      ]),
    });
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
    await followed();
    const config = cliConfig({ PEDIGREE_URL: harness.gateway.url });
    const proven = await run(() => proveNamed(config, { answer }));
    expect(proven.status).toBe(0);
    const folder = await temporaryFolder();
    try {
      const file = join(folder.path, 'proof.ndjson');
      writeFileSync(file, proven.text);
      // Its page has the whole file, and is made where the answer holds as the command checks it.
      const page = await run(() => writeProofPage(file, { key }));
      expect(readFileSync(join(folder.path, 'proof.html'), 'utf8')).toContain(proven.text.trim());
      const verified = await run(() => verifyProof(file, { key, json }));
      expect(page.status).toBe(verified.status);
      return verified;
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

  it('ends with status 1 where no count shows that the last event was not left out', async () => {
    const lines = await proofOf(`/v1/cases/${caseId}`);
    const uncounted = lines.filter((line) => !('count' in line));
    const folder = await temporaryFolder();
    try {
      const file = join(folder.path, 'proof.ndjson');
      for (const [some, status] of [
        [lines, 0],
        [uncounted, 1],
      ] as const) {
        writeFileSync(file, some.map((line) => `${JSON.stringify(line)}\n`).join(''));
        const found = await run(() => verifyProof(file, { key }));
        expect(found.text.includes('NOT PROVEN: that it has no later event')).toBe(status === 1);
        expect([found.status, (await run(() => writeProofPage(file, { key }))).status]).toEqual([status, status]);
      }
    } finally {
      await folder.remove();
      await followed();
    }
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
    const streams = [{ stream: documentStream(done) }];
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
