import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Connection } from 'rabbitmq-client';
import {
  brokerUser,
  deleteTopology,
  openConnection,
  ownPrefix,
  testBroker,
} from '../../../../test/support/rabbitmq.js';
import { tcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/until.js';
import { DELIVERIES_ALLOWED } from '../contract-dead-letters.js';
import { contractOfTheBus } from '../contract.js';
import type { Handled, MessageBus, OutgoingMessage } from '../port.js';
import { RabbitMqBus } from './rabbitmq-bus.js';
import { busNames } from './topology.js';

const FAST = {
  deliveryLimit: DELIVERIES_ALLOWED,
  reconnectFirstMs: 10,
  reconnectMostMs: 50,
  retryFirstMs: 5,
  retryMostMs: 20,
  askEveryMs: 10,
  lookEveryMs: 100,
};

const broker = await testBroker();
const url = broker?.url ?? '';
const erpUser = broker === undefined ? undefined : await brokerUser(broker);
afterAll(async () => {
  await erpUser?.remove();
  await broker?.stop();
});

type Heard = Pick<OutgoingMessage, 'id' | 'topic' | 'contentType' | 'body'>;

/** An ERP that listens to every outcome. */
async function listen(prefix: string): Promise<{ heard: Heard[]; stop(): Promise<void> }> {
  const connection = await openConnection(url);
  const heard: Heard[] = [];
  const consumer = connection.createConsumer(
    { queueOptions: { exclusive: true }, queueBindings: [{ exchange: `${prefix}.outcomes`, routingKey: '#' }] },
    ({ messageId, routingKey, contentType, body }) =>
      void heard.push({ id: messageId ?? '', topic: routingKey, contentType: contentType ?? '', body: body as Buffer }),
  );
  await new Promise<void>((resolve) => consumer.once('ready', resolve));
  return {
    heard,
    stop: async () => {
      await consumer.close();
      await connection.close();
    },
  };
}

const confirmed = (publish: Promise<void>): Promise<boolean> =>
  publish.then(
    () => true,
    () => false,
  );

async function busOnBroker() {
  const prefix = ownPrefix();
  const opened = new Map<MessageBus, TcpProxy>();
  const { hostname, port } = new URL(url);
  const first = new RabbitMqBus({ url, prefix, ...FAST });
  // The topology is there before anybody listens.
  await first.state();
  const listener = await listen(prefix);
  return {
    user: new URL(url).username,
    open: async () => {
      const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) });
      const through = new URL(url);
      through.hostname = '127.0.0.1';
      through.port = String(proxy.port);
      const bus = new RabbitMqBus({ url: through.href, prefix, ...FAST });
      opened.set(bus, proxy);
      return bus;
    },
    kill: async (bus: MessageBus) => opened.get(bus)?.close(),
    cut: async () => {
      for (const proxy of opened.values()) proxy.cut();
    },
    outcomes: async () => [...listener.heard],
    stop: async () => {
      for (const [bus, proxy] of opened) {
        await bus.close();
        await proxy.close();
      }
      await first.close();
      await listener.stop();
      await deleteTopology(url, prefix);
    },
  };
}

(broker === undefined ? describe.skip : describe)('RabbitMQ', () => {
  contractOfTheBus('RabbitMQ', busOnBroker);

  describe('the broker', () => {
    const prefix = ownPrefix();
    const { commands } = busNames(prefix);
    const problems: string[] = [];
    let admin: Connection;
    let bus: RabbitMqBus;
    beforeEach(async () => {
      admin = await openConnection(url);
      problems.length = 0;
      bus = new RabbitMqBus({ url, prefix, ...FAST, report: (problem) => problems.push(problem) });
    });
    afterEach(async () => {
      await bus.close();
      await admin.close();
      await deleteTopology(url, prefix);
    });

    it('that has another queue of the name is told of in words, and used when that is gone', async () => {
      await admin.queueDeclare({ queue: commands, durable: true });
      const stop = new AbortController();
      const seen: string[] = [];
      const ended = bus.consumeCommands({
        concurrency: 1,
        signal: stop.signal,
        handle: async (message) => (seen.push(message.body.toString()), { kind: 'done' }),
      });
      await until('words', () =>
        problems.some((problem) => problem.includes("inequivalent arg 'x-dead-letter-exchange'")),
      );
      await admin.queueDelete({ queue: commands });
      await until('a confirm', () => confirmed(bus.publishCommands([{ body: Buffer.from('at last') }])));
      await until('the command', () => seen.length > 0);
      stop.abort();
      await ended;
    });

    it('that lost the queue under a consumer gets it anew', async () => {
      const stop = new AbortController();
      let seen = 0;
      const ended = bus.consumeCommands({
        concurrency: 1,
        signal: stop.signal,
        handle: async () => ((seen += 1), { kind: 'done' }),
      });
      await until('a confirm', () => confirmed(bus.publishCommands([{ body: Buffer.from('before') }])));
      await until('the first', () => seen === 1);
      await admin.queueDelete({ queue: commands });
      // A queue that is being deleted may still confirm what goes down with it: what comes after it is what this is
      // about.
      await until(
        'another',
        async () => (await confirmed(bus.publishCommands([{ body: Buffer.from('after') }]))) && seen > 1,
      );
      stop.abort();
      await ended;
    });

    it('that lost the queue under two consumers, and got it back at once, serves both again', async () => {
      const other = new RabbitMqBus({ url, prefix, ...FAST });
      const stop = new AbortController();
      const seen = new Map<MessageBus, number>([bus, other].map((one) => [one, 0]));
      const ended = [bus, other].map((one) =>
        one.consumeCommands({
          concurrency: 1,
          signal: stop.signal,
          handle: async () => (seen.set(one, seen.get(one)! + 1), { kind: 'done' }),
        }),
      );
      const serves = async (): Promise<void> => {
        const before = new Map(seen);
        await until(
          'both to be served',
          async () =>
            (await confirmed(bus.publishCommands([{ body: Buffer.from('x') }]))) &&
            [bus, other].every((one) => seen.get(one)! > before.get(one)!),
        );
      };
      await serves();
      for (let round = 0; round < 5; round += 1) {
        await admin.queueDelete({ queue: commands });
        await bus.publishCommands([{ body: Buffer.from('x') }]).catch(() => undefined);
        await serves();
      }
      stop.abort();
      await Promise.all(ended);
      await other.close();
    });

    it('gets nothing held for longer than a message may be held from its arrival on, whatever it waited for', async () => {
      const stop = new AbortController();
      const mostHeldMs = 60_000;
      const patience: number[] = [];
      let [go, arrivedMs] = [(): void => undefined, 0];
      // The second has come, and may not be begun, while the first is worked on.
      const handle = async ({ patienceMs }: { patienceMs: number }): Promise<Handled> => {
        patience.push(patienceMs);
        if (patience.length === 1) await new Promise<void>((resolve) => (go = resolve));
        return { kind: 'done' };
      };
      await bus.publishCommands([1, 2].map(() => ({ body: Buffer.alloc(600) })));
      const ended = bus.consumeCommands({ concurrency: 4, mostBytes: 1_000, mostHeldMs, signal: stop.signal, handle });
      await until('the first', () => patience.length === 1);
      await until('both to be here', async () => (await bus.state()).commandsWaiting === 0);
      arrivedMs = performance.now();
      await until('some time to pass', () => performance.now() > arrivedMs + 50);
      const heldMs = performance.now() - arrivedMs;
      go();
      await until('the second', () => patience.length === 2);
      expect(patience[1]).toBeLessThanOrEqual(mostHeldMs - heldMs);
      stop.abort();
      await ended;
    });

    it('gets back what was held for too long, and is not asked for it again while nothing may be begun', async () => {
      const stop = new AbortController();
      const deliveries: number[] = [];
      let may = true;
      const handle = async (message: { deliveries: number }): Promise<Handled> => (
        deliveries.push(message.deliveries),
        { kind: 'done' }
      );
      const ended = bus.consumeCommands({
        concurrency: 4,
        mostHeldMs: 300,
        signal: stop.signal,
        handle,
        mayTakeMore: () => may,
      });
      await bus.publishCommands([{ body: Buffer.from('first') }]);
      await until('the first', () => deliveries.length === 1);
      may = false;
      // Asked until the answer has been heard: then nothing more is begun, and the prefetch fills up.
      await bus.publishCommands(Array.from({ length: 30 }, () => ({ body: Buffer.from('x') })));
      const waiting = async (): Promise<number | undefined> => (await bus.state()).commandsWaiting;
      await until('all that was held to be back', async () => deliveries.length + ((await waiting()) ?? 0) === 31);
      const begun = deliveries.length;
      for (let look = 0; look < 50; look += 1) {
        expect((await waiting()) ?? 0).toBe(31 - begun);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(deliveries).toHaveLength(begun);
      may = true;
      await until('the others', () => deliveries.length === 31);
      expect(new Set(deliveries)).toEqual(new Set([1]));
      stop.abort();
      await ended;
    });

    it('that does not confirm in time makes a publisher fail', async () => {
      const { hostname, port } = new URL(url);
      const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) });
      proxy.down();
      const away = new RabbitMqBus({ url: `amqp://guest:guest@127.0.0.1:${proxy.port}`, prefix, ...FAST });
      await expect(
        away.publishOutcomes([{ id: 'e', topic: 't', contentType: 'text/plain', body: Buffer.from('x') }], {
          timeoutMs: 200,
        }),
      ).rejects.toThrow(/did not confirm 1 messages within 200 ms/);
      expect(away.names.outcomes).toBe(`${prefix}.outcomes`);
      await away.close();
      await proxy.close();
    });
  });
});

(erpUser === undefined ? describe.skip : describe)('a publisher with a user of his own at RabbitMQ', () => {
  const prefix = ownPrefix();
  const { commands } = busNames(prefix);
  const { name = '', url: erpUrl = url } = erpUser ?? {};
  let bus: RabbitMqBus;
  let erp: Connection;
  beforeEach(async () => {
    bus = new RabbitMqBus({ url, prefix, ...FAST });
    await bus.state();
    erp = await openConnection(erpUrl);
  });
  afterEach(async () => {
    await erp.close();
    await bus.close();
    await deleteTopology(url, prefix);
  });

  /** Publishes as the ERP with this property, if any; rejects with what the broker says. */
  async function publish(userId: string | undefined, headers: Record<string, string> = {}): Promise<void> {
    const channel = await erp.acquire();
    try {
      await channel.confirmSelect();
      await channel.basicPublish(
        { routingKey: commands, headers, durable: true, ...(userId === undefined ? {} : { userId }) },
        Buffer.from('{}'),
      );
    } finally {
      await channel.close();
    }
  }

  async function seen(count: number, answer: (n: number) => Handled): Promise<(string | undefined)[]> {
    const publishers: (string | undefined)[] = [];
    const stop = new AbortController();
    const ended = bus.consumeCommands({
      concurrency: 1,
      signal: stop.signal,
      handle: async ({ publisher }) => answer(publishers.push(publisher)),
    });
    await until(`${count} deliveries`, () => publishers.length === count);
    await until('all to be settled', async () => (await bus.state()).commandsWaiting === 0);
    stop.abort();
    await ended;
    return publishers;
  }

  it('is known by the name that the broker vouches for, also in the copies that we make', async () => {
    await publish(name, { 'x-pedigree-publisher': 'guest' });
    const answers: Handled[] = [
      { kind: 'postpone', reason: 'the database is down' },
      { kind: 'dead', code: 'invalid_json', reason: 'no' },
    ];
    expect(await seen(2, (n) => answers[n - 1] as Handled)).toEqual([name, name]);
    const [letter] = await bus.deadLetters({ limit: 1 });
    expect(letter?.publisher).toBe(name);
    expect(await bus.replay(letter!.id)).toBe(true);
    expect(await seen(1, () => ({ kind: 'done' }))).toEqual([name]);
  });

  it('has no name where he gives none, whatever header he sends', async () => {
    await publish(undefined, { 'x-pedigree-publisher': 'guest' });
    const answers: Handled[] = [{ kind: 'postpone', reason: 'the database is down' }, { kind: 'done' }];
    expect(await seen(2, (n) => answers[n - 1] as Handled)).toEqual([undefined, undefined]);
  });

  it('who gives the name of another is cut off by the broker, and nothing of it arrives', async () => {
    await expect(publish(new URL(url).username)).rejects.toThrow(/PRECONDITION_FAILED.*user_id/);
    await publish(name);
    expect(await seen(1, () => ({ kind: 'done' }))).toEqual([name]);
  });
});
