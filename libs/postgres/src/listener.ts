import { backoffMs } from '#kernel';
import pg from 'pg';
import type { Pool } from './pool.js';

export interface ListenerOptions {
  /** Whose server it is. The connection is one of its own, for it must not be shared. */
  pool: Pool;
  /** Another way there, where a connection pooler lies in between: notices do not pass one. */
  connectionString?: string | undefined;
  applicationName: string;
  channel: string;
  heard(payload: string): void;
  /** Notices arrive from now on. What was announced before is found only by looking. */
  connected(): void;
  lost?(): void;
}

/** How long a server that is asked to end a connection is waited for. */
const GOODBYE_MS = 1_000;
const BACKOFF = { firstMs: 100, mostMs: 5_000 };

/**
 * One connection that listens for NOTIFY on a channel, and is made anew, after growing pauses, whenever it is lost.
 * Nothing here rejects.
 */
export class Listener {
  private client: pg.Client | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private isClosed = false;

  constructor(private readonly options: ListenerOptions) {}

  /** Connects; whoever asks again asks for nothing. */
  listen(): void {
    if (this.isClosed || this.client !== undefined || this.retry !== undefined) return;
    const { pool, connectionString, applicationName, channel, heard } = this.options;
    const client = new pg.Client({
      ...(connectionString === undefined ? pool.options : { connectionString }),
      application_name: applicationName,
      keepAlive: true,
    });
    this.client = client;
    const lost = (): void => this.lost(client);
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ payload = '' }) => heard(payload));
    client
      .connect()
      .then(() => client.query(`LISTEN ${channel}`))
      .then(() => this.connected(client))
      .catch(lost);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.retry);
    const { client } = this;
    this.client = undefined;
    if (client !== undefined) await end(client);
  }

  private connected(client: pg.Client): void {
    if (this.client !== client) return;
    this.failures = 0;
    this.options.connected();
  }

  private lost(client: pg.Client): void {
    if (this.client !== client) return;
    this.client = undefined;
    client.end().catch(() => undefined);
    this.options.lost?.();
    this.failures += 1;
    this.retry = setTimeout(
      () => {
        this.retry = undefined;
        this.listen();
      },
      backoffMs(this.failures, BACKOFF),
    );
    this.retry.unref();
  }
}

/** A server that has gone silent does not say goodbye: then the socket is closed without it. */
async function end(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
}
