import { backoffMs, coalesce, systemClock, wordsOf } from '#kernel';
import type { Pool } from '#postgres';
import { DELIVERY_LIMIT, MOST_HELD_MS, type ConsumeOptions, type Handled, type IncomingMessage } from '../port.js';
import { CLAIM, DEAD, DONE, EXTEND, GIVE_BACK } from './statements.js';
import type { NoticeWaiter } from './notice-waiter.js';

export interface ConsumerParts {
  pool: Pool;
  notices: NoticeWaiter;
  leaseMs: number;
  deliveryLimit: number;
  retryFirstMs: number;
  retryMostMs: number;
  /** How often `mayTakeMore` is asked, and how often the table is looked at without a notice. */
  askEveryMs: number;
  fallbackPollMs: number;
  report: (problem: string) => void;
}

interface Claimed {
  id: bigint;
  letterId: string;
  leaseNumber: number;
  deliveries: number;
  messageId: string | null;
  publisher: string | null;
  contentType: string;
  headers: Record<string, string>;
  body: Buffer;
  /** More was there than the limit of bytes let through. */
  isCut: boolean;
}

/** Most messages of one claim. */
const MOST_CLAIMED = 500;
const incomingOf = (
  { letterId: id, messageId, publisher, body, contentType, headers, deliveries }: Claimed,
  patienceMs: number,
): IncomingMessage => ({
  id,
  ...(messageId === null ? {} : { messageId }),
  ...(publisher === null ? {} : { publisher }),
  body,
  contentType,
  headers,
  deliveries,
  patienceMs,
});

/**
 * Takes commands from the table until the signal aborts. A lease that runs out, because its holder died, gives the
 * message to the next.
 */
export class Consumer {
  private readonly held = new Set<Claimed>();
  private bytesHeld = 0;
  private readonly mostBytes: number;
  private whenFreed: (() => void)[] = [];
  private readonly takeAway: (message: Claimed) => Promise<void>;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    const done = async (batch: Claimed[]): Promise<void[]> => {
      await parts.pool.query({ name: 'bus-done', text: DONE, values: leasesOf(batch) });
      return batch.map(() => undefined);
    };
    this.mostBytes = options.mostBytes ?? Number.MAX_SAFE_INTEGER;
    this.takeAway = coalesce(done, { maxBatch: 2_000, maxWaiting: 100_000 });
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    const { leaseMs, askEveryMs, report } = this.parts;
    const renewal = setInterval(() => void this.renew(), leaseMs / 3);
    try {
      // Ends by the signal alone: this is the loop of a server. Each turn claims, or waits for work, for a free hand or
      // for the database.
      while (!signal.aborted) {
        try {
          await this.turn();
        } catch (error) {
          report(`commands are not taken now: ${wordsOf(error)}`);
          await systemClock.wait(askEveryMs, signal);
        }
      }
      while (this.held.size > 0) await this.aHandIsFree();
    } finally {
      clearInterval(renewal);
    }
  }

  private async turn(): Promise<void> {
    const { pool, notices, leaseMs, askEveryMs, fallbackPollMs } = this.parts;
    const { concurrency, signal } = this.options;
    const free = Math.min(MOST_CLAIMED, concurrency - this.held.size);
    if (free <= 0) return this.aHandIsFree();
    if (!(await this.mayTakeMore())) return systemClock.wait(askEveryMs, signal);
    const mark = notices.mark();
    const { rows } = await pool.query<Claimed>({
      name: 'bus-claim',
      text: CLAIM,
      values: [free, leaseMs, this.mostBytes - this.bytesHeld, this.held.size === 0],
    });
    for (const row of rows.sort((a, b) => Number(a.id - b.id))) void this.take(row);
    if (rows.some((row) => row.isCut)) return this.aHandIsFree();
    if (rows.length < free) await this.somethingNew(notices.wait(mark, fallbackPollMs, signal));
  }

  /** Where most of the bytes are in hand already, the next message may be there and not fit. */
  private async somethingNew(notice: Promise<unknown>): Promise<void> {
    const isNearlyFull = this.bytesHeld > this.mostBytes / 2;
    await (isNearlyFull ? Promise.race([notice, this.aHandIsFree()]) : notice);
  }

  /** Never rejects: what cannot be settled comes again when its lease runs out. */
  private async take(message: Claimed): Promise<void> {
    this.held.add(message);
    this.bytesHeld += message.body.length;
    try {
      await this.settle(message, await this.handle(message));
    } catch (error) {
      this.parts.report(`message ${message.messageId ?? 'without an id'} could not be settled: ${wordsOf(error)}`);
    } finally {
      this.held.delete(message);
      this.bytesHeld -= message.body.length;
      for (const resolve of this.whenFreed.splice(0)) resolve();
    }
  }

  private async handle(message: Claimed): Promise<Handled> {
    // Its last lease ran out: whoever had it died of it, perhaps.
    if (message.deliveries > this.parts.deliveryLimit)
      return { kind: 'retry', reason: 'whoever had it last did not settle it' };
    try {
      return await this.options.handle(incomingOf(message, this.options.mostHeldMs ?? MOST_HELD_MS));
    } catch (error) {
      return { kind: 'retry', reason: wordsOf(error) };
    }
  }

  private async settle(message: Claimed, handled: Handled): Promise<void> {
    const { pool, deliveryLimit, report, askEveryMs } = this.parts;
    const lease = [message.id, message.leaseNumber];
    const deliveries = Math.min(message.deliveries, deliveryLimit);
    switch (handled.kind) {
      case 'done':
        return this.takeAway(message);
      case 'dead':
        return void (await pool.query(DEAD, [...lease, handled.code, storable(handled.reason), deliveries]));
      case 'postpone':
        return void (await pool.query(GIVE_BACK, [...lease, askEveryMs, 1]));
      case 'retry': {
        report(`message ${message.messageId ?? 'without an id'} failed at delivery ${deliveries}: ${handled.reason}`);
        const why =
          `it was delivered ${deliveries} times and never handled to the end; the last fault: ` + handled.reason;
        if (message.deliveries >= deliveryLimit)
          return void (await pool.query(DEAD, [...lease, DELIVERY_LIMIT, storable(why), deliveries]));
        return void (await pool.query(GIVE_BACK, [...lease, this.delayMs(message.deliveries), 0]));
      }
    }
  }

  private delayMs(deliveries: number): number {
    const { retryFirstMs, retryMostMs } = this.parts;
    return backoffMs(deliveries, { firstMs: retryFirstMs, mostMs: retryMostMs });
  }

  private async renew(): Promise<void> {
    if (this.held.size === 0) return;
    const { pool, leaseMs, report } = this.parts;
    await pool
      .query(EXTEND, [...leasesOf([...this.held]), leaseMs])
      .catch((error: unknown) => report(`leases of commands were not extended: ${wordsOf(error)}`));
  }

  private async mayTakeMore(): Promise<boolean> {
    const { mayTakeMore } = this.options;
    if (mayTakeMore === undefined) return true;
    return Promise.resolve(mayTakeMore()).catch(() => false);
  }

  private aHandIsFree(): Promise<void> {
    return new Promise((resolve) => this.whenFreed.push(resolve));
  }
}

/** PostgreSQL keeps no NUL in a text, and a reason may quote the message. */
const storable = (text: string): string => text.replaceAll('\0', '\\0');

const leasesOf = (messages: Claimed[]): [bigint[], number[]] => [
  messages.map(({ id }) => id),
  messages.map(({ leaseNumber }) => leaseNumber),
];
