import { Connection } from 'rabbitmq-client';
import { ourChannel, type OurChannel } from './channel.js';
import { declareTopology, type BusNames } from './topology.js';

export interface LinkOptions {
  url: string;
  names: BusNames;
  deliveryLimit: number;
  connectionName: string;
  /** Shortest and longest wait before another try to connect. */
  reconnectFirstMs: number;
  reconnectMostMs: number;
  report: (problem: string) => void;
}

/** How long a channel waits for a connection. */
const ACQUIRE_MS = 5_000;
/** How long `close` waits for the channels to end by themselves. */
const CLOSE_WAIT_MS = 3_000;

/**
 * One connection to the broker, made anew whenever it is lost, with our topology declared on each. The first
 * `channel()` connects: a bus that nobody uses costs nothing.
 */
export class Link {
  private connection: Connection | undefined;
  private declared: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly options: LinkOptions) {}

  /**
   * A channel on a broker that knows our queues. Rejects when there is no connection within 5 s, or when the topology
   * is refused.
   */
  async channel(): Promise<OurChannel> {
    const connection = this.connect();
    const channel = await this.acquire(connection);
    try {
      this.declared ??= this.declare(connection);
      await this.declared;
      return channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
  }

  get connected(): boolean {
    return this.connection?.ready ?? false;
  }

  /** What was declared may be gone (somebody deleted a queue): the next channel declares it again. */
  forgetTopology(): void {
    this.declared = undefined;
  }

  async close(): Promise<void> {
    this.closed = true;
    const { connection } = this;
    if (connection === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_WAIT_MS)));
    await Promise.race([connection.close().catch(() => undefined), waited]);
    clearTimeout(timer);
    connection.unsafeDestroy();
  }

  private connect(): Connection {
    if (this.closed) throw new Error('the bus is closed');
    const { url, connectionName, reconnectFirstMs, reconnectMostMs, report } = this.options;
    this.connection ??= new Connection({
      url,
      connectionName,
      acquireTimeout: ACQUIRE_MS,
      retryLow: reconnectFirstMs,
      retryHigh: reconnectMostMs,
      noDelay: true,
    })
      .on('connection', () => this.forgetTopology())
      .on('error', (error: Error) => {
        this.forgetTopology();
        if (!this.closed) report(`RabbitMQ: ${error.message}`);
      });
    return this.connection;
  }

  private async declare(connection: Connection): Promise<void> {
    const channel = await this.acquire(connection);
    try {
      await declareTopology(channel, this.options.names, this.options.deliveryLimit);
    } catch (error) {
      this.declared = undefined;
      throw error;
    } finally {
      await channel.close();
    }
  }

  private async acquire(connection: Connection): Promise<OurChannel> {
    return ourChannel(await connection.acquire());
  }
}
