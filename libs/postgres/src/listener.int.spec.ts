import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { tcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/until.js';
import { Listener } from './listener.js';

const NAME = 'listener-of-a-test';
let db: TestDatabase;
let listener: Listener;
const heard: string[] = [];
const turns: string[] = [];

beforeAll(async () => {
  db = await testDatabase();
  const options = { pool: db.pool, applicationName: NAME, channel: 'of_a_test' };
  listener = new Listener({
    ...options,
    heard: (payload) => void heard.push(payload),
    connected: () => void turns.push('connected'),
    lost: () => void turns.push('lost'),
  });
});
afterAll(async () => {
  await listener.close();
  await db.drop();
});

const sessions = async (): Promise<number> =>
  (await db.pool.query('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [NAME])).rows.length;
const tell = (payload: string) => db.pool.query(`SELECT pg_notify('of_a_test', $1)`, [payload]);

describe('a connection that listens', () => {
  it('is one, however often it is asked for, and hears', async () => {
    listener.listen();
    listener.listen();
    await until('it listens', () => turns.length === 1);
    await tell('first');
    await until('it hears', () => heard.length === 1);
    expect([heard, turns, await sessions()]).toEqual([['first'], ['connected'], 1]);
  });

  it('that is cut says so, comes back, and hears again', async () => {
    await db.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [NAME]);
    await until('it is back', () => turns.length === 3);
    await tell('second');
    await until('it hears again', () => heard.length === 2);
    expect([heard, turns]).toEqual([
      ['first', 'second'],
      ['connected', 'lost', 'connected'],
    ]);
  });

  it('that is closed waits for no server that has gone silent', async () => {
    const url = new URL(db.url);
    const proxy = await tcpProxy({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${proxy.port}`;
    let isConnected = false;
    const silent = new Listener({
      ...{ pool: db.pool, connectionString: url.href, applicationName: `${NAME}-behind`, channel: 'of_a_test' },
      heard: () => undefined,
      connected: () => void (isConnected = true),
    });
    silent.listen();
    await until('it listens', () => isConnected);
    proxy.freeze();
    await silent.close();
    await proxy.close();
  }, 20_000);

  it('that is closed is gone, and stays gone', async () => {
    await listener.close();
    listener.listen();
    await until('its session has ended', async () => (await sessions()) === 0);
    expect(turns).toHaveLength(3);
  });
});
