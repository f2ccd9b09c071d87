import type { AsyncMessage } from 'rabbitmq-client';
import { systemClock } from '#kernel';
import { MOST_HELD_MS, type ConsumeOptions, type Handled } from '../port.js';
import { Acknowledger } from './acknowledger.js';
import type { OurChannel } from './channel.js';
import { Gate } from './gate.js';
import { incomingOf } from './message-headers.js';
import { Lookout } from './lookout.js';
import type { PrefetchWindow } from './prefetch-window.js';
import { readyMessages } from './queue-look.js';
import { Settlement, type ConsumerParts } from './settlement.js';
import { Subscription } from './subscription.js';

export interface ServedChannelOptions extends ConsumeOptions {
  window: PrefetchWindow;
  channel: OurChannel;
}

/** For so long acknowledgements are withheld to let a window that is too large fill up, so that it can be given up. */
const WITHHELD_MS = 1_000;
/**
 * A stop waits for so long for the prefetch to fill up, unless nothing stands ready and nothing has come for
 * `QUIET_MS`.
 */
const LEAVE_MOST_MS = 5_000;
const QUIET_MS = 200;

/**
 * Takes messages over one channel until that is lost, or the signal aborts. Without room it holds what still comes, and
 * gives its subscription up once that is safe (`Subscription`); the same when the window changes, and at a stop.
 */
export class ServedChannel {
  private subscription: Subscription | undefined;
  private underWay = { messages: 0, bytes: 0 };
  private arrivals = 0;
  private arrivedMs = Number.NEGATIVE_INFINITY;
  private isPaused = false;
  private releaseTimer: NodeJS.Timeout | undefined;
  private whenIdle = (): void => undefined;
  private wake = new AbortController();
  private readonly lost = new AbortController();
  private readonly gate: Gate;
  private readonly acks: Acknowledger;
  private readonly settlement: Settlement;
  private readonly lookout: Lookout;
  private readonly mostBytes: number;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ServedChannelOptions,
  ) {
    const { channel, concurrency, signal } = options;
    this.mostBytes = options.mostBytes ?? Number.MAX_SAFE_INTEGER;
    this.gate = new Gate({ mostMessages: concurrency, mostBytes: this.mostBytes });
    this.acks = new Acknowledger(channel);
    this.settlement = new Settlement(parts, { channel, acks: this.acks, signal });
    this.lookout = new Lookout({ everyMs: parts.lookEveryMs, ready: () => this.ready() });
  }

  async run(): Promise<void> {
    const { channel, signal } = this.options;
    channel.once('close', () => this.lost.abort());
    channel.once('basic.cancel', () => {
      this.parts.link.forgetTopology();
      this.lost.abort();
    });
    try {
      await this.serve(AbortSignal.any([signal, this.lost.signal]));
      if (signal.aborted) await this.leave();
    } finally {
      await this.finish();
    }
  }

  /** Ends with the signal, with the channel, or when the broker has forgotten the consumer. */
  private async serve(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      this.wake = new AbortController();
      this.isPaused = !(await this.mayTakeMore());
      if (this.isPaused) this.gate.pause();
      else this.gate.resume();
      const { subscription } = this;
      if (subscription?.isOpen) {
        this.steer(subscription);
        if (await this.lookout.isForgotten(!this.isPaused && !subscription.isFull, () => this.arrivals))
          return subscription.cancel();
      } else if (!this.isPaused && this.hasLittle) await this.subscribe();
      await systemClock.wait(this.parts.askEveryMs, AbortSignal.any([ended, this.wake.signal]));
    }
  }

  /** What an earlier subscription left here has become little, so that the next may bring as much again. */
  private get hasLittle(): boolean {
    return this.underWay.messages <= this.options.concurrency / 2 && this.underWay.bytes <= this.mostBytes / 2;
  }

  private async subscribe(): Promise<void> {
    const { channel, window } = this.options;
    this.subscription = await Subscription.open(channel, {
      queue: this.parts.names.commands,
      prefetch: window.size,
      take: (message, subscription) => void this.take(message, subscription),
      left: () => {
        this.release();
        this.wake.abort();
      },
    });
  }

  /** Gives the subscription up, where it is not the right one for now, as soon as that is safe. */
  private steer(subscription: Subscription): void {
    const { size } = this.options.window;
    if (!this.isPaused && size === subscription.prefetch) return subscription.stay();
    subscription.leaveWhenFull();
    // The broker may not fill a window that is too large again and again with large messages.
    if (size < subscription.prefetch && subscription.isOpen && this.releaseTimer === undefined) {
      this.acks.withhold();
      this.releaseTimer = setTimeout(() => this.release(), WITHHELD_MS);
    }
  }

  private release(): void {
    clearTimeout(this.releaseTimer);
    this.releaseTimer = undefined;
    this.acks.release();
  }

  private async take(message: AsyncMessage, subscription: Subscription): Promise<void> {
    const { length: bytes } = message.body as Buffer;
    const arrivedMs = systemClock.monotonicMs();
    this.arrivals += 1;
    this.arrivedMs = arrivedMs;
    this.underWay.messages += 1;
    this.underWay.bytes += bytes;
    this.options.window.note(bytes);
    this.acks.begin(message.deliveryTag, () => subscription.settled());
    if (!this.options.signal.aborted) this.steer(subscription);
    subscription.arrived();
    try {
      const handled = await this.handleInTurn(message, arrivedMs + (this.options.mostHeldMs ?? MOST_HELD_MS));
      await this.settlement.settle(message, handled);
    } finally {
      this.underWay.messages -= 1;
      this.underWay.bytes -= bytes;
      if (!subscription.isOpen && !this.isPaused && this.hasLittle) this.wake.abort();
      if (this.underWay.messages === 0) this.whenIdle();
    }
  }

  private async handleInTurn(message: AsyncMessage, untilMs: number): Promise<Handled> {
    const { length: bytes } = message.body as Buffer;
    const leftMs = (): number => Math.max(0, untilMs - systemClock.monotonicMs());
    if (!(await this.gate.enter(bytes, leftMs())))
      return { kind: 'postpone', reason: 'it could not be begun for too long, or the gateway stops' };
    try {
      return await this.options.handle(incomingOf(message, { patienceMs: leftMs(), ownUser: this.parts.ownUser }));
    } catch (error) {
      return { kind: 'retry', reason: error instanceof Error ? error.message : String(error) };
    } finally {
      this.gate.leave(bytes);
    }
  }

  /**
   * Nothing is settled before the subscription is given up: so the prefetch fills up wherever messages flow, and copies
   * do not come back here.
   */
  private async leave(): Promise<void> {
    this.gate.shut();
    const { subscription } = this;
    if (subscription === undefined) return;
    clearTimeout(this.releaseTimer);
    this.acks.withhold();
    subscription.leaveWhenFull();
    const untilMs = systemClock.monotonicMs() + LEAVE_MOST_MS;
    while (
      subscription.isOpen &&
      !this.lost.signal.aborted &&
      !(await this.isQuiet()) &&
      systemClock.monotonicMs() < untilMs
    ) {
      this.wake = new AbortController();
      if (subscription.isOpen)
        await systemClock.wait(QUIET_MS / 4, AbortSignal.any([this.lost.signal, this.wake.signal]));
    }
    await subscription.cancel();
  }

  /** Whether nobody publishes, as far as one can see: then nothing is on its way though there is room for it. */
  private async isQuiet(): Promise<boolean> {
    const ready = await this.ready().catch(() => 0);
    return ready === 0 && systemClock.monotonicMs() - this.arrivedMs >= QUIET_MS;
  }

  /** What is under way ends first. What could not be begun goes elsewhere. */
  private async finish(): Promise<void> {
    const { channel, signal } = this.options;
    if (signal.aborted || this.lost.signal.aborted) this.gate.shut();
    else this.gate.resume();
    this.release();
    this.settlement.hasLeft();
    if (this.underWay.messages > 0) await new Promise<void>((resolve) => (this.whenIdle = resolve));
    this.acks.flush();
    await channel.close();
  }

  private async ready(): Promise<number> {
    const { link, names } = this.parts;
    const [ready = 0] = await readyMessages(link, [names.commands]);
    return ready;
  }

  private async mayTakeMore(): Promise<boolean> {
    const { mayTakeMore } = this.options;
    if (mayTakeMore === undefined) return true;
    return Promise.resolve(mayTakeMore()).catch(() => false);
  }
}
