import type { Clock } from '#kernel';
import type { EncodedAppend } from './encode.js';
import type { EventStoreLimits } from './limits.js';
import type { AppendResult } from './port.js';

export interface GroupCommitOptions {
  limits: Pick<EventStoreLimits, 'maxBatchAppends' | 'maxBatchEvents' | 'maxBatchBytes'>;
  /**
   * Least time between the starts of two calls. A lone append pays nothing; a stream of them gathers, and shares calls
   * and flushes.
   */
  minCallIntervalMs: number;
  clock: Clock;
  /** Makes the appends in one call; one result each, in order. */
  call: (appends: EncodedAppend[]) => Promise<AppendResult[]>;
}

interface Waiting {
  append: EncodedAppend;
  resolve: (result: AppendResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: appends gather while a call is under way, and for the rest of its interval, and go together in the
 * next. It is `coalesce` with three differences: batches are measured in events and bytes too, calls keep a distance,
 * and a call that fails fails only its own.
 */
export class GroupCommit {
  private waiting: Waiting[] = [];
  private isRunning = false;
  private lastCallAtMs = -Infinity;

  constructor(private readonly options: GroupCommitOptions) {}

  /** Appends that were handed in and are not yet part of a call. */
  get length(): number {
    return this.waiting.length;
  }

  /** Appends handed in one after the other are made in that order. */
  append(append: EncodedAppend): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ append, resolve, reject });
      if (this.isRunning) return;
      this.isRunning = true;
      // On the next turn, so that appends made in the same turn share the call.
      queueMicrotask(() => void this.run());
    });
  }

  private async run(): Promise<void> {
    const { clock, minCallIntervalMs } = this.options;
    while (this.waiting.length > 0) {
      const restMs = minCallIntervalMs - (clock.monotonicMs() - this.lastCallAtMs);
      if (restMs > 0) await clock.wait(restMs);
      this.lastCallAtMs = clock.monotonicMs();
      await this.callWith(this.take());
    }
    this.isRunning = false;
  }

  private async callWith(batch: Waiting[]): Promise<void> {
    try {
      const results = await this.options.call(batch.map((one) => one.append));
      batch.forEach((one, n) => {
        const result = results[n];
        if (result === undefined) one.reject(new Error(`no result for the append to ${one.append.stream}`));
        else one.resolve(result);
      });
    } catch (error) {
      for (const one of batch) one.reject(error);
    }
  }

  /** The next batch, in order and within the limits. An append is never cut, so one that is larger alone goes alone. */
  private take(): Waiting[] {
    const { maxBatchAppends, maxBatchEvents, maxBatchBytes } = this.options.limits;
    let events = 0;
    let bytes = 0;
    const tooMuch = this.waiting.findIndex(({ append }, n) => {
      events += append.events.length;
      bytes += append.bytes;
      return n > 0 && (n >= maxBatchAppends || events > maxBatchEvents || bytes > maxBatchBytes);
    });
    return this.waiting.splice(0, tooMuch === -1 ? this.waiting.length : tooMuch);
  }
}
