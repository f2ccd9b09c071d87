import { afterAll, afterEach, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AddressRules } from './addresses.js';
import { post, type Answer } from './post.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
let answer = (socket: Socket): void => void socket.end();
const sockets = new Set<Socket>();
/** It answers in bytes: what an HTTP server of ours would never say, others do. */
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.once('data', () => answer(socket));
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Long enough for whatever answers, on a busy machine too. */
async function posted(timeoutMs = 3_000): Promise<Answer> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { signal } = new AbortController();
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return post(url, { rules: new AddressRules(), headers: {}, body: '{}', timeoutMs, signal });
}
const says = (text: string, ends = false) => (answer = (socket) => (ends ? socket.end(text) : void socket.write(text)));

it.each([
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 101],
  ['an offer of others', 'HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n', 200],
  ['a body that never ends', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', 200],
  ['a body that breaks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 200],
  ['two answers', 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 500],
])('the status of an answer counts, also with %s', async (_, text, status) => {
  says(text);
  expect(await posted()).toEqual({ status });
  says(text, true);
  expect(await posted()).toEqual({ status });
});

it.each([
  ['silence', '', 300, 'no answer within 300 ms'],
  ['a promise of an answer', 'HTTP/1.1 102 Processing\r\n\r\n', 300, 'no answer within 300 ms'],
  ['what is no HTTP', 'hello\r\n\r\n', 3_000, 'Parse Error'],
])('%s is no answer', async (_, text, timeoutMs, why) => {
  says(text);
  await expect(posted(timeoutMs)).rejects.toThrow(why);
});

it('a post is given up in time, also when garbage is collected while its answer comes', async () => {
  const answerBegan = new Promise<void>((resolve) => {
    answer = (socket) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n', () => resolve());
  });
  const givenUp = expect(posted(1_000)).rejects.toThrow('no answer within 1000 ms');
  await answerBegan;
  collectGarbage();
  await givenUp;
}, 20_000);
