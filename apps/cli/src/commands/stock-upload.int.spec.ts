import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex, VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { TestHarness } from '../../../gateway/test/test-harness.js';
import { StockFolder } from '../../../reconciler/src/stock-folder.js';
import { GatewayClient } from '../gateway-client.js';
import { uploadStock } from './stock-upload.js';

const SETTLED_MS = 60_000;

let folder: TemporaryFolder;
let own: TemporaryFolder;
let harness: TestHarness;
beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) jest.spyOn(stream, 'write').mockImplementation(() => true);
  [folder, own] = await Promise.all([temporaryFolder(), temporaryFolder()]);
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { stockFolder: folder.path });
});
afterAll(async () => {
  jest.restoreAllMocks();
  await harness.stop();
  await Promise.all([folder.remove(), own.remove()]);
});

it('sends a file in parts, goes on where a line broke, and sends only what is missing', async () => {
  const path = join(own.path, 'stock.csv');
  const content = Buffer.alloc(9 * 1024 * 1024, 'item;place\n');
  writeFileSync(path, content);
  const writtenAt = new Date('2026-11-22T20:00:00Z');
  utimesSync(path, writtenAt, writtenAt);
  const clock = new VirtualClock();
  const reconciler = new StockFolder(folder.path, SETTLED_MS, clock);
  const taken = async () => {
    await reconciler.look();
    clock.advance(SETTLED_MS);
    return (await reconciler.look()).settled;
  };
  const gateway = new GatewayClient(harness.gateway.url);
  const put = jest.spyOn(gateway, 'put');
  put.mockImplementationOnce(() => Promise.reject(new Error('the line broke')));
  await expect(uploadStock(gateway, path, {})).rejects.toThrow('the line broke');
  const send = GatewayClient.prototype.put.bind(gateway);
  put.mockImplementationOnce(send).mockImplementationOnce(() => Promise.reject(new Error('the line broke')));
  await expect(uploadStock(gateway, path, {})).rejects.toThrow('the line broke');
  expect(await taken()).toEqual([]);
  put.mockClear();
  expect(await uploadStock(gateway, path, {})).toBe(0);
  expect(put.mock.calls.map(([to]) => to.slice(-1))).toEqual(['2', '3']);
  put.mockClear();
  expect([await uploadStock(gateway, path, { json: true }), put.mock.calls]).toEqual([0, []]);
  const [file, ...others] = await taken();
  expect([file, others]).toMatchObject([{ sha256: sha256Hex(content), modifiedAt: writtenAt }, []]);
  expect(readFileSync(file?.path ?? '').equals(content)).toBe(true);
});

it('says which file cannot be read', async () => {
  const gone = join(own.path, 'gone.csv');
  await expect(uploadStock(new GatewayClient(harness.gateway.url), gone, {})).rejects.toThrow(`${gone} cannot be read`);
});
