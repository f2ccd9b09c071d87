import { Connection, type Consumer, type Publisher } from 'rabbitmq-client';
import { systemClock } from '#kernel';
import { Record } from './listener.js';
import type { Message } from './subjects/subject.js';

/** As documented for the ERP. */
const COMMANDS = 'pedigree.commands';
const OUTCOMES = 'pedigree.outcomes';
const OWN_QUEUE = 'erp.outcomes';
const CONFIRM_MS = 10_000;
const TOPOLOGY_LIMIT_MS = 60_000;
const POLL_MS = 200;
/** The newest outcome has come when nothing has come for so long and the queue is empty. */
const QUIET_MS = 1_500;

/** The ERP's side of RabbitMQ: commands out with confirms, outcomes in from a queue of its own. */
export class ErpBroker {
  readonly record = new Record();
  private readonly connection: Connection;
  private publisher: Publisher | undefined;
  private consumer: Consumer | undefined;
  private heardMs = 0;

  constructor(url: string) {
    this.connection = new Connection({ url, connectionName: 'chaos-erp', retryLow: 100, retryHigh: 2_000 });
    // It connects again by itself.
    this.connection.on('error', () => undefined);
  }

  /** Binds the own queue, then waits until Pedigree has made the queue of commands. */
  async start(): Promise<void> {
    const consumer = this.connection.createConsumer(
      {
        queue: OWN_QUEUE,
        queueOptions: { durable: true, arguments: { 'x-queue-type': 'quorum' } },
        exchanges: [{ exchange: OUTCOMES, type: 'topic', durable: true }],
        queueBindings: [{ exchange: OUTCOMES, queue: OWN_QUEUE, routingKey: '#' }],
        qos: { prefetchCount: 50 },
      },
      (message) => {
        this.heardMs = systemClock.monotonicMs();
        this.record.add(bytesOf(message.body));
      },
    );
    consumer.on('error', () => undefined);
    this.consumer = consumer;
    await new Promise<void>((resolve) => consumer.once('ready', () => resolve()));
    this.publisher = this.connection.createPublisher({ confirm: true, maxAttempts: 1 });
    await this.untilCommandsAreTaken();
  }

  /** Resolves when the broker has confirmed it; rejects when nobody can tell. */
  async publish(message: Message): Promise<void> {
    const envelope = {
      routingKey: COMMANDS,
      durable: true,
      messageId: message.key,
      contentType: message.contentType ?? 'application/json',
      mandatory: true,
    };
    const sent = (this.publisher as Publisher).send(envelope, message.body);
    const late = new AbortController();
    try {
      await Promise.race([
        sent,
        systemClock.wait(CONFIRM_MS, late.signal).then(() => Promise.reject(new Error('no confirm'))),
      ]);
    } finally {
      late.abort();
      sent.catch(() => undefined);
    }
  }

  /** Everything that lies in the own queue is heard when this resolves. */
  async hearToTheEnd(): Promise<void> {
    while (systemClock.monotonicMs() - this.heardMs < QUIET_MS || (await this.waiting(OWN_QUEUE)) > 0)
      await systemClock.wait(POLL_MS);
  }

  /** Messages that lie in the queue of commands. */
  commandsWaiting(): Promise<number> {
    return this.waiting(COMMANDS);
  }

  async stop(): Promise<void> {
    await this.consumer?.close();
    await this.publisher?.close();
    await this.connection.close();
  }

  private async waiting(queue: string): Promise<number> {
    return (await this.connection.queueDeclare({ queue, passive: true })).messageCount;
  }

  private async untilCommandsAreTaken(): Promise<void> {
    const endMs = systemClock.monotonicMs() + TOPOLOGY_LIMIT_MS;
    for (;;) {
      const there = await this.commandsWaiting().then(
        () => true,
        () => false,
      );
      if (there) return;
      if (systemClock.monotonicMs() > endMs) throw new Error(`no queue ${COMMANDS} after ${TOPOLOGY_LIMIT_MS} ms`);
      await systemClock.wait(POLL_MS);
    }
  }
}

/** The client parses JSON where the content type says so; what it says of structured CloudEvents is not promised. */
function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
