import { backoffMs, systemClock, type Clock } from '#kernel';

export interface BackoffGateOptions {
  /** Whether it is worth trying again. A rejection is a no. */
  ready(): Promise<boolean>;
  signal: AbortSignal;
  clock?: Clock;
}

const BACKOFF = { firstMs: 100, mostMs: 5_000 };

/** One wait for all who found that the time is not right: it is asked for them, with growing pauses, until it is. */
export class BackoffGate {
  private waiting: Promise<void> | undefined;
  private failures = 0;
  /** Tries that went well, of whomever. */
  successes = 0;

  constructor(private readonly options: BackoffGateOptions) {}

  get isWaiting(): boolean {
    return this.waiting !== undefined;
  }

  /** Somebody's try went well: the next pause is short again. */
  wentWell(): void {
    this.failures = 0;
    this.successes += 1;
  }

  /** Resolves when it is worth another try, or when the signal aborts. Never rejects. */
  wait(): Promise<void> {
    this.waiting ??= this.untilReady().finally(() => (this.waiting = undefined));
    return this.waiting;
  }

  private async untilReady(): Promise<void> {
    const { ready, signal, clock = systemClock } = this.options;
    do {
      this.failures += 1;
      await clock.wait(backoffMs(this.failures, BACKOFF), signal);
    } while (!signal.aborted && !(await ready().catch(() => false)));
  }
}
