import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Stands between a client and a server that others use too, so that a test can cut the one without harming the other.
 */
export interface TcpProxy {
  port: number;
  /** Breaks every connection; new ones are let through. */
  cut(): void;
  /** Breaks every connection, and each new one at once, until `up`. */
  down(): void;
  up(): void;
  /** Forwards no more, or no more answers, over the connections that there are, and breaks none. */
  freeze(what?: 'all' | 'answers'): void;
  close(): Promise<void>;
}

interface Target {
  host: string;
  port: number;
}

const ignore = (): void => undefined;

function keep(sockets: Set<Socket>, socket: Socket, other: Socket): void {
  sockets.add(socket);
  socket.on('error', ignore);
  socket.once('close', () => {
    sockets.delete(socket);
    other.destroy();
  });
}

/** `onAnswer` is told what the server says, before the client has it. */
export async function tcpProxy(target: Target, onAnswer: (bytes: Buffer) => void = ignore): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const answering = new Set<Socket>();
  let isDown = false;
  const server = createServer((near) => {
    if (isDown) return void near.destroy();
    const far = connect(target.port, target.host);
    keep(sockets, near, far);
    keep(sockets, far, near);
    keep(answering, far, near);
    far.on('data', onAnswer);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of [...sockets]) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    down() {
      isDown = true;
      cut();
    },
    up() {
      isDown = false;
    },
    freeze(what = 'all') {
      for (const socket of what === 'all' ? sockets : answering) socket.pause();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
