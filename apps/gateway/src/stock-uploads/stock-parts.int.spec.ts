import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresBus, RabbitMqBus, type MessageBus } from '#bus';
import { PostgresEventStore, type Actor, type RecordedEvent } from '#event-store';
import { sha256Hex, VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { until } from '../../../../test/support/until.js';
import { TestHarness } from '../../test/test-harness.js';
import { PART_BYTES } from '../api/body-limits.js';
import type { GatewayConfig } from '../config.js';
import { StockParts, type StockPart } from './stock-parts.js';
import { StockUploads, type StockFile } from './stock-uploads.js';

const ERP: Actor = { kind: 'system', name: 'erp', authenticatedBy: 'amqp user_id' };
const OTHERS = 'item\n04600000000015ABCDE00100001\n';

let at: TemporaryFolder;
beforeEach(async () => {
  at = await temporaryFolder();
});
afterEach(() => at.remove());

const fileOf = (content: Buffer, name = 'stock.csv'): StockFile => ({
  ...{ name, bytes: content.length, sha256: sha256Hex(content), moment: null },
});
const partOf = (file: StockFile, n: number, bytes: Buffer): StockPart => ({ file, n, bytes, sha256: sha256Hex(bytes) });
const seen = (): string[] =>
  readdirSync(at.path, { withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []));
const open = (): string[] => readdirSync(join(at.path, '.uploads', 'open'));

describe('parts that come by themselves', () => {
  const PART = 10;
  const CONTENT = Buffer.from(`${OTHERS}the end of it`);
  const FILE = fileOf(CONTENT);
  const part = (n: number, file = FILE): StockPart =>
    partOf(file, n, CONTENT.subarray((n - 1) * PART, Math.min(n * PART, CONTENT.length)));
  let recorded: string[];
  const uploadsOf = (limits: object): StockUploads =>
    new StockUploads({
      folder: at.path,
      record: async ({ uploadId }) => void recorded.push(uploadId),
      clock: new VirtualClock(),
      log: { info: () => undefined, warn: () => undefined },
      limits: { partBytes: PART, ...limits },
    });
  /** Each is a gateway of its own: nothing but the folder is between them. */
  const gateway = (limits: object = {}): StockParts => new StockParts(uploadsOf(limits));
  beforeEach(() => {
    recorded = [];
  });

  it('in any order, twice and at two gateways become one whole file, with the last of them', async () => {
    const gateways = [gateway(), gateway()];
    for (const [at, n] of [4, 1, 1, 5, 3].entries()) await gateways[at % 2]?.take(part(n), ERP);
    expect([seen(), recorded]).toEqual([[], []]);
    await gateways[1]?.take(part(2), ERP);
    expect(seen().map((name) => readFileSync(join(at.path, name)))).toEqual([CONTENT]);
    expect(open()).toEqual([]);
  });

  it('that come again behind the end change nothing', async () => {
    const parts = gateway();
    for (const n of [1, 2, 3, 4, 5, 5, 1]) await parts.take(part(n), ERP);
    expect([recorded.length, seen().length, open()]).toEqual([1, 1, []]);
  });

  it('of whole files, many at once, are no more than one open', async () => {
    const uploads = uploadsOf({});
    const opened: number[] = [];
    const put: StockUploads['put'] = (...given) => {
      opened.push(open().length);
      return uploads.put(...given);
    };
    const parts = new StockParts(Object.assign(Object.create(uploads) as StockUploads, { put }));
    const files = Array.from({ length: 20 }, (_, n) => Buffer.from(`item ${n}`));
    await Promise.all(files.map((bytes, n) => parts.take(partOf(fileOf(bytes, `stock-${n}.csv`), 1, bytes), ERP)));
    expect([opened, seen().length]).toEqual([files.map(() => 1), 20]);
  });

  it('past the uploads that may be open are refused, and taken when one is finished', async () => {
    const parts = gateway({ mostOpen: 1 });
    await parts.take(part(1), ERP);
    const other = fileOf(CONTENT, 'other.csv');
    await expect(parts.take(part(1, other), ERP)).rejects.toMatchObject({ code: 'backlog_full' });
    for (const n of [2, 3, 4, 5]) await parts.take(part(n), ERP);
    await parts.take(part(1, other), ERP);
    expect(open()).toHaveLength(1);
  });

  it.each([
    ['of another length', { n: 2, bytes: Buffer.from('short'), sha256: sha256Hex('short') }, '/content'],
    ['of another digest', { n: 2, sha256: 'ab'.repeat(32) }, '/sha256'],
    ['that there is not', { n: 6 }, '/part'],
    ['of a file that is too long', { file: { ...FILE, bytes: 5 * 1024 ** 3 } }, '/file/bytes'],
  ])('one %s is refused with its place, and nothing of it is kept', async (_, over, field) => {
    const parts = gateway();
    await parts.take(part(1), ERP);
    const refused = parts.take({ ...part(2), ...over }, ERP);
    await expect(refused).rejects.toMatchObject({ place: { field } });
    await expect(refused).rejects.toThrow(`${field}: part `);
    expect(readdirSync(join(at.path, '.uploads', 'open', open()[0] as string)).sort()).toEqual([
      '1.part',
      'upload.json',
    ]);
  });

  it('of other content than was said are removed when all are there, and the file can be given again', async () => {
    const parts = gateway();
    for (const n of [1, 3, 4, 5]) await parts.take(part(n), ERP);
    const wrong = parts.take(partOf(FILE, 2, Buffer.from('0123456789')), ERP);
    await expect(wrong).rejects.toMatchObject({ code: 'upload_conflict', place: { field: '/file/sha256' } });
    expect([seen(), open(), recorded]).toEqual([[], [], []]);
    for (const n of [1, 2, 3, 4, 5]) await parts.take(part(n), ERP);
    expect(seen()).toHaveLength(1);
  });

  it('of which the disk has changed one want that one again, and no other', async () => {
    const parts = gateway();
    for (const n of [1, 2, 3, 4]) await parts.take(part(n), ERP);
    const file = join(at.path, '.uploads', 'open', open()[0] as string, '4.part');
    const kept = readFileSync(file);
    kept[35] = (kept[35] as number) ^ 1;
    writeFileSync(file, kept);
    await expect(parts.take(part(5), ERP)).rejects.toThrow('part 4 has changed on the disk');
    await parts.take(part(4), ERP);
    expect(seen()).toHaveLength(1);
  });

  it('are not taken while the folder is away', async () => {
    rmSync(at.path, { recursive: true });
    await expect(gateway().take(part(1), ERP)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

const broker = await testBroker();
afterAll(() => broker?.stop());

interface Way {
  config: Partial<GatewayConfig>;
  busOf(harness: TestHarness): MessageBus;
  who: object;
  after(): Promise<void>;
}

const embedded = (): Way => ({
  config: {},
  busOf: ({ db }) => new PostgresBus({ pool: db.pool }),
  who: { kind: 'system', authenticatedBy: 'database' },
  after: async () => undefined,
});

function rabbit(): Way {
  const [amqpUrl, prefix] = [broker?.url ?? '', ownPrefix()];
  return {
    config: { bus: { amqpUrl, prefix, deliveryLimit: 10 } },
    busOf: () => new RabbitMqBus({ url: amqpUrl, prefix, deliveryLimit: 10 }),
    who: { kind: 'system', name: new URL(amqpUrl).username, authenticatedBy: 'amqp user_id' },
    after: () => deleteTopology(amqpUrl, prefix),
  };
}

const WAYS: [string, () => Way][] = [
  ['the embedded bus', embedded],
  ...(broker === undefined ? [] : [['RabbitMQ', rabbit] as [string, () => Way]]),
];

const toldIn = async (store: PostgresEventStore): Promise<RecordedEvent[]> =>
  (await store.readAll(0n, { filter: { types: ['StockUploaded', 'CommandRefused'] } })).events;

describe.each(WAYS)('a stock file over %s', (_, wayOf) => {
  it('comes in parts out of order and twice, is seen in the log, and a bad part is a dead letter', async () => {
    const way = wayOf();
    const harness = await TestHarness.start(await testDatabase(TestHarness.schemas), {
      ...way.config,
      stockFolder: at.path,
    });
    const bus = way.busOf(harness);
    const store = new PostgresEventStore({ pool: harness.db.pool });
    try {
      const content = Buffer.alloc(PART_BYTES + OTHERS.length, OTHERS);
      const file = { name: 'stock.csv', bytes: content.length, sha256: sha256Hex(content) };
      const message = (n: number, over: object = {}) => {
        const bytes = content.subarray((n - 1) * PART_BYTES, n * PART_BYTES);
        const part = { type: 'stock_part', file, part: n, sha256: sha256Hex(bytes), content: bytes.toString('base64') };
        return { messageId: `${n}-${JSON.stringify(over)}`, body: Buffer.from(JSON.stringify({ ...part, ...over })) };
      };
      await bus.publishCommands([message(2), message(2), message(1, { sha256: 'ab'.repeat(32) })]);
      await until('the dead letter', async () => (await bus.state()).deadLetters === 1);
      expect(seen()).toEqual([]);
      await bus.publishCommands([message(1), message(1)]);
      await until('the file', () => seen().length === 1);
      await until('an empty queue', async () => (await bus.state()).commandsWaiting === 0);
      // The file is there before the log says so, and a part that is in hand does not wait in the queue.
      await until('its event', async () => (await toldIn(store)).some(({ type }) => type === 'StockUploaded'));
      expect(readFileSync(join(at.path, seen()[0] as string)).equals(content)).toBe(true);
      expect(await bus.deadLetters({ limit: 10 })).toMatchObject([{ code: 'invalid_parameter' }]);
      expect(await toldIn(store)).toMatchObject([
        { type: 'CommandRefused', data: { code: 'invalid_parameter', place: { field: '/sha256' } } },
        {
          type: 'StockUploaded',
          data: { name: 'stock.csv', fileSha256: file.sha256, byteLength: content.length },
          metadata: { actor: way.who },
        },
      ]);
    } finally {
      await store.close();
      await bus.close();
      await harness.stop();
      await way.after();
    }
  }, 120_000);
});
