import type { AsyncMessage } from 'rabbitmq-client';
import { randomUUID } from 'node:crypto';
import type { OurChannel } from './channel.js';

export interface SubscriptionOptions {
  queue: string;
  prefetch: number;
  take(message: AsyncMessage, subscription: Subscription): void;
  /** Called once, when the broker has confirmed the end. */
  left(): void;
}

const aTurn = (): Promise<void> => new Promise(setImmediate);

/**
 * One consumer at the broker. A quorum queue takes back what is on its way to a consumer that is cancelled, and counts
 * that as a delivery. It sends no more than the prefetch allows, so nothing is on its way while as many are unsettled
 * here: only then is it safe to cancel.
 */
export class Subscription {
  private readonly consumerTag = `pedigree-${randomUUID()}`;
  private unsettled = 0;
  private wantsOut = false;
  private ending: Promise<void> | undefined;

  private constructor(
    private readonly channel: OurChannel,
    private readonly options: SubscriptionOptions,
  ) {}

  static async open(channel: OurChannel, options: SubscriptionOptions): Promise<Subscription> {
    const subscription = new Subscription(channel, options);
    // For consumers from here on, and each by itself: quorum queues know no other.
    await channel.basicQos({ prefetchCount: options.prefetch });
    await channel.basicConsume({ queue: options.queue, consumerTag: subscription.consumerTag }, (message) =>
      options.take(message, subscription),
    );
    return subscription;
  }

  get prefetch(): number {
    return this.options.prefetch;
  }

  get isOpen(): boolean {
    return this.ending === undefined;
  }

  get isFull(): boolean {
    return this.unsettled >= this.prefetch;
  }

  /** To be called for each message that came. */
  arrived(): void {
    this.unsettled += 1;
    this.cancelWhenDue();
  }

  /** To be called as the frame that settles a message is written. */
  settled(): void {
    this.unsettled -= 1;
  }

  /** Cancels as soon as nothing can be on its way: now, or with a message that is still to come. */
  leaveWhenFull(): void {
    this.wantsOut = true;
    this.cancelWhenDue();
  }

  stay(): void {
    this.wantsOut = false;
  }

  /** Cancels now, whatever is on its way. Never rejects: a channel that is lost has no consumers. */
  cancel(): Promise<void> {
    this.ending ??= this.channel
      .basicCancel(this.consumerTag)
      .catch(() => undefined)
      // What came before the answer is handed over in the next turn.
      .then(aTurn)
      .then(() => this.options.left());
    return this.ending;
  }

  private cancelWhenDue(): void {
    if (this.wantsOut && this.isOpen && this.isFull) void this.cancel();
  }
}
