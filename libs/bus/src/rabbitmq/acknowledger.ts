import type { OurChannel } from './channel.js';

/**
 * Acknowledges in bulk: what is done is gathered for the rest of the event loop's turn; then one frame acknowledges everything from the oldest
 * delivery up to the first that is still under way, and those beyond it go one by one. A channel that was lost takes no more: the
 * broker gives its messages to somebody again.
 */
export class Acknowledger {
  /** Deliveries that are not acknowledged, oldest first; true when done. */
  private readonly open = new Map<number, boolean>();
  private done: number[] = [];
  private isDue = false;

  constructor(private readonly channel: Pick<OurChannel, 'active' | 'basicAck' | 'basicReject'>) {}

  begin(deliveryTag: number): void {
    this.open.set(deliveryTag, false);
  }

  /** Acknowledged with the next flush, which comes by itself. */
  acknowledge(deliveryTag: number): void {
    this.open.set(deliveryTag, true);
    this.done.push(deliveryTag);
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => this.flush());
  }

  /** Gives it back to the queue; the broker counts that: by basic.reject in every version, by basic.nack only up to 4.2. */
  giveBack(deliveryTag: number): void {
    this.open.delete(deliveryTag);
    if (this.channel.active) this.channel.basicReject({ deliveryTag, requeue: true });
  }

  flush(): void {
    this.isDue = false;
    const { done } = this;
    this.done = [];
    if (!this.channel.active) return;
    let upTo = 0;
    for (const [deliveryTag, isDone] of this.open) {
      if (!isDone) break;
      upTo = deliveryTag;
      this.open.delete(deliveryTag);
    }
    if (upTo > 0) this.channel.basicAck({ deliveryTag: upTo, multiple: true });
    for (const deliveryTag of done) if (this.open.delete(deliveryTag)) this.channel.basicAck({ deliveryTag });
  }
}
