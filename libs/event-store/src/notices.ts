import pg from 'pg';

export interface NoticesOptions {
  connectionString: string;
  /** First and longest wait before another try to connect. */
  reconnectFirstDelayMs?: number;
  reconnectMaxDelayMs?: number;
}

/**
 * Wake-ups for readers: one dedicated connection that listens, shared by all subscriptions of a store. A notice carries the newest
 * position and only ends waits early; readers poll besides, so that a lost connection costs them time and never an event.
 */
export class Notices {
  private newest = 0n;
  private client: pg.Client | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private state: 'idle' | 'running' | 'closed' = 'idle';
  private readonly waiters = new Set<() => void>();

  constructor(private readonly options: NoticesOptions) {}

  /** Resolves when an event beyond `position` was announced, after `maxWaitMs`, on `signal`, on `close` or on a new connection. Never rejects. */
  waitBeyond(position: bigint, maxWaitMs: number, signal: AbortSignal): Promise<void> {
    if (this.state === 'idle') {
      this.state = 'running';
      void this.connect();
    }
    if (this.newest > position || signal.aborted || this.state === 'closed') return Promise.resolve();
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
    this.state = 'closed';
    clearTimeout(this.retry);
    this.wakeAll();
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  private wakeAll(): void {
    for (const wake of [...this.waiters]) wake();
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.options.connectionString, application_name: 'pedigree-notices', keepAlive: true });
    let lost = false;
    const onLost = (): void => {
      if (lost) return;
      lost = true;
      if (this.client === client) this.client = undefined;
      client.end().catch(() => undefined);
      this.connectLater();
    };
    client.on('error', onLost);
    client.on('end', onLost);
    client.on('notification', ({ payload }) => this.announced(payload));
    try {
      await client.connect();
      if (this.closed()) return void (await client.end());
      this.client = client;
      await client.query('LISTEN event_log');
      this.failures = 0;
      // Whatever was announced while nobody listened is found by reading.
      this.wakeAll();
    } catch {
      onLost();
    }
  }

  private connectLater(): void {
    if (this.closed()) return;
    const { reconnectFirstDelayMs = 100, reconnectMaxDelayMs = 5_000 } = this.options;
    const delayMs = Math.min(reconnectFirstDelayMs * 2 ** Math.min(this.failures, 16), reconnectMaxDelayMs);
    this.failures += 1;
    this.retry = setTimeout(() => void this.connect(), delayMs);
  }

  private announced(payload: string | undefined): void {
    if (payload !== undefined && /^\d{1,19}$/.test(payload)) {
      const position = BigInt(payload);
      if (position > this.newest) this.newest = position;
    }
    this.wakeAll();
  }

  private closed(): boolean {
    return this.state === 'closed';
  }
}
