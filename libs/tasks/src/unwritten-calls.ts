import type { Clock } from '#kernel';

/** A call whose connection does not come up for so long is waited for no more. */
const MOST_WAIT_MS = 5_000;

/** Calls that may go out, and wait for a connection: when they will be written nobody knows. */
export class UnwrittenCalls {
  private readonly calls = new Set<() => void>();
  private settled = new AbortController();

  /** Notes a call, until the returned function says that it was written, or never will be. */
  add(): () => void {
    const done = (): void => {
      if (!this.calls.delete(done) || this.calls.size > 0) return;
      this.settled.abort();
      this.settled = new AbortController();
    };
    this.calls.add(done);
    return done;
  }

  /** Resolves when all are written, when `signal` aborts, or after 5 s. */
  async allWritten(clock: Clock, signal: AbortSignal): Promise<void> {
    if (this.calls.size > 0) await clock.wait(MOST_WAIT_MS, AbortSignal.any([signal, this.settled.signal]));
  }
}
