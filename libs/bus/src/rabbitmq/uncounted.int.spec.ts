import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { until } from '../../../../test/support/until.js';
import { sized } from '../../../../test/support/sized.js';
import type { ConsumeOptions, Handled } from '../port.js';
import { Consumer } from './consumer.js';
import { Link } from './link.js';
import { Publisher } from './publisher.js';
import { RabbitMqBus } from './rabbitmq-bus.js';
import { busNames } from './topology.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const DONE: Handled = { kind: 'done' };
/** Kinds of ends of a subscription; in the soak a thousand together. */
const PAUSES = sized({ test: 80, soak: 400 });
const WINDOWS = sized({ test: 60, soak: 300 });
const STOPS = sized({ test: 60, soak: 300 });
const LIMIT_MS = 300_000;
/** So many messages always stand ready, or are on their way. */
const AHEAD = 600;

/** An ERP that publishes without end, a consumer's parts, and a queue whose every return makes a dead letter. */
class Flow {
  readonly bus: RabbitMqBus;
  cancels = 0;
  seen = 0;
  /** What was seen when the last subscription began, while it lasts. */
  private seenBefore: number | undefined;
  published = 0;
  countedOnArrival = 0;
  private isFlowing = true;
  private readonly flowing: Promise<void>;
  private readonly link: Link;
  private readonly publisher: Publisher;

  constructor(
    private readonly prefix: string,
    private readonly sizeOf: (n: number) => number,
  ) {
    const parts = {
      names: busNames(prefix),
      deliveryLimit: 1,
      connectionName: 'test',
      reconnectFirstMs: 10,
      reconnectMostMs: 50,
      report: () => undefined,
    };
    this.bus = new RabbitMqBus({ url, prefix, deliveryLimit: 1 });
    this.link = new Link({ url, ...parts });
    this.publisher = new Publisher(this.link);
    const open = this.link.channel.bind(this.link);
    this.link.channel = async () => {
      const channel = await open();
      const [cancel, consume] = [channel.basicCancel.bind(channel), channel.basicConsume.bind(channel)];
      channel.basicCancel = async (tag: never) => {
        const answer = await cancel(tag);
        this.cancels += 1;
        this.seenBefore = undefined;
        return answer;
      };
      channel.basicConsume = (params, take) => {
        this.seenBefore = this.seen;
        return consume(params, take);
      };
      return channel;
    };
    this.flowing = this.flow();
  }

  consume(signal: AbortSignal, over: Partial<ConsumeOptions> = {}): Promise<void> {
    const { link, publisher } = this;
    const parts = {
      link,
      publisher,
      names: busNames(this.prefix),
      ownUser: 'guest',
      retryFirstMs: 5,
      retryMostMs: 20,
      askEveryMs: 1,
      lookEveryMs: 60_000,
      confirmMs: 30_000,
      report: () => undefined,
    };
    const handle = async ({ deliveries }: { deliveries: number }): Promise<Handled> => {
      if (deliveries > 1) this.countedOnArrival += 1;
      await new Promise((resolve) => setImmediate(resolve));
      this.seen += 1;
      return DONE;
    };
    return new Consumer(parts, { concurrency: 64, signal, handle, ...over }).run();
  }

  /** Whether the subscription of now has brought something. */
  get hasBrought(): boolean {
    return this.seenBefore !== undefined && this.seen > this.seenBefore;
  }

  /**
   * What was counted as returned shows: at its arrival, or as a dead letter, since one delivery is all that a message
   * has here.
   */
  async counted(): Promise<number> {
    return this.countedOnArrival + ((await this.bus.state()).deadLetters ?? Number.NaN);
  }

  async stop(): Promise<void> {
    this.isFlowing = false;
    await this.flowing;
    await this.bus.close();
    await this.publisher.close();
    await this.link.close();
    await deleteTopology(url, this.prefix);
  }

  private async flow(): Promise<void> {
    while (this.isFlowing) {
      if (((await this.bus.state()).commandsWaiting ?? AHEAD) >= AHEAD)
        await new Promise((resolve) => setImmediate(resolve));
      else {
        await this.bus.publishCommands(
          Array.from({ length: 100 }, (_, n) => ({ body: Buffer.alloc(this.sizeOf(this.published + n), 0x20) })),
        );
        this.published += 100;
      }
    }
  }
}

(broker === undefined ? describe.skip : describe)(
  'a subscription that ends under flow returns nothing to the queue',
  () => {
    let flow: Flow;
    let stopping: AbortController;
    let consuming: Promise<void> | undefined;
    const begin = (sizeOf: (n: number) => number): void => void (flow = new Flow(ownPrefix(), sizeOf));
    beforeEach(() => {
      stopping = new AbortController();
      consuming = undefined;
    });
    afterEach(async () => {
      stopping.abort();
      await consuming;
      await flow.stop();
    });

    it(
      `in ${PAUSES} pauses`,
      async () => {
        begin(() => 20);
        // Each pause lasts until the subscription was given up.
        consuming = flow.consume(stopping.signal, { mayTakeMore: () => !flow.hasBrought });
        await until('all pauses', () => flow.cancels >= PAUSES, LIMIT_MS);
        expect(await flow.counted()).toBe(0);
      },
      LIMIT_MS,
    );

    it(
      `in ${WINDOWS} changes of the window`,
      async () => {
        // A large message lets the window fall; small ones let it grow again.
        begin((n) => (n % 300 === 299 ? 8_000 : 20));
        consuming = flow.consume(stopping.signal, { mostBytes: 64_000 });
        await until('all changes', () => flow.cancels >= WINDOWS, LIMIT_MS);
        expect(await flow.counted()).toBe(0);
      },
      LIMIT_MS,
    );

    it(
      `in ${STOPS} stops`,
      async () => {
        begin(() => 20);
        for (let n = 0; n < STOPS; n += 1) {
          const stop = new AbortController();
          const { seen } = flow;
          const ended = flow.consume(stop.signal);
          await until('some messages', () => flow.seen > seen + 10);
          stop.abort();
          await ended;
        }
        expect(flow.cancels).toBeGreaterThanOrEqual(STOPS);
        expect(await flow.counted()).toBe(0);
      },
      LIMIT_MS,
    );
  },
);
