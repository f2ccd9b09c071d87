import { afterAll, describe, expect, it } from '@jest/globals';
import { deleteTopology, openConnection, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { tcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/until.js';
import type { Handled } from '../port.js';
import { RabbitMqBus } from './rabbitmq-bus.js';
import { busNames } from './topology.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const FAST = { deliveryLimit: 3, retryFirstMs: 5, retryMostMs: 20, askEveryMs: 10 };

/**
 * Our client writes neither bytes nor such a moment, as others do: what the broker says of the message, at its first
 * delivery, is changed on the way to us.
 */
const MOMENT = 0x01_02_03_04_05_06;
function asOthersSay(): (answer: Buffer) => void {
  const changes = new Map<string, Buffer>([
    ['thumbprintS', Buffer.from('thumbprintx')],
    ['\0\0\x01\x02\x03\x04\x05\x06', Buffer.alloc(8, 0xff)],
  ]);
  return (answer) => {
    for (const [said, instead] of changes) {
      const at = answer.indexOf(said, 0, 'latin1');
      if (at === -1) continue;
      instead.copy(answer, at);
      changes.delete(said);
    }
  };
}

const GIVEN = {
  thumbprint: 'abc',
  nothing: null,
  trace: { span: { id: 7, sampled: true }, links: ['a', { of: 1.5 }] },
};
const TOLD = {
  thumbprint: 'YWJj',
  nothing: 'null',
  trace: '{"span":{"id":7,"sampled":true},"links":["a",{"of":1.5}]}',
};
const DEAD: Handled = { kind: 'dead', code: 'invalid_json', reason: 'no JSON' };

(broker === undefined ? describe.skip : describe)('a message with unusual headers', () => {
  it.each<[string, Handled]>([
    ['put aside', DEAD],
    ['put back, and put aside', { kind: 'postpone', reason: 'no database' }],
  ])('is %s with all of them, at its first delivery', async (_, first) => {
    const prefix = ownPrefix();
    const problems: string[] = [];
    const { hostname, port } = new URL(url);
    const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) }, asOthersSay());
    const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(proxy.port) });
    const bus = new RabbitMqBus({ url: through.href, prefix, ...FAST, report: (problem) => problems.push(problem) });
    const erp = await openConnection(url);
    try {
      await bus.state();
      const channel = await erp.acquire();
      const envelope = { routingKey: busNames(prefix).commands, timestamp: MOMENT, headers: GIVEN };
      await channel.basicPublish(envelope, Buffer.from('{'));
      await channel.close();
      const stop = new AbortController();
      const seen: object[] = [];
      const ended = bus.consumeCommands({
        concurrency: 1,
        signal: stop.signal,
        handle: async ({ headers, deliveries }) => (seen.push({ headers, deliveries }) === 1 ? first : DEAD),
      });
      await until('the letter', async () => (await bus.state()).deadLetters === 1);
      stop.abort();
      await ended;
      expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
        new Set([JSON.stringify({ headers: TOLD, deliveries: 1 })]),
      );
      expect(await bus.deadLetters({ limit: 10 })).toMatchObject([{ code: 'invalid_json', headers: TOLD }]);
      expect(problems).toEqual([]);
    } finally {
      await bus.close();
      await proxy.close();
      await erp.close();
      await deleteTopology(url, prefix);
    }
  });
});
