import { Listener, type Pool } from '#postgres';
import { BUS_CHANNEL } from './statements.js';

/**
 * Ends waits early: one connection that listens. A notice says only that there is something; readers look by themselves
 * besides, so that a lost connection costs time and never a message.
 */
export class NoticeWaiter {
  private isClosed = false;
  private readonly waiting = new Set<() => void>();
  /** Notices so far: whoever took a mark before he looked misses none that came since. */
  private notices = 0;

  private readonly listener: Listener;

  constructor(pool: Pool) {
    const now = (): void => this.now();
    this.listener = new Listener({
      pool,
      applicationName: 'pedigree-bus-listen',
      channel: BUS_CHANNEL,
      heard: now,
      connected: now,
    });
  }

  mark(): number {
    return this.notices;
  }

  /** Resolves on a notice after the mark, after `maxWaitMs`, on `signal` or on `close`. Never rejects. */
  wait(mark: number, maxWaitMs: number, signal: AbortSignal): Promise<void> {
    this.listener.listen();
    if (this.notices !== mark || signal.aborted || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, maxWaitMs);
      this.waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** As a notice does. */
  now(): void {
    this.notices += 1;
    for (const done of [...this.waiting]) done();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.now();
    await this.listener.close();
  }
}
