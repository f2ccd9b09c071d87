import type { Channel, SyncMessage } from 'rabbitmq-client';
import type { DeadLetter, DeadLetterSummary } from '../port.js';
import { copyOf, deadLetterOf } from './message-headers.js';
import type { Link } from './link.js';
import type { Publisher } from './publisher.js';
import type { BusNames } from './topology.js';

/** Most letters that are looked at for one. */
const MOST_LETTERS = 10_000;

/**
 * Looks into the dead-letter queue: a queue can only be read by taking from it, so letters are got one by one on a
 * channel of their own and given back together. Should the process die meanwhile, the broker gives them back. One look
 * at a time, for two would hide letters from each other.
 */
export class DeadLetterQueue {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: {
      link: Link;
      publisher: Publisher;
      names: BusNames;
      ownUser: string;
      deliveryLimit: number;
      confirmMs: number;
    },
  ) {}

  async list(limit: number): Promise<DeadLetterSummary[]> {
    const letters: DeadLetterSummary[] = [];
    await this.look(Math.min(limit, MOST_LETTERS), (message) => {
      const { body: _, ...summary } = deadLetterOf(message, this.parts);
      letters.push(summary);
      return false;
    });
    // What was given back stands first again, but the broker promises no order among that.
    return letters
      .map((letter, n) => ({ letter, n }))
      .sort((a, b) => a.letter.deadAt.getTime() - b.letter.deadAt.getTime() || a.n - b.n)
      .map(({ letter }) => letter);
  }

  async find(id: string): Promise<DeadLetter | undefined> {
    let found: DeadLetter | undefined;
    await this.look(MOST_LETTERS, (message) => {
      const letter = deadLetterOf(message, this.parts);
      if (letter.id === id) found = letter;
      return found !== undefined;
    });
    return found;
  }

  /** The copy in the command queue is confirmed before the letter is taken away. */
  replay(id: string): Promise<boolean> {
    const { publisher, names, ownUser, confirmMs } = this.parts;
    return this.take(id, (message) =>
      publisher.publish(
        [{ envelope: { ...copyOf(message, ownUser), routingKey: names.commands }, body: message.body }],
        confirmMs,
      ),
    );
  }

  discard(id: string): Promise<boolean> {
    return this.take(id, async () => undefined);
  }

  /** Takes one letter away, after `first`. False: it is not there. */
  private async take(id: string, first: (message: SyncMessage & { body: Buffer }) => Promise<void>): Promise<boolean> {
    let taken = false;
    await this.look(MOST_LETTERS, async (message, channel) => {
      if (deadLetterOf(message, this.parts).id !== id) return false;
      await first(message);
      channel.basicAck({ deliveryTag: message.deliveryTag });
      taken = true;
      return true;
    });
    return taken;
  }

  /** Shows letters to `see` until it has seen enough. */
  private async look(
    most: number,
    see: (message: SyncMessage & { body: Buffer }, channel: Channel) => boolean | Promise<boolean>,
  ): Promise<void> {
    const after = this.turn;
    const looked = after.then(() => this.lookNow(most, see));
    this.turn = looked.catch(() => undefined);
    return looked;
  }

  private async lookNow(
    most: number,
    see: (message: SyncMessage & { body: Buffer }, channel: Channel) => boolean | Promise<boolean>,
  ): Promise<void> {
    const channel = await this.parts.link.channel();
    let seen = 0;
    try {
      for (let isEnough = false; seen < most && !isEnough; seen += 1) {
        const message = await channel.basicGet(this.parts.names.dead);
        if (message === undefined) break;
        isEnough = await see(message as SyncMessage & { body: Buffer }, channel);
      }
    } finally {
      // Tag 0 means everything that this channel holds.
      if (seen > 0 && channel.active) channel.basicNack({ deliveryTag: 0, multiple: true, requeue: true });
      await channel.close();
    }
  }
}
