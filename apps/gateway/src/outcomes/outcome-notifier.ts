import { systemClock, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { newestOutcome } from '#read-models';

export interface NotifierOptions {
  pool: Queryable;
  /** How often the outbox is looked at while somebody waits. Default 200. */
  pollMs?: number;
  clock?: Clock;
}

/**
 * Tells everybody in this process who waits for a new outcome, with one small query for all of them; nobody waiting, no
 * query.
 */
export class OutcomeNotifier {
  private readonly waiters = new Set<{ beyond: bigint; wake: () => void }>();
  private readonly ended = new AbortController();
  private readonly clock: Clock;
  private looking: Promise<void> | undefined;

  constructor(private readonly options: NotifierOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** How many wait now. */
  get waiting(): number {
    return this.waiters.size;
  }

  /**
   * Resolves when there is an outcome beyond the position, after `maxWaitMs`, on `signal` or when the bell is closed.
   * Never rejects.
   */
  async waitBeyond(position: bigint, maxWaitMs: number, signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.ended.signal]);
    if (over.aborted) return;
    const rung = new AbortController();
    const waiter = { beyond: position, wake: () => rung.abort() };
    this.waiters.add(waiter);
    this.looking ??= this.look();
    await this.clock.wait(maxWaitMs, AbortSignal.any([over, rung.signal]));
    this.waiters.delete(waiter);
  }

  /** Ends all waits and the looking. */
  async close(): Promise<void> {
    this.ended.abort();
    await this.looking;
  }

  private async look(): Promise<void> {
    const { pool, pollMs = 200 } = this.options;
    while (this.waiters.size > 0 && !this.ended.signal.aborted) {
      // A database that is away is found out by whoever reads next; here it only means that nobody is woken.
      const newest = await newestOutcome(pool).catch(() => 0n);
      for (const waiter of this.waiters) if (newest > waiter.beyond) waiter.wake();
      await this.clock.wait(pollMs, this.ended.signal);
    }
    this.looking = undefined;
  }
}
