/** Whose time a clock tells. */
export interface ClockSource {
  source: 'database' | 'machine';
  /** How far the machine's own wall clock was ahead of it when it was asked last; negative: behind. */
  machineAheadMs?: number;
  /** It is known to so much, either way. */
  uncertaintyMs?: number;
  /** When it was asked last, by itself: ISO 8601. */
  measuredAt?: string;
}

/**
 * Time as the code sees it: wall time in UTC, a monotonic counter, and a way to wait. Injected, never read globally.
 */
export interface Clock {
  /** Wall time. */
  now(): Date;
  /** Absent: the machine's own, of which nothing more is known. */
  source?(): ClockSource;
  /** Milliseconds of a clock that never goes back; its origin means nothing. */
  monotonicMs(): number;
  /** Resolves after `delayMs`, or at once when `signal` aborts. Never rejects. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  wait: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, delayMs));
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** A clock for tests: it stands still until `advance` moves it, and waits end exactly when their moment is passed. */
export class VirtualClock implements Clock {
  private elapsedMs = 0;
  private readonly waiters = new Set<{ dueMs: number; wake: () => void }>();

  constructor(private readonly startedAt: Date = new Date('2026-01-01T00:00:00Z')) {}

  now(): Date {
    return new Date(this.startedAt.getTime() + this.elapsedMs);
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  wait(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || delayMs <= 0) return resolve();
      const waiter = {
        dueMs: this.elapsedMs + delayMs,
        wake: () => {
          this.waiters.delete(waiter);
          signal?.removeEventListener('abort', waiter.wake);
          resolve();
        },
      };
      this.waiters.add(waiter);
      signal?.addEventListener('abort', waiter.wake, { once: true });
    });
  }

  /** Waits that have not ended. */
  get waiting(): number {
    return this.waiters.size;
  }

  /** Moves forward by `ms` and wakes every wait that is due, earliest first. */
  advance(ms: number): void {
    this.elapsedMs += ms;
    const due = [...this.waiters].filter((waiter) => waiter.dueMs <= this.elapsedMs);
    for (const waiter of due.sort((a, b) => a.dueMs - b.dueMs)) waiter.wake();
  }
}
