import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { systemClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { MAX_COMMAND_BYTES } from './body-limits.js';

/** Small, so that nobody waits for them; a machine under load may still pause a while between two pieces of a body. */
const LIMITS = {
  jsonBodyMs: 400,
  idleMs: 3_000,
  maxUnreadResults: 2_000,
  readPatienceMs: 300,
  mostHeldBytes: 64 * 1024 * 1024,
};
/** A refusal costs next to nothing and repeats the name, so that results fill every buffer on the way. */
const bulkyLine = `{"command_id":"x","${'x'.repeat(8_000)}":1}\n`;

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { bodyLimits: LIMITS });
});
afterAll(() => harness.stop());

/** A request whose body is written piece by piece. */
function open(contentType: string, of = harness): { sending: ClientRequest; answer: Promise<IncomingMessage> } {
  const sending = request(`${of.gateway.url}/v1/commands`, {
    method: 'POST',
    headers: { 'content-type': contentType },
  });
  sending.flushHeaders();
  const answer = once(sending, 'response').then(([response]) => response as IncomingMessage);
  return { sending, answer };
}

async function write(sending: ClientRequest, text: string): Promise<void> {
  if (!sending.write(text)) await once(sending, 'drain');
}

async function linesOf(answer: IncomingMessage): Promise<{ line?: number; error?: { code: string; line?: number } }[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: number });
}

describe('a client that writes everything before it reads', () => {
  it('gets every result, though they are more than any buffer on the way holds', async () => {
    const { sending, answer } = open('application/x-ndjson');
    for (let n = 0; n < LIMITS.maxUnreadResults; n += 1) await write(sending, bulkyLine);
    sending.end();
    const results = await linesOf(await answer);
    expect(results).toHaveLength(LIMITS.maxUnreadResults);
    expect(results.at(-1)).toMatchObject({ line: LIMITS.maxUnreadResults, error: { code: 'invalid_command' } });
  });

  it('is told where it went over the limit, and loses no result of what was taken', async () => {
    const { sending, answer } = open('application/x-ndjson');
    // What the buffers on the way hold comes on top of the limit.
    for (let n = 0; n < 4 * LIMITS.maxUnreadResults; n += 1) await write(sending, bulkyLine);
    sending.end();
    const results = await linesOf(await answer);
    const last = results.pop();
    expect(results.map((one) => one.line)).toEqual(results.map((_, n) => n + 1));
    expect(last?.error).toMatchObject({
      code: 'results_unread',
      line: results.length + 1,
      detail: expect.stringContaining(`${LIMITS.maxUnreadResults} results`),
    });
    expect(results.length).toBeGreaterThanOrEqual(LIMITS.maxUnreadResults);
  });
});

describe('a slow body', () => {
  it('may take its time as lines, while it keeps coming', async () => {
    const { sending, answer } = open('application/x-ndjson');
    const line = JSON.stringify({ command_id: 'slow', xml: arrival() });
    const pieces = 24;
    for (let n = 0; n < pieces; n += 1) {
      await write(
        sending,
        line.slice(Math.floor((n * line.length) / pieces), Math.floor(((n + 1) * line.length) / pieces)),
      );
      await systemClock.wait(150);
    }
    sending.end();
    expect(await linesOf(await answer)).toEqual([
      { line: 1, command_id: 'slow', request_id: expect.any(String), repeated: false, document: expect.any(String) },
    ]);
  });

  it('that stops coming is given up, and what came before is taken', async () => {
    const { sending, answer } = open('application/x-ndjson');
    await write(sending, `${JSON.stringify({ command_id: 'stalled', xml: arrival() })}\n{"comm`);
    const results = await linesOf(await answer);
    expect(results).toMatchObject([{ line: 1, command_id: 'stalled' }, { error: { code: 'request_timeout' } }]);
    // The connection is not left open for a sender that may never come back.
    await once(sending, 'close');
  });

  it('has less time as one command', async () => {
    const { sending, answer } = open('application/json');
    sending.on('error', () => undefined);
    await write(sending, '{"comm');
    const response = await answer;
    expect([response.statusCode, (await linesOf(response))[0]]).toEqual([
      408,
      expect.objectContaining({ code: 'request_timeout', status: 408 }),
    ]);
    await once(sending, 'close');
    expect((await harness.ask('/health/ready')).status).toBe(200);
  });
});

describe('bodies of lines', () => {
  it.each(['', '\n \r\n\n'])('without a line are refused: %j', async (body) => {
    const answer = await harness.ask('/v1/commands', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body,
    });
    expect([answer.status, answer.json()]).toEqual([400, expect.objectContaining({ code: 'missing_body' })]);
  });

  it('may hold one that is too long: the others are taken', async () => {
    const results = await harness.postLines([
      { command_id: 'before', xml: arrival() },
      'x'.repeat(MAX_COMMAND_BYTES + 1),
      { command_id: 'behind', xml: arrival() },
    ]);
    expect(results).toMatchObject([
      { line: 1, command_id: 'before' },
      { line: 2, error: { code: 'body_too_large', line: 2 } },
      { line: 3, command_id: 'behind' },
    ]);
  });

  it('take an account for all commands that name none', async () => {
    await harness.postLines(
      [
        { command_id: 'named', xml: arrival(), account: 'main' },
        { command_id: 'unnamed', xml: arrival() },
      ],
      '/v1/commands?account=north',
    );
    await harness.post({ command_id: 'single', xml: arrival() }, '/v1/commands?account=north');
    const { rows } = await harness.db.pool.query(
      `SELECT account FROM command WHERE command_id IN ('named', 'single', 'unnamed') ORDER BY command_id`,
    );
    expect(rows.map((row) => row.account)).toEqual(['main', 'north', 'north']);
    expect(
      (await harness.post({ command_id: 'wrong', xml: arrival() }, '/v1/commands?account=%00')).json(),
    ).toMatchObject({ status: 400, field: 'account' });
  });
});

describe('bodies that do not fit into the memory for all of them', () => {
  const MOST = 1024 * 1024;
  let small: TestHarness;
  beforeAll(async () => {
    small = await TestHarness.start(await testDatabase(TestHarness.schemas), {
      bodyLimits: { ...LIMITS, jsonBodyMs: 60_000, mostHeldBytes: MOST },
    });
  });
  afterAll(() => small.stop());

  const post = (bytes: number) => small.post({ command_id: 'x', xml: 'x'.repeat(bytes) });
  const full = async (answer: Awaited<ReturnType<typeof post>>) => [
    answer.status,
    answer.headers.get('retry-after'),
    answer.json()['code'],
  ];

  /** A body that has its room. Where a probe was there before it, it was refused, and is begun anew. */
  async function holding<T extends { destroy(): unknown }>(begin: () => T): Promise<T> {
    let held = begin();
    await until('the body has its room', async () => {
      if ((await post(2_000)).status === 503) return true;
      held.destroy();
      held = begin();
      return false;
    });
    return held;
  }

  it('are to be brought again later, whether they tell their length or not; and later they are taken', async () => {
    // Told and not yet there: it holds its room all the same.
    const slow = await holding(() => {
      const sending = request(`${small.gateway.url}/v1/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': MOST - 1_000 },
      });
      sending.on('error', () => undefined).write('{');
      return sending;
    });
    expect(await full(await post(2_000))).toEqual([503, '5', 'backlog_full']);
    const untold = open('application/json', small);
    untold.sending.end(JSON.stringify({ command_id: 'x', xml: 'x'.repeat(2_000) }));
    expect((await untold.answer).statusCode).toBe(503);
    const lines = await small.postLines([
      { command_id: 'small', xml: arrival('<sgtin/>') },
      { command_id: 'large', xml: 'x'.repeat(2_000) },
    ]);
    expect(lines).toMatchObject([
      { line: 1, error: { code: expect.not.stringMatching('backlog_full') } },
      { line: 2, error: { code: 'backlog_full', line: 2 } },
    ]);
    slow.destroy();
    await until('there is room again', async () => (await post(2_000)).status === 422);
  });

  it('leave no room occupied, however they end', async () => {
    // Behind a request that is not answered yet, on a connection that breaks.
    const { host, port } = new URL(small.gateway.url);
    const pipelined = await holding(() => {
      const connection = connect(Number(port), '127.0.0.1');
      connection.write(
        `GET /v1/outcomes?wait=30 HTTP/1.1\r\nhost: ${host}\r\n\r\nPOST /v1/commands HTTP/1.1\r\nhost: ` +
          `${host}\r\ncontent-type: application/json\r\ncontent-length: ${MOST - 1_000}\r\n\r\n{`,
      );
      return connection;
    });
    pipelined.destroy();
    for (let times = 0; times < 5; times += 1) {
      const broken = open('application/x-ndjson', small);
      broken.answer.catch(() => undefined);
      broken.sending.on('error', () => undefined);
      await write(broken.sending, 'x'.repeat(MOST / 2));
      broken.sending.destroy();
      const untold = open('application/json', small);
      untold.answer.catch(() => undefined);
      untold.sending.on('error', () => undefined);
      await write(untold.sending, 'x'.repeat(MOST / 2));
      untold.sending.destroy();
    }
    await until('all of the room is there', async () => (await post(MOST - 100)).status === 422);
    expect(
      await small.postLines(Array.from({ length: 40 }, (_, n) => ({ command_id: `n${n}`, xml: 'x'.repeat(100_000) }))),
    ).toEqual(Array.from({ length: 40 }, (_, n) => ({ line: n + 1, error: expect.objectContaining({ status: 422 }) })));
  });
});

describe('a fault of ours', () => {
  it('is in the log under the name that the answer gives it, for a line as for a request', async () => {
    await harness.db.pool.query('ALTER TABLE command RENAME TO command_away');
    try {
      const [line] = await harness.postLines([{ command_id: 'unlucky', xml: arrival() }]);
      const single = (await harness.post({ command_id: 'unlucky', xml: arrival() })).json();
      for (const [problem, where] of [
        [line?.['error'] as Record<string, unknown>, { line: 1 }],
        [single, {}],
      ] as const) {
        expect(problem).toMatchObject({ code: 'internal', status: 500, ...where });
        expect(harness.logged.filter((one) => one['instance'] === problem['instance'])).toMatchObject([
          { level: 50, url: '/v1/commands', err: { message: expect.stringContaining('command') }, ...where },
        ]);
        expect(JSON.stringify(problem)).not.toContain('relation');
      }
    } finally {
      await harness.db.pool.query('ALTER TABLE command_away RENAME TO command');
    }
  });
});

describe('a command longer than a line of NDJSON may be', () => {
  // Its own gateway, with the usual time for a body: this one has to arrive, also on a busy machine.
  let patient: TestHarness;
  beforeAll(async () => {
    patient = await TestHarness.start(await testDatabase(TestHarness.schemas));
  });
  afterAll(() => patient.stop());

  /** A body of one more byte than a line may have: what it holds is not looked at in these tests. */
  const LONG = Buffer.alloc(MAX_COMMAND_BYTES + 1, ' ');
  const codeOf = async (answer: Promise<IncomingMessage>): Promise<[number | undefined, string]> => {
    const response = await answer;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return [response.statusCode, (JSON.parse(Buffer.concat(chunks).toString()) as { code: string }).code];
  };

  it('is read when it tells its length', async () => {
    expect((await patient.post(LONG)).json()).toMatchObject({ code: 'invalid_json' });
    const xml = arrival().replace('<documents', `${' '.repeat(MAX_COMMAND_BYTES)}<documents`);
    expect((await patient.post({ command_id: 'long', xml })).status).toBe(202);
  });

  it('is refused when it does not', async () => {
    const { sending, answer } = open('application/json', patient);
    sending.end(LONG);
    expect(await codeOf(answer)).toEqual([413, 'body_too_large']);
  });

  it('waits its turn: two are taken in at a time, and others come again later', async () => {
    const { port } = new URL(patient.gateway.url);
    const begin = (): ClientRequest => {
      const sending = request({
        port,
        path: '/v1/commands',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': LONG.length },
      });
      sending.on('error', () => undefined);
      sending.flushHeaders();
      return sending;
    };
    const answerTo = (sending: ClientRequest) =>
      codeOf(once(sending, 'response').then(([response]) => response as IncomingMessage));
    const [first, second, third] = [begin(), begin(), begin()] as [ClientRequest, ClientRequest, ClientRequest];
    expect(await Promise.race([first, second, third].map(answerTo))).toEqual([503, 'backlog_full']);
    for (const one of [first, second, third]) one.destroy();
    expect(await untilRead()).toMatchObject({ code: 'invalid_json' });
  });

  /** The places of requests that broke off are free when the server has noticed. */
  async function untilRead(): Promise<object> {
    for (let tries = 0; tries < 100; tries += 1) {
      const answer = await patient.post(LONG);
      // Whoever has a place and is read too slowly on a busy machine comes again as well.
      if (answer.status !== 503 && answer.status !== 408) return answer.json();
      await systemClock.wait(50);
    }
    throw new Error('no place became free');
  }
});
