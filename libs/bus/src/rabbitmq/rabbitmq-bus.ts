import { defined } from '#kernel';
import type {
  BusState,
  CommandMessage,
  ConsumeOptions,
  DeadLetter,
  DeadLetterSummary,
  MessageBus,
  OutgoingMessage,
} from '../port.js';
import { Consumer } from './consumer.js';
import { DeadLetterQueue } from './dead-letter-queue.js';
import { Link } from './link.js';
import { isMissing, isRefusal, isReturn, Publisher } from './publisher.js';
import { readyMessages } from './queue-look.js';
import { busNames, type BusNames } from './topology.js';

export interface RabbitMqBusOptions {
  /**
   * `amqp://user:password@host:port/vhost`, or `amqps://`. The user is named as the broker knows him: he stands in what
   * we publish again.
   */
  url: string;
  /** Begins the names of our queues and exchanges, where several installations share a broker. Default `pedigree`. */
  prefix?: string;
  /**
   * Deliveries of one command before it is put aside. Default 10. All processes of an installation must say the same.
   */
  deliveryLimit?: number;
  /** Shown in the broker's list of connections. */
  connectionName?: string;
  reconnectFirstMs?: number;
  reconnectMostMs?: number;
  /**
   * Before a command that failed is given back, and before another try to consume; doubles each time. Defaults 1,000
   * and 30,000.
   */
  retryFirstMs?: number;
  retryMostMs?: number;
  /** How often `mayTakeMore` is asked. Default 250. */
  askEveryMs?: number;
  /**
   * How often the queue is looked at while nothing comes, for a consumer that the broker has forgotten. Default 10,000.
   */
  lookEveryMs?: number;
  /** How long a confirm is waited for where the caller does not say. Default 30,000. */
  confirmMs?: number;
  /** Told in words what goes wrong: a connection that is lost, a message that failed. Never a message's body. */
  report?: (problem: string) => void;
}

const DEFAULTS = {
  prefix: 'pedigree',
  deliveryLimit: 10,
  connectionName: 'pedigree',
  reconnectFirstMs: 100,
  reconnectMostMs: 5_000,
  retryFirstMs: 1_000,
  retryMostMs: 30_000,
  askEveryMs: 250,
  lookEveryMs: 10_000,
  confirmMs: 30_000,
  report: () => undefined,
};

/**
 * The bus on RabbitMQ (3.10 or newer). It connects when it is first used and connects again whenever the connection is
 * lost. What is published goes over a connection of its own: a broker whose memory or disk is full blocks connections
 * that publish, and commands must still be taken from it then.
 */
export class RabbitMqBus implements MessageBus {
  readonly names: BusNames;
  private readonly link: Link;
  private readonly publishing: Link;
  private readonly publisher: Publisher;
  private readonly letters: DeadLetterQueue;
  private readonly ownUser: string;
  private readonly options: Required<RabbitMqBusOptions>;
  /** The exchange of outcomes was deleted, and no outcome has come to a queue since. */
  private outcomesLost = false;

  constructor(options: RabbitMqBusOptions) {
    this.options = { ...DEFAULTS, ...options };
    this.names = busNames(this.options.prefix);
    this.ownUser = decodeURIComponent(new URL(options.url).username);
    const outcomesLost = (): boolean => this.outcomesLost;
    this.link = new Link({ ...this.options, names: this.names, outcomesLost });
    const connectionName = `${this.options.connectionName} publishing`;
    this.publishing = new Link({ ...this.options, names: this.names, outcomesLost, connectionName });
    this.publisher = new Publisher(this.publishing);
    this.letters = new DeadLetterQueue(this.parts());
  }

  consumeCommands(options: ConsumeOptions): Promise<void> {
    return new Consumer(this.parts(), options).run();
  }

  async publishOutcomes(messages: OutgoingMessage[], options: { timeoutMs?: number } = {}): Promise<void> {
    if (messages.length === 0) return;
    const { outcomes: exchange } = this.names;
    const mandatory = this.outcomesLost;
    const publications = messages.map(({ id, topic, contentType, body }) => ({
      envelope: { exchange, routingKey: topic, messageId: id, contentType, durable: true, mandatory },
      body,
    }));
    try {
      await this.publisher.publish(publications, options.timeoutMs ?? this.options.confirmMs);
      this.outcomesLost = false;
    } catch (error) {
      this.outcomesLost ||= isMissing(error, exchange);
      throw this.inWords(error);
    }
  }

  private inWords(error: unknown): unknown {
    const { outcomes } = this.names;
    if (isRefusal(error)) {
      const why = `a queue that is bound to ${outcomes} is full, as a rule (x-overflow: reject-publish)`;
      return new Error(`RabbitMQ refused an outcome: ${why}`, { cause: error });
    }
    if (!isMissing(error, outcomes) && !isReturn(error)) return error;
    const why =
      `no queue is bound to ${outcomes} for it: the exchange was deleted, and with it all bindings. Declare it anew ` +
      '(topic, durable), and bind the queues of the ERP';
    return new Error(`RabbitMQ cannot deliver an outcome: ${why}`, { cause: error });
  }

  async publishCommands(messages: CommandMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const publications = messages.map(({ messageId, body, contentType = 'application/json', headers = {} }) => ({
      envelope: {
        routingKey: this.names.commands,
        ...defined({ messageId }),
        contentType,
        headers,
        userId: this.ownUser,
        durable: true,
        mandatory: true,
      },
      body,
    }));
    await this.publisher.publish(publications, this.options.confirmMs);
  }

  deadLetters({ limit }: { limit: number }): Promise<DeadLetterSummary[]> {
    return this.letters.list(limit);
  }

  deadLetter(id: string): Promise<DeadLetter | undefined> {
    return this.letters.find(id);
  }

  replay(id: string): Promise<boolean> {
    return this.letters.replay(id);
  }

  discard(id: string): Promise<boolean> {
    return this.letters.discard(id);
  }

  async state(): Promise<BusState> {
    const { blocked } = this.publishing;
    try {
      const [commandsWaiting, deadLetters] = await readyMessages(this.link, [this.names.commands, this.names.dead]);
      return { connected: true, blocked, commandsWaiting, deadLetters };
    } catch {
      return { connected: false, blocked, commandsWaiting: undefined, deadLetters: undefined };
    }
  }

  /** A broker that takes nothing does not answer the end of a channel either: the end of its connection ends that. */
  async close(): Promise<void> {
    await Promise.all([this.publisher.close(), this.publishing.close(), this.link.close()]);
  }

  private parts() {
    const { link, publisher, names, ownUser } = this;
    return { ...this.options, link, publisher, names, ownUser };
  }
}
