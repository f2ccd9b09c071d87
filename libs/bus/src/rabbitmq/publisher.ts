import { setTimeout as pause } from 'node:timers/promises';
import type { AMQPError, Channel, Envelope } from 'rabbitmq-client';
import { headerBytes, MOST_HEADER_BYTES } from './channel.js';
import type { Link } from './link.js';

export interface Publication {
  envelope: Envelope;
  body: Buffer;
}

/** Tries for the first message of a channel, unless it was refused so often before, and the pause between two. */
const MOST_TRIES = 20;
const PAUSE_MS = 100;

/**
 * Publishes with confirms over one channel, in order. What is `mandatory` and finds no queue is a failure; else that
 * nobody listens is none.
 */
export class Publisher {
  private channel: Promise<Channel> | undefined;
  /**
   * Messages that the broker gave back. The client does not tell which publication each belongs to, so all that were
   * under way fail: they come again.
   */
  private returned = 0;
  /** For the first message of a channel. */
  private tries = MOST_TRIES;
  /** When the broker has taken the first message of a channel. */
  private readonly begun = new WeakMap<Channel, Promise<void>>();

  constructor(
    private readonly link: Link,
    private readonly pauseMs = PAUSE_MS,
  ) {}

  /** Why the broker takes nothing now. */
  get blocked(): string | undefined {
    return this.link.blocked;
  }

  /**
   * Resolves when the broker has confirmed each. Rejects otherwise, at the latest after `timeoutMs`: then any of them
   * may be there.
   */
  async publish(publications: Publication[], timeoutMs: number): Promise<void> {
    // The client would end the channel, and with it all that is under way.
    const most = Math.max(0, ...publications.map(({ envelope }) => headerBytes(envelope)));
    if (most > MOST_HEADER_BYTES)
      throw new Error(`the headers of a message take ${most} bytes; at most ${MOST_HEADER_BYTES} can be published`);
    const { returned } = this;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the broker did not confirm ${publications.length} messages within ${timeoutMs} ms`)),
        timeoutMs,
      );
    });
    try {
      await Promise.race([this.confirmed(publications), late]);
    } catch (error) {
      this.abandon();
      // Somebody may have deleted an exchange: a broker that only refuses knows it.
      if (!isRefusal(error)) this.link.forgetTopology();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (!publications.some(({ envelope }) => envelope.mandatory === true)) return;
    // The client tells of a return in the turn after it came, and it came before the confirm.
    await new Promise(setImmediate);
    if (this.returned === returned) return;
    this.link.forgetTopology();
    this.abandon();
    throw new ReturnedError('the broker gave a message back: no queue is there for it');
  }

  private async confirmed(publications: Publication[]): Promise<void> {
    const channel = await this.open();
    let onClose = (): void => undefined;
    const lost = new Promise<never>(
      (_, reject) =>
        // After the broker's own reason, where it gave one.
        (onClose = () =>
          void setImmediate(() => reject(new Error('the channel was lost before the broker confirmed')))),
    );
    channel.once('close', onClose);
    try {
      await Promise.race([this.inOrder(channel, publications), lost]);
    } finally {
      channel.off('close', onClose);
    }
  }

  /**
   * A busy broker was seen to refuse the first message that a channel published to a new quorum queue, which had no
   * limit. What is refused is not there. So the first message of a channel goes alone, and again after a refusal. A
   * queue that is full refuses as well, and each try leaves a copy in the other queues. So once all tries were refused,
   * one is made at a time until something was taken.
   */
  private async inOrder(channel: Channel, publications: Publication[]): Promise<void> {
    const publish = ({ envelope, body }: Publication): Promise<void> => channel.basicPublish(envelope, body);
    const begun = this.begun.get(channel);
    const [first, ...others] = publications;
    if (begun !== undefined || first === undefined) {
      await begun;
      await Promise.all(publications.map(publish));
      return;
    }
    const taken = untilTaken(() => publish(first), this.tries, this.pauseMs);
    this.begun.set(channel, taken);
    taken.then(
      () => (this.tries = MOST_TRIES),
      (error: unknown) => isRefusal(error) && (this.tries = 1),
    );
    await taken;
    await Promise.all(others.map(publish));
  }

  private open(): Promise<Channel> {
    if (this.channel !== undefined) return this.channel;
    const opening = this.link.channel().then(async (channel) => {
      // Every batch under way listens for the channel's end.
      channel.setMaxListeners(0);
      channel.on('basic.return', () => (this.returned += 1));
      channel.once('close', forget);
      await channel.confirmSelect();
      return channel;
    });
    // One that was given up may end when there is another.
    const forget = (): void => {
      if (this.channel === opening) this.channel = undefined;
    };
    opening.catch(forget);
    this.channel = opening;
    return opening;
  }

  /** Nothing that was not confirmed in time may linger in our buffers and go out between later messages. */
  private abandon(): void {
    const { channel } = this;
    this.channel = undefined;
    channel?.then((one) => one.close()).catch(() => undefined);
  }

  async close(): Promise<void> {
    const { channel } = this;
    this.channel = undefined;
    await channel?.then((one) => one.close()).catch(() => undefined);
  }
}

/** The broker has it not, and says so. */
export const isRefusal = (error: unknown): boolean => (error as AMQPError).code === 'NACK';

class ReturnedError extends Error {}

/** There is no queue for what was `mandatory`. */
export const isReturn = (error: unknown): boolean => error instanceof ReturnedError;

/** The broker has no exchange of this name. */
export const isMissing = (error: unknown, exchange: string): boolean =>
  (error as AMQPError).code === 'NOT_FOUND' && (error as Error).message.includes(`no exchange '${exchange}'`);

async function untilTaken(publish: () => Promise<void>, most: number, pauseMs: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await publish();
    } catch (error) {
      if (!isRefusal(error) || tries >= most) throw error;
      await pause(pauseMs);
    }
  }
}
