import { systemClock, type Clock } from '#kernel';

/** At most so many bytes in a second: whoever works calls `spend` with what it has read, and waits there. */
export class Pace {
  private dueMs: number | undefined;

  constructor(
    /** Undefined: as fast as it goes. */
    private readonly bytesPerSecond: number | undefined,
    private readonly signal: AbortSignal,
    private readonly clock: Clock = systemClock,
  ) {}

  async spend(bytes: number): Promise<void> {
    const { bytesPerSecond, clock } = this;
    if (bytesPerSecond === undefined) return;
    const nowMs = clock.monotonicMs();
    // What was not used while it waited for others is not saved up: no burst follows a pause.
    this.dueMs = Math.max(this.dueMs ?? nowMs, nowMs - MOST_SAVED_MS) + (bytes * 1_000) / bytesPerSecond;
    if (this.dueMs > nowMs) await clock.wait(this.dueMs - nowMs, this.signal);
  }
}

const MOST_SAVED_MS = 1_000;
