import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoredOutcome } from '#read-models';
import { AddressRules } from './addresses.js';
import { WebhookSender } from './sender.js';
import { newSecret } from './signature.js';

const TURN = { mayStart: () => true, signal: new AbortController().signal, isNew: false };
const outcome = (position: number, subject: string): StoredOutcome => ({
  position: BigInt(position),
  id: `id-${position}`,
  type: 't',
  topic: 't',
  subject,
  body: '{}',
});

const SECRET = newSecret();

let server: Server;
let url: string;
const posted: string[] = [];
let refused = new Set<string>();
/** Answered only when another one was, by id. */
const answeredBehind = new Map<string, Promise<void>>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    posted.push(id);
    request.resume();
    const answer = () => response.writeHead(refused.has(id) ? 500 : 204).end();
    void (answeredBehind.get(id) ?? Promise.resolve()).then(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => void server.close());

/** One with so many requests side by side. */
const sender = (concurrency: number): WebhookSender =>
  new WebhookSender({
    url,
    secrets: () => [SECRET],
    rules: new AddressRules(),
    softwareVersion: 'test',
    timeoutMs: 5_000,
    concurrency,
  });

describe('a webhook’s sender', () => {
  const [first, second, third] = [outcome(1, 'a'), outcome(2, 'b'), outcome(3, 'a')];

  it('posts once what was taken beyond a failure, and again what failed', async () => {
    const one = sender(2);
    refused = new Set(['id-1']);
    expect(await one.deliver([first, second, third], TURN)).toMatchObject({
      confirmed: 0,
      failure: { reason: expect.stringContaining('500') },
    });
    refused = new Set();
    posted.length = 0;
    expect(await one.deliver([first, second, third], TURN)).toEqual({ confirmed: 3 });
    expect(posted).toEqual(['id-1', 'id-3']);
  });

  it('tells the failure of the first in order, whichever was refused first', async () => {
    let secondAnswered = (): void => undefined;
    answeredBehind.set('id-1', new Promise((resolve) => (secondAnswered = resolve)));
    const heard = (request: IncomingMessage, response: ServerResponse): void => {
      if (request.headers['webhook-id'] === 'id-2') response.once('close', () => secondAnswered());
    };
    server.on('request', heard);
    refused = new Set(['id-1', 'id-2']);
    expect(await sender(2).deliver([first, second], TURN)).toMatchObject({
      failure: { reason: expect.stringContaining('id-1') },
    });
    server.off('request', heard);
    answeredBehind.clear();
  });

  it('posts everything again where it is sent back to an earlier place', async () => {
    const beyond = outcome(4, 'c');
    refused = new Set(['id-3']);
    // Two side by side: what comes after the failed one is taken.
    const one = sender(2);
    expect(await one.deliver([third, beyond], TURN)).toMatchObject({ confirmed: 0 });
    refused = new Set();
    posted.length = 0;
    expect(await one.deliver([first, second, third, beyond], TURN)).toEqual({ confirmed: 4 });
    expect(posted.sort()).toEqual(['id-1', 'id-2', 'id-3', 'id-4']);
  });

  it('posts everything again after another process had the turn: that may have been sent back to the same place', async () => {
    refused = new Set(['id-1']);
    const one = sender(2);
    expect(await one.deliver([first, second, third], TURN)).toMatchObject({ confirmed: 0 });
    refused = new Set();
    posted.length = 0;
    expect(await one.deliver([first, second, third], { ...TURN, isNew: true })).toEqual({ confirmed: 3 });
    expect(posted.sort()).toEqual(['id-1', 'id-2', 'id-3']);
  });
});
