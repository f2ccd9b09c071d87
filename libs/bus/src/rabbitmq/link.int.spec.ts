import { afterAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { tcpProxy } from '../../../../test/support/tcp-proxy.js';
import { Link } from './link.js';
import { busNames } from './topology.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

/** Class and method of connection.open-ok: the last answer of the handshake. */
const OPEN_OK = Buffer.from([0, 10, 0, 41]);
/** Turns of promises between the last answer and the end of the handshake, and more. */
const TURNS = [0, 1, 2, 3, 4, 6, 9, 12];

/** The timers of the client, which it does not show. */
const timersOf = (link: Link): unknown[] => {
  const { connection } = link as unknown as { connection: { _state: Record<string, unknown> } };
  const { heartbeatTimer, retryTimer, connectionTimer } = connection._state;
  return [heartbeatTimer, retryTimer, connectionTimer].filter((timer) => timer !== undefined);
};

/** Runs `connect`, and returns the first socket that it opens. */
function socketOf(connect: () => void): Socket {
  const opened: Socket[] = [];
  const note = (message: unknown): void => void opened.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', note);
  connect();
  unsubscribe('net.client.socket', note);
  const [socket] = opened;
  if (socket === undefined) throw new Error('nothing was connected');
  return socket;
}

/** Where the last answer of the handshake is when the link is closed. */
const PLACES = {
  'has come and is not told yet': (socket: Socket, close: () => void) => {
    const push = socket.push.bind(socket);
    socket.push = (bytes: unknown) => {
      socket.push = push;
      const isMore = push(bytes);
      close();
      return isMore;
    };
  },
  'is there and not read': (socket: Socket, close: () => void) => void socket.prependOnceListener('readable', close),
  'is being read': (socket: Socket, close: () => void) => void socket.once('readable', close),
};
const CASES = (Object.keys(PLACES) as (keyof typeof PLACES)[]).flatMap((place) =>
  TURNS.map((turns) => ({ place, turns })),
);

/** Closes a link so many turns of promises after the last answer is at that place; tells what is left of it. */
async function leftOf({ place, turns }: (typeof CASES)[number]): Promise<{ connected: boolean; timers: unknown[] }> {
  const [prefix, { hostname, port }] = [ownPrefix(), new URL(url)];
  let isClosing: (closed: Promise<void>) => void = () => undefined;
  const closed = new Promise<void>((resolve) => (isClosing = resolve));
  let client: Socket | undefined;
  const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) }, (bytes) => {
    if (client === undefined || !bytes.includes(OPEN_OK)) return;
    PLACES[place](client, () => isClosing(close()));
    client = undefined;
  });
  const through = new URL(url);
  [through.hostname, through.port] = ['127.0.0.1', String(proxy.port)];
  const link = new Link({
    ...{ url: through.href, names: busNames(prefix), deliveryLimit: 1, connectionName: 'test' },
    ...{ reconnectFirstMs: 10, reconnectMostMs: 50, report: () => undefined },
  });
  const close = async (): Promise<void> => {
    for (let n = 0; n < turns; n += 1) await Promise.resolve();
    await link.close();
  };
  try {
    let opened: Promise<unknown> = Promise.resolve();
    const socket = socketOf(() => void (opened = link.channel()));
    client = socket;
    const gone = once(socket, 'close');
    await expect(opened).rejects.toThrow(/clos/i);
    await Promise.all([closed, gone]);
    await turn();
    return { connected: link.connected, timers: timersOf(link) };
  } finally {
    await link.close();
    await proxy.close();
    await deleteTopology(url, prefix);
  }
}

(broker === undefined ? describe.skip : describe)('a link that is closed while it connects', () => {
  it.each(CASES)('stays closed where the last answer $place, $turns turns of promises on', async (at) => {
    expect(await leftOf(at)).toEqual({ connected: false, timers: [] });
  });
});
