import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { Connection, type AsyncMessage } from 'rabbitmq-client';
import { RabbitService, rabbitProgram } from '../../../../test/chaos/services/rabbitmq.js';
import { ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { sized } from '../../../../test/support/sized.js';
import type { Handled } from '../port.js';
import { ourChannel, type OurChannel } from './channel.js';
import { deliveriesOf } from './message-headers.js';
import { RabbitMqBus } from './rabbitmq-bus.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const CANCELS = sized({ test: 40, soak: 200 });
const MOST_ROUNDS = 8;
const PREFETCH = 64;
const LIMIT_MS = 120_000;
const aTurn = (): Promise<void> => new Promise(setImmediate);
const count = (message: AsyncMessage): number => deliveriesOf(message) - 1;

/**
 * A queue on the broker without anything of ours around it: what this file shows is the broker's own ways, on which
 * libs/bus builds.
 */
class Bare {
  readonly queue = ownPrefix();
  private constructor(
    readonly connection: Connection,
    readonly channel: OurChannel,
  ) {}

  static async open(at: string): Promise<Bare> {
    const connection = new Connection({ url: at });
    connection.on('error', () => undefined);
    return new Bare(connection, ourChannel(await connection.acquire()));
  }

  declare(more: Record<string, string | number> = {}) {
    return this.connection.queueDeclare({
      queue: this.queue,
      durable: true,
      arguments: { 'x-queue-type': 'quorum', ...more },
    });
  }

  async publish(messages: number): Promise<void> {
    const channel = await this.connection.acquire();
    await channel.confirmSelect();
    await Promise.all(
      Array.from({ length: messages }, () =>
        channel.basicPublish({ routingKey: this.queue, durable: true }, Buffer.from('x')),
      ),
    );
    await channel.close();
  }

  async ready(): Promise<number> {
    return (await this.connection.queueDeclare({ queue: this.queue, passive: true })).messageCount;
  }

  async close(): Promise<void> {
    await this.connection.queueDelete({ queue: this.queue });
    // An orderly end waits for all channels, also for those that a test has left.
    this.connection.unsafeDestroy();
  }
}

(broker === undefined ? describe.skip : describe)('a quorum queue', () => {
  let bare: Bare;
  beforeEach(async () => void (bare = await Bare.open(url)));
  afterEach(() => bare.close());

  it('confirms what it keeps, and hands over what was returned more often than its limit to the dead-letter exchange', async () => {
    const dead = ownPrefix();
    await bare.connection.queueDeclare({ queue: dead, durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await bare.declare({
      'x-delivery-limit': 2,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': dead,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    });
    await bare.publish(1);
    const counts: number[] = [];
    await bare.channel.basicConsume({ queue: bare.queue }, (message) => {
      counts.push(count(message));
      bare.channel.basicReject({ deliveryTag: message.deliveryTag, requeue: true });
    });
    await until(
      'the dead letter',
      async () => (await bare.connection.queueDeclare({ queue: dead, passive: true })).messageCount === 1,
    );
    expect(counts).toEqual([0, 1, 2]);
    const letter = await bare.connection.basicGet({ queue: dead, noAck: true });
    expect(letter?.headers?.['x-death']).toMatchObject([{ reason: 'delivery_limit', queue: bare.queue }]);
    await bare.connection.queueDelete({ queue: dead });
  });

  it('fixes the prefetch of a consumer when that begins', async () => {
    await bare.declare();
    const [first, second]: AsyncMessage[][] = [[], []];
    await bare.channel.basicQos({ prefetchCount: 4 });
    await bare.channel.basicConsume({ queue: bare.queue }, (message) => first!.push(message));
    await bare.channel.basicQos({ prefetchCount: 8 });
    await bare.publish(10);
    await until('the first window', () => first!.length === 4);
    await bare.channel.basicConsume({ queue: bare.queue }, (message) => second!.push(message));
    await bare.publish(10);
    await until('the second window', () => second!.length === 8);
    bare.channel.basicAck({ deliveryTag: first![0]!.deliveryTag });
    await until('one more for the first', () => first!.length === 5);
    expect([first!.length, second!.length, await bare.ready()]).toEqual([5, 8, 7]);
  });

  /** Keeps messages coming. Resolves, once it is called, when the last was published. */
  function flow(): () => Promise<void> {
    let isFlowing = true;
    const flowing = (async () => {
      while (isFlowing) await ((await bare.ready()) < 500 ? bare.publish(200) : aTurn());
    })();
    return () => ((isFlowing = false), flowing);
  }

  /**
   * Cancels and begins again under flow; `isDue` says when, with how many are unacknowledged. Returns how many
   * deliveries there were, and how many the broker counted as not the first.
   */
  async function cancelled(
    times: number,
    isDue: (unacknowledged: number) => boolean,
  ): Promise<{ deliveries: number; counted: number }> {
    await bare.declare();
    const { channel, queue } = bare;
    const total = { deliveries: 0, counted: 0 };
    const endFlow = flow();
    await channel.basicQos({ prefetchCount: PREFETCH });
    for (let n = 0; n < times; n += 1) {
      const held: number[] = [];
      let cancel: Promise<unknown> | undefined;
      const consumerTag = `c-${n}`;
      const acknowledge = (): void => {
        // Once it is cancelled, everything is acknowledged; until then all but the newest.
        for (const deliveryTag of held.splice(0)) channel.basicAck({ deliveryTag });
      };
      await channel.basicConsume({ queue, consumerTag }, (message) => {
        total.deliveries += 1;
        if (count(message) > 0) total.counted += 1;
        held.push(message.deliveryTag);
        if (cancel === undefined && isDue(held.length)) cancel = channel.basicCancel(consumerTag);
        if (cancel !== undefined || total.deliveries % 200 === 0) acknowledge();
      });
      await until('the cancel', () => cancel !== undefined);
      await cancel;
      await aTurn();
      acknowledge();
    }
    await endFlow();
    // What came back from the last cancels is here too.
    const consumerTag = 'last';
    await channel.basicConsume({ queue, consumerTag }, (message) => {
      total.deliveries += 1;
      if (count(message) > 0) total.counted += 1;
      channel.basicAck({ deliveryTag: message.deliveryTag });
    });
    await until('an empty queue', async () => (await bare.ready()) === 0);
    // Else it would take the messages of the next round.
    await channel.basicCancel(consumerTag);
    return total;
  }

  it(
    'counts what is on its way to a consumer that is cancelled at any moment',
    async () => {
      let counted = 0;
      // A busy machine may hit no such moment in one round.
      for (let round = 1; round <= MOST_ROUNDS && counted === 0; round += 1) {
        // At the latest before the window is full, for then nothing comes that could be the moment.
        const found = await cancelled(
          CANCELS,
          (unacknowledged) => unacknowledged === PREFETCH - 1 || (unacknowledged < PREFETCH && Math.random() < 0.1),
        );
        counted = found.counted;
        process.stderr.write(
          `${CANCELS} cancels at any moment: ${counted} of ${found.deliveries} deliveries counted\n`,
        );
      }
      expect(counted).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'counts nothing of a consumer that is cancelled while as many are unacknowledged as the prefetch allows',
    async () => {
      const { deliveries, counted } = await cancelled(CANCELS, (unacknowledged) => unacknowledged === PREFETCH);
      process.stderr.write(
        `${CANCELS} cancels while the prefetch is full: ${counted} of ${deliveries} deliveries counted\n`,
      );
      expect(deliveries).toBeGreaterThan(CANCELS * PREFETCH);
      expect(counted).toBe(0);
    },
    LIMIT_MS,
  );
});

const program = rabbitProgram(process.env['PATH'] ?? '');
if (program === undefined)
  process.stderr.write('SKIPPED: no rabbitmq-server here: the consumer timeout of a broker is not tried\n');
const TIMEOUT_MS = 6_000;

(program === undefined ? describe.skip : describe)(
  'a broker that cuts off whoever holds a message for too long',
  () => {
    let server: RabbitService;
    let stop: () => Promise<void>;
    beforeEach(async () => {
      const folder = await temporaryFolder();
      writeFileSync(
        `${folder.path}/advanced.config`,
        `[{rabbit, [{consumer_timeout, ${TIMEOUT_MS}}, {channel_tick_interval, 500}]}].\n`,
      );
      server = await RabbitService.start(program!, folder.path, process.env['PATH'] ?? '');
      stop = async () => {
        await server.close();
        await folder.remove();
      };
    }, LIMIT_MS);
    afterEach(() => stop());

    it(
      'counts all that was held, and takes no offence at our bus, which holds nothing for so long',
      async () => {
        const bare = await Bare.open(server.url);
        await bare.declare();
        await bare.publish(3);
        const counts: number[] = [];
        let isCut = false;
        bare.channel.once('close', () => (isCut = true));
        await bare.channel.basicConsume({ queue: bare.queue }, () => undefined);

        // Beside it a bus that may begin nothing: one with room left, and one whose prefetch is full.
        const problems: string[] = [];
        const patient = [3, 30].map((messages) =>
          waiting(server.url, { messages, mostHeldMs: TIMEOUT_MS / 4, report: (problem) => problems.push(problem) }),
        );
        await until('the cut', () => isCut);
        const again = await bare.connection.acquire();
        await again.basicConsume({ queue: bare.queue, noAck: true }, (message) => counts.push(count(message)));
        await until('all of them', () => counts.length === 3);
        expect(counts).toEqual([1, 1, 1]);
        await bare.close();

        const deliveries = await Promise.all(patient.map(async (one) => (await one).resume()));
        expect(problems).toEqual([]);
        expect(deliveries).toEqual([Array.from({ length: 3 }, () => 1), Array.from({ length: 30 }, () => 1)]);
      },
      LIMIT_MS,
    );
  },
);

/**
 * A bus with messages that have come to it and may not be begun; `resume` gives how often each was delivered in the
 * end.
 */
async function waiting(
  at: string,
  { messages, mostHeldMs, report }: { messages: number; mostHeldMs: number; report: (problem: string) => void },
) {
  const bus = new RabbitMqBus({ url: at, prefix: ownPrefix(), deliveryLimit: 3, askEveryMs: 10, report });
  const stopping = new AbortController();
  const deliveries: number[] = [];
  let may = true;
  let refusals = 0;
  const handle = async (message: { deliveries: number }): Promise<Handled> => (
    deliveries.push(message.deliveries),
    { kind: 'done' }
  );
  const consuming = bus.consumeCommands({
    concurrency: 20,
    mostHeldMs,
    signal: stopping.signal,
    handle,
    mayTakeMore: () => (may ? true : (refusals += 1) < 0),
  });
  await until('a first message', async () => {
    if (deliveries.length === 0) await bus.publishCommands([{ body: Buffer.from('first') }]);
    return deliveries.length > 0;
  });
  await until('an empty queue', async () => (await bus.state()).commandsWaiting === 0);
  may = false;
  // Asked twice, so that the first answer has been heard: what came before that would be begun at once, and be missed
  // below.
  await until('a pause', () => refusals >= 2);
  const before = deliveries.length;
  await bus.publishCommands(Array.from({ length: messages }, () => ({ body: Buffer.from('x') })));
  return {
    async resume(): Promise<number[]> {
      may = true;
      await until('the others', () => deliveries.length >= before + messages);
      stopping.abort();
      await consuming;
      await bus.close();
      return deliveries.slice(-messages);
    },
  };
}
