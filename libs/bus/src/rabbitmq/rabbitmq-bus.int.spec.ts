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
    let buses: RabbitMqBus[];
    let bus: RabbitMqBus;
    /** Ends every consumer, also of a test that failed: it would take the messages of the next. */
    let stop: AbortController;
    const open = (brokerUrl = url): RabbitMqBus => {
      const report = (problem: string): void => void problems.push(problem);
      const opened = new RabbitMqBus({ url: brokerUrl, prefix, ...FAST, report });
      buses.push(opened);
      return opened;
    };
    beforeEach(async () => {
      admin = await openConnection(url);
      [problems.length, buses, stop] = [0, [], new AbortController()];
      bus = open();
    });
    afterEach(async () => {
      stop.abort();
      for (const one of buses) await one.close();
      await admin.close();
      await deleteTopology(url, prefix);
    });

    it('that has another queue of the name is told of in words, and used when that is gone', async () => {
      await admin.queueDeclare({ queue: commands, durable: true });
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
      const pair = [bus, open()];
      let atWork = new Set<MessageBus>();
      let release = (): void => undefined;
      let released = Promise.resolve();
      const ended = pair.map((one) =>
        one.consumeCommands({
          concurrency: 1,
          signal: stop.signal,
          handle: async () => (atWork.add(one), await released, { kind: 'done' }),
        }),
      );
      const serves = async (): Promise<void> => {
        // While one has a message in hand the next stands ready: one that the broker has forgotten in silence can tell.
        atWork = new Set();
        released = new Promise((resolve) => (release = resolve));
        await until(
          'both to be served',
          async () => (await confirmed(bus.publishCommands([{ body: Buffer.from('x') }]))) && atWork.size === 2,
        );
        release();
      };
      try {
        await serves();
        for (let round = 0; round < 5; round += 1) {
          await admin.queueDelete({ queue: commands });
          await bus.publishCommands([{ body: Buffer.from('x') }]).catch(() => undefined);
          await serves();
        }
      } finally {
        release();
      }
      stop.abort();
      await Promise.all(ended);
    });

    it('that lost its exchange of outcomes, with its bindings, gets no outcome until a queue is bound', async () => {
      const outcome = { id: 'e', topic: 't', contentType: 'text/plain', body: Buffer.from('x') };
      await bus.publishOutcomes([outcome]);
      const exchange = busNames(prefix).outcomes;
      await admin.exchangeDelete({ exchange });
      // A queue that was lost as well is declared anew, and brings the exchange not back.
      await admin.queueDelete({ queue: commands });
      await expect(bus.publishCommands([{ body: Buffer.from('x') }])).rejects.toThrow('no queue is there');
      await bus.publishCommands([{ body: Buffer.from('x') }]);
      const refused = async () =>
        expect(bus.publishOutcomes([outcome])).rejects.toThrow(/no queue is bound to .*the exchange was deleted/);
      for (let n = 0; n < 3; n += 1) await refused();
      await admin.exchangeDeclare({ exchange, type: 'topic', durable: true });
      await refused();
      const queue = `${prefix}.erp`;
      await admin.queueDeclare({ queue, exclusive: true });
      await admin.queueBind({ queue, exchange, routingKey: 't' });
      await bus.publishOutcomes([outcome]);
      expect(await admin.basicGet({ queue, noAck: true })).toMatchObject({ messageId: 'e' });
      await admin.queueDelete({ queue });
      await bus.publishOutcomes([outcome]);
    });

    it('that lost its exchange of outcomes does not get it anew with another connection', async () => {
      const outcome = { id: 'e', topic: 't', contentType: 'text/plain', body: Buffer.from('x') };
      const { hostname, port } = new URL(url);
      const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) });
      const through = new URL(url);
      Object.assign(through, { hostname: '127.0.0.1', port: String(proxy.port) });
      const cutOff = open(through.href);
      try {
        await cutOff.publishOutcomes([outcome]);
        const exchange = busNames(prefix).outcomes;
        await admin.exchangeDelete({ exchange });
        await expect(cutOff.publishOutcomes([outcome])).rejects.toThrow('no queue is bound');
        proxy.cut();
        await until('a connection', async () => (await cutOff.state()).connected);
        await until('an answer', () =>
          cutOff.publishOutcomes([outcome]).then(
            () => Promise.reject(new Error('it went to nobody')),
            (error: Error) => error.message.includes('no queue is bound'),
          ),
        );
        await expect(admin.exchangeDeclare({ exchange, passive: true })).rejects.toThrow('no exchange');
      } finally {
        await proxy.close();
      }
    });

    it('that lost the exchange of dead letters gets it anew: what is refused is put aside', async () => {
      await bus.publishCommands([{ body: Buffer.from('first') }]);
      const { dead } = busNames(prefix);
      const stop = new AbortController();
      await admin.exchangeDelete({ exchange: dead });
      await bus.publishCommands([{ body: Buffer.from('never') }]);
      const handle = async (): Promise<Handled> => ({ kind: 'dead', code: 'invalid_json', reason: 'no' });
      const ended = bus.consumeCommands({ concurrency: 1, signal: stop.signal, handle });
      await until('the letter', async () => (await bus.deadLetters({ limit: 9 })).length === 2);
      stop.abort();
      await ended;
    });

    it('that refuses an outcome because a queue of an ERP is full: it is said so', async () => {
      const outcome = (n: number): OutgoingMessage => ({
        id: `e-${n}`,
        topic: 't',
        contentType: 'text/plain',
        body: Buffer.from('x'),
      });
      await bus.publishOutcomes([outcome(0)]);
      const queue = `${prefix}.erp`;
      const full = { 'x-max-length': 1, 'x-overflow': 'reject-publish' as const };
      await admin.queueDeclare({ queue, exclusive: true, arguments: full });
      await admin.queueBind({ queue, exchange: busNames(prefix).outcomes, routingKey: '#' });
      await bus.publishOutcomes([outcome(1)]);
      await expect(bus.publishOutcomes([outcome(2)])).rejects.toThrow(/refused an outcome: a queue .* is full/);
    });

    it('gets nothing held for longer than a message may be held from its arrival on, whatever it waited for', async () => {
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
      const away = open(`amqp://guest:guest@127.0.0.1:${proxy.port}`);
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
