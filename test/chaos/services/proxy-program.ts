import { createServer, connect, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy as a process of its own: what it carries is judged to the millisecond on the other side, so it shares no
 * event loop with the campaign. Arguments: the port to listen on. Orders come as messages of the parent, each answered
 * with the same `id`.
 */

/**
 * `pass` carries; `refuse` closes the door and every connection; `black_hole` takes bytes and gives none; `reset` lets
 * a request through and cuts the connection at the answer.
 */
export type ProxyMode = 'pass' | 'refuse' | 'black_hole' | 'reset';

export interface ProxyOrder {
  id: number;
  mode?: ProxyMode;
  /** Port of 127.0.0.1 to which new connections go. */
  targetPort?: number;
}

export interface ProxyAnswer {
  id: number;
  /** Connections that a fault has cut since the last order. */
  cut: number;
  error?: string;
}

interface Pair {
  client: Socket;
  upstream: Socket;
  /** Bytes of it were swallowed: it can never be used again. */
  damaged: boolean;
}

class Proxy {
  private readonly pairs = new Set<Pair>();
  private server: Server | undefined;
  private mode: ProxyMode = 'pass';
  private targetPort = 0;
  private cut = 0;

  constructor(private readonly port: number) {}

  async obey({ mode, targetPort }: ProxyOrder): Promise<number> {
    if (targetPort !== undefined) this.targetPort = targetPort;
    if (mode !== undefined) this.mode = mode;
    if (this.mode === 'refuse') await this.close();
    else await this.open();
    // Whoever waits on a connection whose bytes were swallowed would wait for ever.
    if (this.mode === 'pass') for (const pair of this.pairs) if (pair.damaged) this.end(pair);
    const cut = this.cut;
    this.cut = 0;
    return cut;
  }

  private async open(): Promise<void> {
    if (this.server !== undefined) return;
    const server = createServer({ noDelay: true }, (client) => this.accept(client));
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(this.port, '127.0.0.1', resolve));
    this.server = server;
  }

  private async close(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    for (const pair of this.pairs) this.end(pair);
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  private accept(client: Socket): void {
    const upstream = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    const pair: Pair = { client, upstream, damaged: false };
    this.pairs.add(pair);
    client.on('data', (bytes) => this.carry(pair, bytes, upstream));
    upstream.on('data', (bytes) => (this.mode === 'reset' ? this.end(pair) : this.carry(pair, bytes, client)));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('end', () => other.end());
      one.on('close', () => {
        other.destroy();
        this.pairs.delete(pair);
      });
      one.on('drain', () => other.resume());
    }
  }

  private carry(pair: Pair, bytes: Buffer, to: Socket): void {
    if (this.mode === 'black_hole' || pair.damaged) {
      pair.damaged = true;
      return;
    }
    if (!to.write(bytes)) (to === pair.client ? pair.upstream : pair.client).pause();
  }

  /** With a reset, so that the client learns of it in the middle of whatever it does. */
  private end(pair: Pair): void {
    this.cut += 1;
    this.pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.upstream.destroy();
  }
}

const proxy = new Proxy(Number(process.argv[2]));
process.on('message', (order: ProxyOrder) => {
  void proxy.obey(order).then(
    (cut) => process.send?.({ id: order.id, cut } satisfies ProxyAnswer),
    (error: Error) => process.send?.({ id: order.id, cut: 0, error: error.message } satisfies ProxyAnswer),
  );
});
// Nobody is left to give orders.
process.on('disconnect', () => process.exit(0));
