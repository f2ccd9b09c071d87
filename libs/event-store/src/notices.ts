import { Listener, type Pool } from '#postgres';

/**
 * Wake-ups for readers: one dedicated connection that listens, shared by all subscriptions of a store. A notice carries
 * the newest position and only ends waits early; readers poll besides, so that a lost connection costs them time and
 * never an event.
 */
export class Notices {
  private newest = 0n;
  private isClosed = false;
  private readonly waiters = new Set<() => void>();
  private readonly listener: Listener;

  constructor(pool: Pool, connectionString?: string) {
    // Whatever was announced while nobody listened is found by reading.
    const connected = (): void => this.wakeAll();
    const heard = (payload: string): void => this.announced(payload);
    this.listener = new Listener({
      pool,
      connectionString,
      applicationName: 'pedigree-notices',
      channel: 'event_log',
      heard,
      connected,
    });
  }

  /**
   * Resolves when an event beyond `position` was announced, after `maxWaitMs`, on `signal`, on `close` or on a new
   * connection. Never rejects.
   */
  waitBeyond(position: bigint, maxWaitMs: number, signal: AbortSignal): Promise<void> {
    this.listener.listen();
    if (this.newest > position || signal.aborted || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        if (!this.waiters.delete(wake)) return;
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const wake = (): void => done();
      const timer = setTimeout(done, maxWaitMs);
      this.waiters.add(wake);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.wakeAll();
    await this.listener.close();
  }

  private wakeAll(): void {
    for (const wake of [...this.waiters]) wake();
  }

  private announced(payload: string): void {
    if (/^\d{1,19}$/.test(payload)) {
      const position = BigInt(payload);
      if (position > this.newest) this.newest = position;
    }
    this.wakeAll();
  }
}
