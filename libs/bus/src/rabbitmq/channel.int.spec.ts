import { afterAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { tcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/until.js';
import { Link } from './link.js';
import { busNames } from './topology.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

/** More than the sockets between us and the broker hold. */
const MUCH = Buffer.alloc(40_000_000);

(broker === undefined ? describe.skip : describe)('a channel that is closed before all of it is written', () => {
  it('ends with its connection, and the link connects anew', async () => {
    const [prefix, { hostname, port }] = [ownPrefix(), new URL(url)];
    const proxy = await tcpProxy({ host: hostname, port: Number(port || 5672) });
    const through = new URL(url);
    [through.hostname, through.port] = ['127.0.0.1', String(proxy.port)];
    const link = new Link({
      ...{ url: through.href, names: busNames(prefix), deliveryLimit: 1, connectionName: 'test' },
      ...{ reconnectFirstMs: 10, reconnectMostMs: 50, report: () => undefined },
    });
    const sockets: Socket[] = [];
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    try {
      const channel = await link.channel();
      const [socket] = sockets;
      proxy.freeze();
      const published = channel.basicPublish({ routingKey: 'nowhere' }, MUCH).catch(() => 'not written');
      await until('a socket that is full', () => socket?.writableNeedDrain === true);
      let isClosed = false;
      void channel.close().then(() => (isClosed = true));
      proxy.cut();
      await until('its end', () => isClosed, 10_000);
      expect(await published).toBe('not written');
      await (await link.channel()).close();
    } finally {
      unsubscribe('net.client.socket', note);
      await link.close();
      await proxy.close();
      await deleteTopology(url, prefix);
    }
  });
});
