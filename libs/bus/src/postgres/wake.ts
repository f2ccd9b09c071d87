import pg from 'pg';
import { BUS_CHANNEL } from './statements.js';

/**
 * Ends waits early: one connection that listens. A notice says only that there is something; readers look by themselves besides, so that a lost
 * connection costs time and never a message.
 */
export class Wake {
  private client: pg.Client | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private state: 'idle' | 'listening' | 'closed' = 'idle';
  private readonly waiting = new Set<() => void>();
  /** Notices so far: whoever took a mark before he looked misses none that came since. */
  private notices = 0;

  constructor(private readonly options: { connectionString: string; reconnectFirstMs: number; reconnectMostMs: number }) {}

  mark(): number {
    return this.notices;
  }

  /** Resolves on a notice after the mark, after `maxWaitMs`, on `signal` or on `close`. Never rejects. */
  wait(mark: number, maxWaitMs: number, signal: AbortSignal): Promise<void> {
    if (this.state === 'idle') {
      this.state = 'listening';
      void this.connect();
    }
    if (this.notices !== mark || signal.aborted || this.state === 'closed') return Promise.resolve();
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
    this.state = 'closed';
    clearTimeout(this.retry);
    this.now();
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.options.connectionString, application_name: 'pedigree-bus-listen', keepAlive: true });
    let isLost = false;
    const lost = (): void => {
      if (isLost) return;
      isLost = true;
      if (this.client === client) this.client = undefined;
      client.end().catch(() => undefined);
      this.connectLater();
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', () => this.now());
    try {
      await client.connect();
      if (this.isClosed()) return void (await client.end());
      this.client = client;
      await client.query(`LISTEN ${BUS_CHANNEL}`);
      this.failures = 0;
      this.now();
    } catch {
      lost();
    }
  }

  private connectLater(): void {
    if (this.isClosed()) return;
    const { reconnectFirstMs, reconnectMostMs } = this.options;
    this.retry = setTimeout(() => void this.connect(), Math.min(reconnectMostMs, reconnectFirstMs * 2 ** Math.min(this.failures, 16)));
    this.failures += 1;
  }

  private isClosed(): boolean {
    return this.state === 'closed';
  }
}
