import type { AsyncMessage } from 'rabbitmq-client';
import { randomUUID } from 'node:crypto';
import { systemClock } from '#kernel';
import type { ConsumeOptions, Handled } from '../port.js';
import { Acknowledger } from './acknowledger.js';
import { ByteGate } from './byte-gate.js';
import type { OurChannel } from './channel.js';
import { asideOf, copyOf, deliveriesOf, incomingOf } from './letter.js';
import type { Link } from './link.js';
import { PrefetchWindow } from './prefetch-window.js';
import type { Publisher } from './publisher.js';
import type { BusNames } from './topology.js';

export interface ConsumerParts {
  link: Link;
  publisher: Publisher;
  names: BusNames;
  /** Before a `retry` goes back; doubles with each delivery, up to `retryMostMs`. */
  retryFirstMs: number;
  retryMostMs: number;
  /** How often `mayTakeMore` is asked, and how long after a lost channel the next is opened. */
  askEveryMs: number;
  /** How often the queue is subscribed to anew: where it was deleted and declared again at once, the broker may forget a consumer without a word. */
  renewEveryMs: number;
  confirmMs: number;
  report: (problem: string) => void;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
/** A message that waits for so long behind large ones goes back uncounted: a broker cuts off whoever holds one for half an hour. */
const GATE_PATIENCE_MS = 10 * 60_000;
const aTurn = (): Promise<void> => new Promise(setImmediate);

/** Takes commands from the queue until the signal aborts, over as many connections as that takes. */
export class Consumer {
  private underWay = 0;
  private whenIdle: (() => void)[] = [];
  private readonly window: PrefetchWindow;
  private readonly gate: ByteGate;
  private bytesUnderWay = 0;
  private readonly mostBytes: number;
  /** Aborted when fewer messages may be pushed than the broker was told. */
  private tooMany = new AbortController();

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    this.mostBytes = options.mostBytes ?? Number.MAX_SAFE_INTEGER;
    this.window = new PrefetchWindow({ mostMessages: options.concurrency, mostBytes: this.mostBytes });
    this.gate = new ByteGate(this.mostBytes);
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    const { askEveryMs, retryFirstMs, retryMostMs, report } = this.parts;
    let failures = 0;
    // Ends by the signal alone: this is the loop of a server. Each turn is one channel's life, or a pause.
    while (!signal.aborted) {
      try {
        // What a lost channel left in our hands ends first, so that there is never more under way than was asked for.
        if (this.underWay === 0 && (await this.mayTakeMore())) await this.serveChannel();
        failures = 0;
        await systemClock.wait(askEveryMs, signal);
      } catch (error) {
        report(`commands are not taken now: ${textOf(error)}`);
        await systemClock.wait(Math.min(retryMostMs, retryFirstMs * 2 ** Math.min(failures, 20)), signal);
        failures += 1;
      }
    }
    await this.idle();
  }

  private async serveChannel(): Promise<void> {
    const { link } = this.parts;
    const { signal } = this.options;
    const channel = await this.untilAborted(link.channel());
    if (channel === undefined) return;
    const lost = new AbortController();
    channel.once('close', () => lost.abort());
    channel.once('basic.cancel', () => {
      link.forgetTopology();
      lost.abort();
    });
    try {
      const acks = new Acknowledger(channel);
      await this.consumeAndPause(channel, acks, AbortSignal.any([signal, lost.signal]));
      if (signal.aborted) {
        await this.idle();
        acks.flush();
      }
    } finally {
      await channel.close();
    }
  }

  /** Consumes while there is room; without it, what waits stays in the queue. Ends with the consumer cancelled, or the channel lost. */
  private async consumeAndPause(channel: OurChannel, acks: Acknowledger, ended: AbortSignal): Promise<void> {
    const { names, askEveryMs, renewEveryMs } = this.parts;
    let consumerTag: string | undefined;
    let renewAtMs = 0;
    let told = 0;
    const pause = async (): Promise<void> => {
      if (consumerTag === undefined || !channel.active) return;
      await channel.basicCancel(consumerTag);
      consumerTag = undefined;
      renewAtMs = 0;
      // What came before the answer is handed over in the next turn.
      await aTurn();
    };
    while (!ended.aborted) {
      this.tooMany = new AbortController();
      // After too many it is subscribed to anew when what is here has become little: a new subscription counts none of that.
      if (!(await this.mayTakeMore()) || (consumerTag === undefined && this.bytesUnderWay > this.mostBytes / 2)) await pause();
      else if (this.window.size < told) {
        await pause();
        told = 0;
        continue;
      } else if (systemClock.monotonicMs() >= renewAtMs || this.window.size > told) {
        await pause();
        told = this.window.size;
        // For consumers from here on, and each by itself: quorum queues know no other.
        await channel.basicQos({ prefetchCount: told });
        consumerTag = (await channel.basicConsume({ queue: names.commands }, (message) => void this.take(message, channel, acks))).consumerTag;
        renewAtMs = systemClock.monotonicMs() + renewEveryMs;
      }
      await systemClock.wait(askEveryMs, AbortSignal.any([ended, this.tooMany.signal]));
    }
    await pause();
  }

  private async take(message: AsyncMessage, channel: OurChannel, acks: Acknowledger): Promise<void> {
    const { length: bytes } = message.body as Buffer;
    this.underWay += 1;
    this.bytesUnderWay += bytes;
    const before = this.window.size;
    this.window.note(bytes);
    if (this.window.size < before) this.tooMany.abort();
    acks.begin(message.deliveryTag);
    try {
      const handled = await this.handleInTurn(message, bytes);
      if (channel.active) await this.settle(message, handled, acks);
    } finally {
      this.underWay -= 1;
      this.bytesUnderWay -= bytes;
      if (this.underWay === 0) for (const resolve of this.whenIdle.splice(0)) resolve();
    }
  }

  private async handleInTurn(message: AsyncMessage, bytes: number): Promise<Handled> {
    if (!(await this.gate.enter(bytes, GATE_PATIENCE_MS))) return { kind: 'postpone', reason: 'larger messages before it were worked on for too long' };
    try {
      return await this.handle(message);
    } finally {
      this.gate.leave(bytes);
    }
  }

  private async handle(message: AsyncMessage): Promise<Handled> {
    try {
      return await this.options.handle(incomingOf(message));
    } catch (error) {
      return { kind: 'retry', reason: textOf(error) };
    }
  }

  /** A copy that stands elsewhere is confirmed before the original is acknowledged; where that fails the original comes again. */
  private async settle(message: AsyncMessage, handled: Handled, acks: Acknowledger): Promise<void> {
    const { publisher, names, confirmMs, report } = this.parts;
    const { deliveryTag, body } = message;
    try {
      if (handled.kind === 'retry') return await this.giveBackLater(message, handled.reason, acks);
      if (handled.kind === 'dead') {
        const { code, reason } = handled;
        const envelope = asideOf(message, { id: randomUUID(), code, reason, deadAt: new Date(), deliveries: deliveriesOf(message) });
        await publisher.publish([{ envelope: { ...envelope, exchange: names.dead, routingKey: '' }, body: body as Buffer }], confirmMs);
      }
      // The broker counts whatever is given back, and has no other way: so a fresh copy goes to the end of the queue.
      if (handled.kind === 'postpone') await publisher.publish([{ envelope: { ...copyOf(message), routingKey: names.commands }, body: body as Buffer }], confirmMs);
      acks.acknowledge(deliveryTag);
    } catch (error) {
      report(`a message could not be put aside: ${textOf(error)}`);
      await this.giveBackLater(message, textOf(error), acks);
    }
  }

  private async giveBackLater(message: AsyncMessage, reason: string, acks: Acknowledger): Promise<void> {
    const { retryFirstMs, retryMostMs, report } = this.parts;
    const deliveries = deliveriesOf(message);
    report(`message ${message.messageId ?? 'without an id'} failed at delivery ${deliveries}: ${reason}`);
    await systemClock.wait(Math.min(retryMostMs, retryFirstMs * 2 ** Math.min(deliveries - 1, 20)), this.options.signal);
    acks.giveBack(message.deliveryTag);
  }

  private async mayTakeMore(): Promise<boolean> {
    const { mayTakeMore } = this.options;
    if (mayTakeMore === undefined) return true;
    return Promise.resolve(mayTakeMore()).catch(() => false);
  }

  /** The channel, or undefined when the signal came first; a channel that comes later is closed. */
  private async untilAborted(opening: Promise<OurChannel>): Promise<OurChannel | undefined> {
    const { signal } = this.options;
    let onAbort = (): void => undefined;
    const aborted = new Promise<undefined>((resolve) => {
      onAbort = () => resolve(undefined);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    const channel = await Promise.race([opening, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
    if (channel === undefined) opening.then((late) => late.close()).catch(() => undefined);
    return channel;
  }

  private async idle(): Promise<void> {
    if (this.underWay > 0) await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }
}
