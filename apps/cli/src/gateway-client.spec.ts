import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { GatewayClient } from './gateway-client.js';

type Answer = (response: ServerResponse) => void;
const whole =
  (status: number, body: string): Answer =>
  (response) =>
    response.writeHead(status).end(body);
/** Its beginning, and then no more. */
const cut =
  (begun: string): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(begun, () => response.destroy());

let server: Server;
let url: string;
let answer: Answer;
beforeAll(async () => {
  server = createServer((request, response) => void text(request).then(() => answer(response)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const client = (): GatewayClient => new GatewayClient(url);
const ways: [string, () => Promise<unknown>][] = [
  ['a question', () => client().get('/v1/documents')],
  ['a change', () => client().change('POST', '/v1/documents/x/resends', { reason: 'x' })],
  ['a command', () => client().command('{}')],
];

describe('what answers at the address of the gateway', () => {
  const others: [string, number, string][] = [
    ['the page of a proxy to sign in', 200, '<html>\n<h1>Sign in</h1></html>'],
    ['the refusal of a proxy', 403, '<html>Forbidden</html>'],
    ['a redirection', 302, ''],
    ['nothing', 200, ''],
    ['a server of something else', 401, '{"message":"no"}'],
    ['no object', 502, 'null'],
  ];
  describe.each(others)('%s', (_, status, body) => {
    it.each(status === 200 && body === '' ? ways.filter(([name]) => name !== 'a change') : ways)(
      'is told as no gateway, with its address and status, to %s',
      async (_name, ask) => {
        answer = whole(status, body);
        const said = body === '' ? '' : `: ${body.replace(/\s+/g, ' ')}`;
        await expect(ask()).rejects.toMatchObject({
          code: 'unavailable',
          message:
            `what is at ${url} does not answer as a gateway does; is that its address? ` +
            `It answered ${status}${said}`,
        });
      },
    );
  });

  it.each([
    ...ways,
    ['a list', async () => client().list('/v1/webhooks').next()] as const,
    [
      'commands as they come',
      async () =>
        client()
          .sendLines(Readable.from(['{}\n']))
          .next(),
    ] as const,
  ])('breaks off in the middle, and that is said to %s', async (_, ask) => {
    answer = cut('{"items":');
    await expect(ask()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^the answer of the gateway was cut off: ./),
    });
  });

  it.each([
    ['a file', () => client().stream('/v1/packs', 'text/csv')],
    ['the answer to codes as a file', () => client().stream('/v1/packs/checks', 'text/csv', { codes: [] })],
    ['a list', () => client().list('/v1/webhooks').next()],
  ])('is told as no gateway where it gives another type than %s', async (_, ask) => {
    const page = '<html>Sign in</html>';
    answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    const message = expect.stringMatching(
      /does not answer as a gateway does.* It answered 200, text\/html: <html>Sign/,
    );
    await expect(ask()).rejects.toMatchObject({ code: 'unavailable', message });
  });

  it('is taken for a file where its type is the one that was asked for, whatever is said beside it', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'Text/CSV; charset=utf-8' }).end('a,b');
    expect(await text(await client().stream('/v1/packs', 'text/csv'))).toBe('a,b');
  });

  it('breaks off in the middle of a file, and that is said', async () => {
    answer = (response) =>
      response.writeHead(200, { 'content-type': 'text/csv' }).write('sgtin', () => response.destroy());
    await expect(text(await client().stream('/v1/packs', 'text/csv'))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^the answer of the gateway was cut off: ./),
    });
  });

  it('is never told with the password of its address', async () => {
    const address = 'http://me:word@127.0.0.1:1';
    await expect(new GatewayClient(address).get('/v1/documents')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^the gateway at http:\/\/me:\*\*\*@127\.0\.0\.1:1\S* does not answer: ./),
    });
    answer = whole(200, '<html>');
    await expect(new GatewayClient(url.replace('//', '//me:word@')).get('/v1/documents')).rejects.toMatchObject({
      message: expect.not.stringContaining('word'),
    });
  });

  it('refuses as the gateway means it', async () => {
    answer = whole(404, JSON.stringify({ code: 'not_found', detail: 'no document x', item: 'x' }));
    await expect(client().get('/v1/documents/x')).rejects.toMatchObject({
      code: 'not_found',
      message: 'no document x',
    });
  });
});
