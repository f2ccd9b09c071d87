import { afterAll, expect, it } from '@jest/globals';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AddressRules } from './addresses.js';
import { post } from './post.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const server = createServer();

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it('a post is given up in time, also when garbage is collected while its answer comes', async () => {
  const answerBegan = new Promise<void>((resolve) => {
    server.on('request', (_, response: ServerResponse) => void response.writeHead(500).write('x', () => resolve()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const posted = post(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), {
    rules: new AddressRules(),
    headers: {},
    body: '{}',
    timeoutMs: 1_000,
    signal: new AbortController().signal,
  });
  const givenUp = expect(posted).rejects.toThrow('no answer within 1000 ms');
  await answerBegan;
  collectGarbage();
  await givenUp;
}, 20_000);
