import type { Channel, Envelope } from 'rabbitmq-client';
import type { Link } from './link.js';

export interface Publication {
  envelope: Envelope;
  body: Buffer;
}

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

  constructor(private readonly link: Link) {}

  /**
   * Resolves when the broker has confirmed each. Rejects otherwise, at the latest after `timeoutMs`: then any of them
   * may be there.
   */
  async publish(publications: Publication[], timeoutMs: number): Promise<void> {
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
    throw new Error('the broker gave a message back: no queue is there for it');
  }

  private async confirmed(publications: Publication[]): Promise<void> {
    const channel = await this.open();
    let onClose = (): void => undefined;
    const lost = new Promise<never>(
      (_, reject) => (onClose = () => reject(new Error('the channel was lost before the broker confirmed'))),
    );
    channel.once('close', onClose);
    try {
      await Promise.race([
        Promise.all(publications.map(({ envelope, body }) => channel.basicPublish(envelope, body))),
        lost,
      ]);
    } finally {
      channel.off('close', onClose);
    }
  }

  private open(): Promise<Channel> {
    this.channel ??= this.link.channel().then(async (channel) => {
      // Every batch under way listens for the channel's end.
      channel.setMaxListeners(0);
      channel.on('basic.return', () => (this.returned += 1));
      channel.once('close', () => (this.channel = undefined));
      await channel.confirmSelect();
      return channel;
    });
    const { channel } = this;
    channel.catch(() => {
      if (this.channel === channel) this.channel = undefined;
    });
    return channel;
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
