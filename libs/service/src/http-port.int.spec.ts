import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Agent, get as httpGet, request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { selfSigned } from '../../../test/support/self-signed.js';
import { until } from '../../../test/support/until.js';
import { Health } from './health.js';
import { HttpPort } from './http-port.js';
import { tcpDependency } from './dependency.js';

let health: Health;
let port: HttpPort;

beforeEach(async () => {
  health = new Health('gateway');
  health.add({ name: 'postgresql', where: 'db:5432/p' });
  port = await HttpPort.open({ port: 0, host: '127.0.0.1', health });
});
afterEach(() => port.drain(0));

const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(`${port.url}${path}`, init);
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
};

describe('a port that answers at once', () => {
  it('tells that the program lives, and that it is not ready and why', async () => {
    expect(await ask('/health/live')).toMatchObject({ status: 200, body: '{"status":"live","program":"gateway"}' });
    health.down('postgresql', new Error('connect ECONNREFUSED'));
    const ready = await ask('/health/ready?verbose');
    expect(ready.status).toBe(503);
    expect(JSON.parse(ready.body)).toMatchObject({
      status: 'not_ready',
      phase: 'starting',
      parts: [{ name: 'postgresql', status: 'down', error: 'connect ECONNREFUSED' }],
    });
    health.up('postgresql');
    health.phase = 'running';
    expect((await ask('/health/ready')).status).toBe(200);
  });

  it('turns everybody else away with a problem and Retry-After, whatever they bring, until the program serves', async () => {
    const turnedAway = await ask('/v1/commands', { method: 'POST', body: 'x'.repeat(1_000_000) });
    expect([turnedAway.status, turnedAway.headers.get('retry-after'), turnedAway.headers.get('content-type')]).toEqual([
      503,
      '5',
      'application/problem+json',
    ]);
    expect(JSON.parse(turnedAway.body)).toMatchObject({
      status: 503,
      code: 'unavailable',
      detail: 'postgresql is away; try again later',
    });
    port.serve((_, response) => response.end('served'));
    expect((await ask('/v1/commands')).body).toBe('served');
    expect((await ask('/health/live')).status).toBe(200);
  });

  it('answers a route that was added, and a fault in it with 500', async () => {
    port.answer('/metrics', () => ({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }));
    expect(await ask('/metrics')).toMatchObject({ status: 200, body: 'up 1\n' });
    port.answer('/metrics', () => Promise.reject(new Error('no figures')));
    expect(await ask('/metrics')).toMatchObject({ status: 500, body: '{"error":"no figures"}' });
  });

  it('names the variable of a port that is taken and of an address that is not ours', async () => {
    const taken = Number(new URL(port.url).port);
    const variables = { port: 'HEALTH_PORT', host: 'HEALTH_HOST' };
    await expect(HttpPort.open({ port: taken, host: '127.0.0.1', health, variables })).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'HEALTH_PORT' },
    });
    await expect(HttpPort.open({ port: 0, host: '192.0.2.1', health, variables })).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'HEALTH_HOST' },
    });
  });
});

describe('a port that is abused', () => {
  const open = (to = port): Socket => connect(Number(new URL(to.url).port), '127.0.0.1').on('error', () => undefined);
  const ended = (socket: Socket): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk))).once('close', () => resolve(text));
    });

  it('has only so many connections, says so, and serves again when there are fewer', async () => {
    expect(port.server.maxConnections).toBe(1_000);
    port.server.maxConnections = 2;
    health.up('postgresql');
    health.phase = 'running';
    const kept = [open(), open()];
    await Promise.all(kept.map((one) => once(one, 'connect')));
    const refused = open();
    refused.write('GET /health/live HTTP/1.1\r\nhost: here\r\n\r\n');
    expect(await ended(refused)).toBe('');
    expect(health.readiness()).toMatchObject({
      status: 'degraded',
      degraded: [{ name: 'connections', reason: 'more than 2 connections at once: further ones are refused' }],
    });
    kept.map((one) => one.destroy());
    await until('there is room', () =>
      ask('/health/live').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });

  it('cuts whoever does not come to the end of the headers, whether silent or slow', async () => {
    const impatient = await HttpPort.open({
      port: 0,
      host: '127.0.0.1',
      health,
      server: { headersTimeout: 100, connectionsCheckingInterval: 20 },
    });
    try {
      const slow = open(impatient);
      const dripping = setInterval(() => slow.write('x'), 10);
      slow.write('GET / HTTP/1.1\r\n');
      const answers = await Promise.all([ended(open(impatient)), ended(slow)]);
      clearInterval(dripping);
      expect(answers).toEqual([expect.stringContaining('HTTP/1.1 408 '), expect.stringContaining('HTTP/1.1 408 ')]);
    } finally {
      await impatient.drain(0);
    }
  });

  it('cuts whoever does not read the answer', async () => {
    expect(port.server.timeout).toBe(120_000);
    port.server.timeout = 100;
    const cut = new Promise<void>((resolve) =>
      port.serve((_, response) => void response.once('close', resolve).end(Buffer.alloc(64 * 1024 * 1024))),
    );
    const unread = open().pause();
    unread.write('GET / HTTP/1.1\r\nhost: here\r\n\r\n');
    await cut;
    unread.destroy();
  });
});

describe('draining a port', () => {
  it('takes nobody new, lets the one in the air end, and closes kept connections', async () => {
    const arrived = signal();
    const go = signal();
    port.serve((_, response) => {
      arrived.give();
      void go.given.then(() => response.end('late'));
    });
    const agent = new Agent({ keepAlive: true });
    await once(httpGet(`${port.url}/health/live`, { agent }), 'response').then(([answer]) =>
      (answer as IncomingMessage).resume(),
    );
    const slow = ask('/slow');
    await arrived.given;
    const drained = port.drain(30_000);
    const [refused] = (await once(httpRequest(port.url).end(), 'error')) as [NodeJS.ErrnoException];
    expect(refused.code).toBe('ECONNREFUSED');
    go.give();
    expect(await slow).toMatchObject({ status: 200, body: 'late' });
    await drained;
    agent.destroy();
  });

  it('cuts what does not end within the limit', async () => {
    const arrived = signal();
    port.serve(() => arrived.give());
    const slow = ask('/slow').then(
      () => 'answered',
      () => 'cut',
    );
    await arrived.given;
    await port.drain(50);
    expect(await slow).toBe('cut');
  });
});

describe('looking whether an address takes connections', () => {
  it('resolves where something listens, also at one host of several, and names the error where nothing does', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: open } = server.address() as { port: number };
    const { signal: forever } = new AbortController();
    await tcpDependency('registry', `http://127.0.0.1:${open}/base`).check(forever);
    await tcpDependency('eventstore', `esdb://admin:pw@127.0.0.1:1,127.0.0.1:${open}?tls=false`).check(forever);
    const dependency = tcpDependency('rabbitmq', 'amqp://guest:s3cret@127.0.0.1:1/vhost');
    expect(dependency).toMatchObject({ where: '127.0.0.1:1', secrets: ['s3cret'] });
    await expect(dependency.check(forever)).rejects.toThrow('ECONNREFUSED');
    expect([
      tcpDependency('r', 'https://registry.example/x').where,
      tcpDependency('q', 'amqp://mq.example').where,
      tcpDependency('e', 'esdb+discover://a.example,b.example:1').where,
    ]).toEqual(['registry.example:443', 'mq.example:5672', 'a.example:2113,b.example:1']);
    server.close();
  });

  it('of https makes the handshake too, and seldom: a certificate that nobody trusts, or no TLS, is an error', async () => {
    const { certificate: cert, key } = selfSigned();
    const unknown = createTlsServer({ cert, key });
    const plain = createServer((socket) => void socket.on('error', () => undefined).end('HTTP/1.1 400'));
    const looked = async (server: NetServer): Promise<string> => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const dependency = tcpDependency('registry', `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
      expect(dependency.everyMs).toBe(10_000);
      const error = await dependency.check(new AbortController().signal).then(
        () => 'it is there',
        ({ message }: Error) => message,
      );
      server.close();
      return error;
    };
    expect(await looked(unknown)).toMatch(/self-signed certificate/);
    expect(await looked(plain)).toMatch(/wrong version number/);
    expect(tcpDependency('rabbitmq', 'amqps://mq.example').everyMs).toBeUndefined();
  });
});

function signal(): { given: Promise<void>; give: () => void } {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}
