import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { DocumentCommand } from '#domain';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { makeKey, revokeKey } from '../../test/keys.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { findKey } from './key-table.js';

let harness: TestHarness;
let erp: string;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  erp = await makeKey(harness.db.pool, 'erp', ['erp']);
});
afterAll(() => harness.stop());

/** Sends the head of a request that promises a body, and nothing of the body. Gives what is answered to that. */
async function promise(
  line: string,
  headers: string[],
): Promise<{ status: string; code: string | undefined; socket: Socket }> {
  const socket = connect(Number(new URL(harness.gateway.url).port), '127.0.0.1');
  socket.write(`${line} HTTP/1.1\r\nhost: here\r\n${headers.join('\r\n')}\r\n\r\n`);
  let text = '';
  while (!text.includes('\r\n\r\n') || !text.endsWith('}')) text += String((await once(socket, 'data'))[0]);
  return { status: text.split(' ')[1] ?? '', code: /"code":"(\w+)"/.exec(text)?.[1], socket };
}

const SHA = 'a'.repeat(64);
/** The shortest life of a document: the registry refuses it. */
const REFUSED: DocumentCommand[] = [
  { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA },
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'refused', code: '7', text: 'no', answerSha256: SHA } },
];
const JSON_BODY = ['content-type: application/json', 'content-length: 40000000'];
const LINES = ['content-type: application/x-ndjson', 'transfer-encoding: chunked'];

describe('whoever promises a body and sends none of it', () => {
  it.each([
    ['without a key', 'POST /v1/commands', JSON_BODY, '401', 'unauthenticated'],
    ['without a key, as lines', 'POST /v1/commands', LINES, '401', 'unauthenticated'],
    [
      'with a key that is not known',
      'POST /v1/commands',
      [...JSON_BODY, `authorization: Bearer ${'x'.repeat(40)}`],
      '401',
      'unauthenticated',
    ],
    ['for a route that is not there', 'POST /v1/nowhere', JSON_BODY, '404', 'not_found'],
    ['by a method that is not there', 'POST /docs', JSON_BODY, '404', 'not_found'],
  ])('%s is answered at once', async (_, line, headers, status, code) => {
    const { socket, ...answer } = await promise(line, headers);
    expect(answer).toEqual({ status, code });
    socket.destroy();
  });

  it('with a key that may not do this is told so at once, and his connection is cut', async () => {
    const { socket, ...answer } = await promise('POST /v1/reconciliations', [
      ...JSON_BODY,
      `authorization: Bearer ${erp}`,
    ]);
    expect(answer).toEqual({ status: '403', code: 'forbidden' });
    await once(socket.resume(), 'close');
  });
});

it('every route asks for a key but those that are open, HEAD too', async () => {
  const open: string[] = [];
  for (const route of harness.gateway.routes) {
    const [method = '', path = ''] = route.split(' ');
    const { status } = await harness.ask(path.replace(/\{\w+\}/g, 'x'), { method });
    if (status !== 401) open.push(route);
  }
  expect(open.sort()).toEqual([
    'GET /docs',
    'GET /docs/{file}',
    'GET /health/live',
    'GET /health/ready',
    'GET /v1/openapi.json',
  ]);
  expect((await harness.ask('/v1/summary', { method: 'HEAD' })).status).toBe(401);
});

describe('a key that is revoked while its caller waits for an outcome', () => {
  it('is given none: it is asked for again once the outcome has come', async () => {
    const key = await makeKey(harness.db.pool, 'waiting', ['erp']);
    const init = { headers: { authorization: `Bearer ${key}` } };
    const waiting = harness.ask('/v1/outcomes?wait=30', init);
    await until('it was let in', async () => (await findKey(harness.db.pool, 'waiting'))?.lastUsedAt instanceof Date);
    await revokeKey(harness.db.pool, 'waiting');
    await until('it is refused', async () => (await harness.ask('/v1/summary', init)).status === 401);
    await harness.ask('/v1/commands', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${erp}` },
      body: JSON.stringify({ command_id: 'waited-for', xml: arrival() }),
    });
    await harness.run('waited-for', REFUSED);
    const answer = await waiting;
    expect([answer.status, answer.json()['code']]).toEqual([401, 'unauthenticated']);
  });
});

describe('a key that is revoked while its lines still come', () => {
  it('works at most five seconds more: what comes then is refused, line by line', async () => {
    const key = await makeKey(harness.db.pool, 'stolen', ['erp']);
    const before = await harness.registered();
    const sending = request(`${harness.gateway.url}/v1/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${key}` },
    });
    const sendLine = (n: number) => sending.write(`${JSON.stringify({ command_id: `line-${n}`, xml: arrival() })}\n`);
    sendLine(0);
    const [answer] = (await once(sending, 'response')) as [NodeJS.ReadableStream];
    const results = createInterface(answer)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await results.next()).value as string) as { error?: { code: string } };
    expect(await next()).toMatchObject({ command_id: 'line-0' });
    await revokeKey(harness.db.pool, 'stolen');
    let taken = 1;
    await until('its key is asked for again', async () => {
      sendLine(taken);
      if ((await next()).error !== undefined) return true;
      taken += 1;
      return false;
    });
    sendLine(taken + 1);
    expect((await next()).error).toMatchObject({
      code: 'unauthenticated',
      detail: expect.stringContaining('stolen'),
    });
    sending.end();
    expect((await results.next()).done).toBe(true);
    expect((await harness.registered()) - before).toBe(taken);
  });
});
