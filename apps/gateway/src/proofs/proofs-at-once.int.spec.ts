import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { TestHarness } from '../../test/test-harness.js';

const ROUTE = '/v1/operations/configuration?proof=1';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

const isRefused = async (): Promise<boolean> =>
  /answers are being proven already/.test(String((await harness.ask(ROUTE)).json()['detail']));

/** Asks for a proof behind a request that is not answered yet, on one connection. */
function askBehind(): Socket {
  const { host, port } = new URL(harness.gateway.url);
  const connection = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
  connection.write(ask('/v1/outcomes?wait=30') + ask(ROUTE));
  return connection;
}

it('whoever leaves before his proof is answered leaves its place to others', async () => {
  const connections: Socket[] = [];
  await until('every place is taken', async () => {
    if (await isRefused()) return true;
    connections.push(askBehind());
    return false;
  });
  for (const one of connections) one.destroy();
  await until('the places are free', async () => !(await isRefused()));
  expect(connections.length).toBeGreaterThan(0);
});
