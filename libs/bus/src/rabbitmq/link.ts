import { Connection } from 'rabbitmq-client';
import { MOST_HEADER_BYTES, ourChannel, type OurChannel } from './channel.js';
import { declareTopology, type BusNames } from './topology.js';

export interface LinkOptions {
  url: string;
  names: BusNames;
  deliveryLimit: number;
  /** Whether the exchange of outcomes was seen to be gone: then it is not declared anew. */
  outcomesLost?: () => boolean;
  connectionName: string;
  /** Shortest and longest wait before another try to connect. */
  reconnectFirstMs: number;
  reconnectMostMs: number;
  report: (problem: string) => void;
}

/** How long a channel waits for a connection. */
const ACQUIRE_MS = 5_000;
/** How long `close` waits for channels that are being opened, and then for all of them to end by themselves. */
const CLOSE_WAIT_MS = 3_000;

const takesNothing = (reason: string): string => `RabbitMQ takes no messages now: ${reason}`;

/**
 * One connection to the broker, made anew whenever it is lost, with our topology declared on each. The first
 * `channel()` connects: a bus that nobody uses costs nothing.
 */
export class Link {
  private connection: Connection | undefined;
  private declared: Promise<void> | undefined;
  /**
   * On this connection. The exchange of outcomes is declared once on each: were it deleted, a new one would lack the
   * bindings of the ERP's queues, and outcomes would go to nobody in silence.
   */
  private declaredOutcomes = false;
  private closed = false;
  /** The connection was told to end. */
  private ended = false;
  private blockedFor: string | undefined;
  /** Calls of `channel` that have not ended yet. */
  private readonly opening = new Set<Promise<OurChannel>>();

  constructor(private readonly options: LinkOptions) {}

  /**
   * A channel on a broker that knows our queues. Rejects when there is no connection within 5 s, or when the topology
   * is refused, or when the link was closed meanwhile. Rejects at once while the broker takes nothing.
   */
  async channel(): Promise<OurChannel> {
    const opening = this.open();
    this.opening.add(opening);
    try {
      return await opening;
    } finally {
      this.opening.delete(opening);
    }
  }

  private async open(): Promise<OurChannel> {
    // It would be opened when the broker takes something again, and stay though nobody waits for it any more.
    if (this.blockedFor !== undefined) throw new Error(takesNothing(this.blockedFor));
    const connection = this.connect();
    const channel = await this.acquire(connection);
    try {
      this.mustBeOpen();
      this.declared ??= this.declare(connection);
      await this.declared;
      this.mustBeOpen();
      return channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
  }

  get connected(): boolean {
    return this.connection?.ready ?? false;
  }

  /**
   * Why the broker takes nothing over this connection now, in its words: its memory or its disk is full. It says so to
   * connections that publish.
   */
  get blocked(): string | undefined {
    return this.blockedFor;
  }

  /** What was declared may be gone (somebody deleted a queue): the next channel declares it again. */
  forgetTopology(): void {
    this.declared = undefined;
  }

  async close(): Promise<void> {
    this.closed = true;
    const { connection } = this;
    if (connection === undefined || this.ended) return;
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_WAIT_MS)));
    await Promise.race([this.end(connection), waited]);
    clearTimeout(timer);
    this.ended = true;
    connection.unsafeDestroy();
  }

  /**
   * A channel that is being opened would write to a connection that has ended, and rabbitmq-client throws that where
   * nobody catches it. Without a connection nothing is written: closing refuses those that wait for one.
   */
  private async end(connection: Connection): Promise<void> {
    if (connection.ready) await Promise.allSettled(this.opening);
    this.ended = true;
    await connection.close().catch(() => undefined);
  }

  private mustBeOpen(): void {
    if (this.closed) throw new Error('the bus is closed');
  }

  private connect(): Connection {
    this.mustBeOpen();
    const { url, connectionName, reconnectFirstMs, reconnectMostMs, report } = this.options;
    if (this.connection !== undefined) return this.connection;
    const connection = new Connection({
      url,
      connectionName,
      acquireTimeout: ACQUIRE_MS,
      retryLow: reconnectFirstMs,
      retryHigh: reconnectMostMs,
      noDelay: true,
      frameMax: MOST_HEADER_BYTES,
    })
      .on('connection', () => {
        this.forgetTopology();
        this.declaredOutcomes = false;
        this.blockedFor = undefined;
        // rabbitmq-client ends a handshake that it was in when it was closed: it would keep its timer, or connect anew.
        if (this.ended) void connection.close().catch(() => undefined);
      })
      .on('connection.blocked', (reason: string) => {
        this.blockedFor = reason;
        report(takesNothing(reason));
      })
      .on('connection.unblocked', () => (this.blockedFor = undefined))
      .on('error', (error: Error) => {
        this.forgetTopology();
        this.blockedFor = undefined;
        if (!this.closed) report(`RabbitMQ: ${error.message}`);
      });
    this.connection = connection;
    return connection;
  }

  private async declare(connection: Connection): Promise<void> {
    const channel = await this.acquire(connection);
    const { names, deliveryLimit, outcomesLost = () => false } = this.options;
    const withOutcomes = !this.declaredOutcomes && !outcomesLost();
    try {
      await declareTopology(channel, names, { deliveryLimit, withOutcomes });
      this.declaredOutcomes = true;
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
