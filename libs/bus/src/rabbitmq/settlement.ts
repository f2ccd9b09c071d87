import type { AMQPError, AsyncMessage, Envelope } from 'rabbitmq-client';
import { backoffMs, systemClock, wordsOf } from '#kernel';
import type { Handled } from '../port.js';
import type { Acknowledger } from './acknowledger.js';
import type { OurChannel } from './channel.js';
import { deadLetterEnvelope, copyOf, deliveriesOf, identityOf } from './message-headers.js';
import type { Link } from './link.js';
import type { Publisher } from './publisher.js';
import type { BusNames } from './topology.js';

export interface ConsumerParts {
  link: Link;
  publisher: Publisher;
  names: BusNames;
  /** The user as whom we publish. */
  ownUser: string;
  /** Before a `retry` goes back; doubles with each delivery, up to `retryMostMs`. */
  retryFirstMs: number;
  retryMostMs: number;
  /** How often `mayTakeMore` is asked, and how long after a lost channel the next is opened. */
  askEveryMs: number;
  /** How often the queue is looked at while nothing comes: the broker may have forgotten the consumer. */
  lookEveryMs: number;
  confirmMs: number;
  report: (problem: string) => void;
}

/** So long a message is kept for which the broker has no room, beyond its handling. Its return is counted. */
export const MOST_KEPT_MS = 10 * 60_000;

export interface SettlementOptions {
  channel: Pick<OurChannel, 'active'>;
  acks: Acknowledger;
  signal: AbortSignal;
}

/**
 * Does with a message at the broker what its handling came to. On a channel that was lost it does nothing: the broker
 * gives the message to somebody again.
 */
export class Settlement {
  private readonly left: Promise<void>;
  /** To be called when no more messages come over the channel. */
  hasLeft = (): void => undefined;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: SettlementOptions,
  ) {
    this.left = new Promise((resolve) => (this.hasLeft = resolve));
  }

  /**
   * A copy that stands elsewhere is confirmed before the original is acknowledged. While the broker has no room for the
   * copy the original stays here: it would count each return, and put aside a good message. Where the copy fails for
   * another reason the original goes back, so that the delivery limit ends it. Never rejects.
   */
  async settle(message: AsyncMessage, handled: Handled): Promise<void> {
    const { acks, channel, signal } = this.options;
    // At a stop, what is put back would come here at once as long as we are subscribed.
    if (signal.aborted && handled.kind === 'postpone') await this.left;
    if (!channel.active) return;
    if (handled.kind === 'retry') return this.giveBackLater(message, handled.reason);
    const untilMs = systemClock.monotonicMs() + MOST_KEPT_MS;
    for (let tries = 1; channel.active; tries += 1) {
      try {
        if (handled.kind === 'dead') await this.putAside(message, handled);
        if (handled.kind === 'postpone') await this.putBack(message);
        return acks.acknowledge(message.deliveryTag);
      } catch (error) {
        const problem = `a message could not be put aside: ${wordsOf(error)}`;
        if (!this.hasNoRoom(error)) return this.giveBackLater(message, problem);
        this.parts.report(problem);
        if (signal.aborted || systemClock.monotonicMs() >= untilMs) return acks.giveBack(message.deliveryTag);
        await this.wait(tries);
      }
    }
  }

  private putAside(message: AsyncMessage, { code, reason }: { code: string; reason: string }): Promise<void> {
    const { names, ownUser } = this.parts;
    const envelope = deadLetterEnvelope(
      message,
      { id: identityOf(message), code, reason, deadAt: new Date(), deliveries: deliveriesOf(message) },
      ownUser,
    );
    return this.publish(message, { ...envelope, exchange: names.dead, routingKey: '' });
  }

  /** The broker counts whatever is given back, and has no other way: so a fresh copy goes to the end of the queue. */
  private putBack(message: AsyncMessage): Promise<void> {
    const { names, ownUser } = this.parts;
    return this.publish(message, { ...copyOf(message, ownUser), routingKey: names.commands });
  }

  private publish({ body }: AsyncMessage, envelope: Envelope): Promise<void> {
    return this.parts.publisher.publish([{ envelope, body: body as Buffer }], this.parts.confirmMs);
  }

  /** An alarm of its memory or disk, or a full queue. */
  private hasNoRoom(error: unknown): boolean {
    return this.parts.publisher.blocked !== undefined || (error as AMQPError).code === 'NACK';
  }

  private async giveBackLater(message: AsyncMessage, reason: string): Promise<void> {
    const deliveries = deliveriesOf(message);
    this.parts.report(`message ${message.messageId ?? 'without an id'} failed at delivery ${deliveries}: ${reason}`);
    await this.wait(deliveries);
    this.options.acks.giveBack(message.deliveryTag);
  }

  private wait(failures: number): Promise<void> {
    const { retryFirstMs, retryMostMs } = this.parts;
    return systemClock.wait(backoffMs(failures, { firstMs: retryFirstMs, mostMs: retryMostMs }), this.options.signal);
  }
}
