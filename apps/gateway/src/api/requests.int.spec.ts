import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, TestHarness } from '../../test/test-harness.js';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

describe('a request that cannot be understood', () => {
  it('is answered with a problem document where the address cannot be read', async () => {
    const answer = await harness.ask('/v1/documents/%ff');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      400,
      'application/problem+json; charset=utf-8',
    ]);
    expect(answer.json()).toMatchObject({ code: 'invalid_parameter', detail: expect.stringContaining('%ff') });
  });

  it.each([
    [
      'where its head is too large',
      `GET /v1/documents HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'at most 16384 bytes are taken',
    ],
    ['where it is no HTTP', 'GET /v1/documents HTTP/1.1\r\nbad header\r\n\r\n', 400, 'cannot be read as HTTP'],
  ])('is answered with a problem document %s', async (_where, head, status, why) => {
    const { port } = new URL(harness.gateway.url);
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(head));
    const [first = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} .*content-type: application/problem\\+json`, 'si'));
    const detail = expect.stringContaining(why);
    expect(JSON.parse(body)).toMatchObject({ status, code: 'invalid_parameter', detail });
  });

  it('is told that it is packed, whatever it holds', async () => {
    const command = JSON.stringify({ command_id: 'packed', xml: arrival() });
    for (const body of [gzipSync(command), command]) {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const answer = await harness.ask('/v1/commands', { method: 'POST', headers, body: body as never });
      expect([answer.status, answer.json()]).toMatchObject([
        415,
        { code: 'unsupported_media_type', detail: 'Content-Encoding gzip is not taken: send the body plain' },
      ]);
    }
    expect(await harness.registered()).toBe(0);
    const plain = { 'content-type': 'application/json', 'content-encoding': 'identity' };
    const taken = await harness.ask('/v1/commands', { method: 'POST', headers: plain, body: command });
    expect(taken.status).toBe(202);
  });

  it('behind a command does not take the place of its answer', async () => {
    const before = await harness.registered();
    const command = JSON.stringify({ command_id: 'longer', xml: arrival() });
    const { host, port } = new URL(harness.gateway.url);
    const head = `POST /v1/commands HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`;
    const whole = `${head}content-length: ${command.length}\r\n\r\n${command}and more`;
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(whole));
    const said = await text(socket);
    expect([said.split('\r\n')[0], await harness.registered()]).toEqual(['HTTP/1.1 202 Accepted', before + 1]);
    expect(said.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  it('is told how an offset is written where its + became a space', async () => {
    const answer = await harness.ask('/v1/documents?registered_from=2026-11-27T03:00:00+03:00');
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      { field: 'registered_from', detail: expect.stringContaining('%2B') },
    ]);
    expect((await harness.ask('/v1/documents?registered_from=2026-11-27T03:00:00%2B03:00')).status).toBe(200);
  });
});

describe('an answer that not everybody may read', () => {
  it.each(['/v1/documents', '/v1/documents?limit=x', '/v1/packs', '/v1/evidence/x'])(
    '%s is kept by no cache',
    async (path) => {
      const { headers } = await harness.ask(path, { headers: { accept: 'text/csv' } });
      expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual(['no-store', 'nosniff']);
    },
  );
});
