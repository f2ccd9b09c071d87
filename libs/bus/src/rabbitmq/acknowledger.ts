import type { OurChannel } from './channel.js';

interface Delivery {
  isDone: boolean;
  /** Called as the frame that settles it is written. */
  settled: () => void;
}

/**
 * Acknowledges in bulk: what is done is gathered for the rest of the event loop's turn; then one frame acknowledges
 * everything from the oldest delivery up to the first that is still under way, and those beyond it go one by one. A
 * channel that was lost takes no more: the broker gives its messages to somebody again.
 */
export class Acknowledger {
  /** Deliveries that are not settled, oldest first. */
  private readonly open = new Map<number, Delivery>();
  private done: number[] = [];
  private back: number[] = [];
  private isDue = false;
  private isWithheld = false;

  constructor(private readonly channel: Pick<OurChannel, 'active' | 'basicAck' | 'basicReject'>) {}

  begin(deliveryTag: number, settled: () => void = () => undefined): void {
    this.open.set(deliveryTag, { isDone: false, settled });
  }

  /** Acknowledged with the next flush, which comes by itself. */
  acknowledge(deliveryTag: number): void {
    const delivery = this.open.get(deliveryTag);
    if (delivery !== undefined) delivery.isDone = true;
    this.done.push(deliveryTag);
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => this.flush());
  }

  /**
   * Gives it back to the queue; the broker counts that: by basic.reject in every version, by basic.nack only up to 4.2.
   */
  giveBack(deliveryTag: number): void {
    if (this.isWithheld) this.back.push(deliveryTag);
    else if (this.close(deliveryTag)) this.channel.basicReject({ deliveryTag, requeue: true });
  }

  /** From now on nothing is settled at the broker, so that it fills the prefetch and stops there. */
  withhold(): void {
    this.isWithheld = true;
  }

  /** Settles what was withheld. */
  release(): void {
    this.isWithheld = false;
    for (const deliveryTag of this.back.splice(0)) this.giveBack(deliveryTag);
    this.flush();
  }

  flush(): void {
    this.isDue = false;
    if (this.isWithheld) return;
    const { done } = this;
    this.done = [];
    if (!this.channel.active) return;
    let upTo = 0;
    for (const [deliveryTag, { isDone }] of this.open) {
      if (!isDone) break;
      upTo = deliveryTag;
      this.close(deliveryTag);
    }
    if (upTo > 0) this.channel.basicAck({ deliveryTag: upTo, multiple: true });
    for (const deliveryTag of done) if (this.close(deliveryTag)) this.channel.basicAck({ deliveryTag });
  }

  /** Whether it is still to be told to the broker. */
  private close(deliveryTag: number): boolean {
    const delivery = this.open.get(deliveryTag);
    this.open.delete(deliveryTag);
    if (delivery === undefined || !this.channel.active) return false;
    delivery.settled();
    return true;
  }
}
