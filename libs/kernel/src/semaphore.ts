import { PedigreeError } from './errors.js';

/** More than anybody waits for in earnest: beyond it something has stopped. */
const MAX_WAITING = 1_000;

/**
 * Lets at most so many actions run at once; the others wait their turn, first come first served, the urgent ones before
 * all others.
 */
export class Semaphore {
  private running = 0;
  private readonly urgent: (() => void)[] = [];
  private readonly ordinary: (() => void)[] = [];

  /** @param what is counted in the error of one too many: `signatures` */
  constructor(
    private readonly concurrency: number,
    private readonly what: string,
    private readonly maxWaiting = MAX_WAITING,
  ) {}

  /** Runs the action when its turn has come. @throws PedigreeError `unavailable` when too many wait already. */
  async take<T>(action: () => Promise<T>, urgent = false): Promise<T> {
    if (this.running >= this.concurrency) {
      const waiting = urgent ? this.urgent : this.ordinary;
      if (waiting.length >= this.maxWaiting)
        throw new PedigreeError('unavailable', `${this.maxWaiting} ${this.what} are waiting already`);
      // Whoever ends hands over its place, so `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      this.running += 1;
    }
    try {
      return await action();
    } finally {
      const next = this.urgent.shift() ?? this.ordinary.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}
