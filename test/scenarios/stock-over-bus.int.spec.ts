import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PostgresBus, RabbitMqBus, type MessageBus } from '#bus';
import { PostgresEventStore } from '#event-store';
import { checkDigitOf, sha256Hex } from '#kernel';
import { importSnapshot, mappingOf } from '#reconciliation';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';
import { seededRandom } from '../../apps/cli/src/sample/random.js';
import { PART_BYTES } from '../../apps/gateway/src/api/body-limits.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { deleteTopology, ownPrefix, testBroker } from '../support/rabbitmq.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { buildPrograms } from './built-programs.js';

/** Repeat a run with CRASH_SEED: the order of the parts and the moments of the kills follow from it. */
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_125);
const LIMIT_MS = 60_000;
const MOMENT = '2026-11-25T05:00:00Z';
const ROWS = 400_000;
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
/** Three parts and a rest. */
const CONTENT = Buffer.from(
  ['item', ...Array.from({ length: ROWS }, (_, n) => `${GTIN}${String(n).padStart(13, '0')}`), ''].join('\n'),
);
const PARTS = Math.ceil(CONTENT.length / PART_BYTES);
const FILE = { name: 'stock.csv', bytes: CONTENT.length, sha256: sha256Hex(CONTENT) };

const message = (n: number) => {
  const bytes = CONTENT.subarray((n - 1) * PART_BYTES, n * PART_BYTES);
  const part = { type: 'stock_part', file: FILE, part: n, sha256: sha256Hex(bytes), content: bytes.toString('base64') };
  return { messageId: `part-${n}`, body: Buffer.from(JSON.stringify(part)) };
};

const broker = await testBroker();
let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
let gateway: ChildProcess | undefined;
beforeAll(async () => {
  process.stderr.write(`stock over the bus: seed ${SEED}, ${PARTS} parts\n`);
  await buildPrograms();
}, 300_000);
afterAll(() => broker?.stop());
beforeEach(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  store = new PostgresEventStore({ pool: db.pool });
  mkdirSync(join(folder.path, 'stock'));
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32), { mode: 0o600 });
});
afterEach(async () => {
  await kill();
  await store.close();
  await db.drop();
  await folder.remove();
});

async function start(variables: Record<string, string>): Promise<void> {
  gateway = spawn(process.execPath, [fileURLToPath(builtFile('apps/gateway/src/main.js'))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...{ PATH: process.env['PATH'], DATABASE_URL: db.url, PORT: '0', LOG_LEVEL: 'silent', ...variables },
      RECONCILE_STOCK_FOLDER: join(folder.path, 'stock'),
      PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
      PEDIGREE_KEY_FILE: join(folder.path, 'key'),
    },
  });
  if (gateway.stdout === null) throw new Error('it says nothing');
  const [line] = (await once(createInterface({ input: gateway.stdout }), 'line')) as [string];
  const { healthUrl } = JSON.parse(line) as { healthUrl: string };
  await until('it is ready', async () => (await fetch(`${healthUrl}/health/ready`)).ok, LIMIT_MS);
}

async function kill(): Promise<void> {
  if (gateway === undefined || gateway.exitCode !== null || gateway.signalCode !== null) return;
  const ended = once(gateway, 'exit');
  gateway.kill('SIGKILL');
  await ended;
}

const seen = (): string[] =>
  readdirSync(join(folder.path, 'stock'), { withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []));
/** Parts that lie there, whole. */
const kept = (): number => {
  const open = join(folder.path, 'stock', '.uploads', 'open');
  const [upload] = existsSync(open) ? readdirSync(open) : [];
  return upload === undefined ? 0 : readdirSync(join(open, upload)).filter((name) => /^\d+\.part$/.test(name)).length;
};

async function snapshotDigest(path: string): Promise<string> {
  const out = `${path}.snapshot`;
  const { digest } = await importSnapshot({
    ...{ kind: 'stock', path, out, moment: MOMENT, duck: { memoryMb: 200, threads: 1 }, confirmed: true },
    mapping: mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'item' } }, 'stock'),
  });
  return digest;
}

interface Way {
  variables: Record<string, string>;
  bus: MessageBus;
  after(): Promise<void>;
}
const embedded = (): Way => ({
  ...{ variables: {}, bus: new PostgresBus({ pool: db.pool }) },
  after: () => Promise.resolve(),
});
function rabbit(): Way {
  const [url, prefix] = [broker?.url ?? '', ownPrefix()];
  return {
    variables: { AMQP_URL: url, AMQP_PREFIX: prefix },
    bus: new RabbitMqBus({ url, prefix, deliveryLimit: 10 }),
    after: () => deleteTopology(url, prefix),
  };
}
const WAYS: [string, () => Way][] = [
  ['the embedded bus', embedded],
  ...(broker === undefined ? [] : [['RabbitMQ', rabbit] as [string, () => Way]]),
];

describe.each(WAYS)('kill -9 of the gateway during an upload over %s', (_, wayOf) => {
  it('costs no part: the file and its snapshot have the same digests, and the log has it once', async () => {
    const { variables, bus, after } = wayOf();
    const random = seededRandom(SEED);
    const places = new Map(Array.from({ length: PARTS }, (__, n) => [n + 1, random.below(1_000_000)]));
    const rest = [...places].sort(([, a], [, b]) => a - b).map(([n]) => n);
    try {
      await start(variables);
      for (const [at, n] of rest.entries()) {
        await bus.publishCommands([message(n)]);
        // Some parts are taken before the kill, and some are in hand, the last one perhaps while the file is made.
        if (at % 2 === 0) await until(`part ${at + 1}`, () => kept() > at || seen().length > 0, LIMIT_MS);
        await kill();
        await start(variables);
      }
      await until('the file', () => seen().length === 1, LIMIT_MS);
      await until('an empty queue', async () => (await bus.state()).commandsWaiting === 0, LIMIT_MS);
      const path = join(folder.path, 'stock', seen()[0] as string);
      expect([sha256Hex(readFileSync(path)), (await bus.state()).deadLetters]).toEqual([FILE.sha256, 0]);
      const whole = join(folder.path, 'whole.csv');
      writeFileSync(whole, CONTENT);
      expect(await snapshotDigest(path)).toBe(await snapshotDigest(whole));
      const told = async () => (await store.readAll(0n, { filter: { types: ['StockUploaded'] } })).events;
      await until('its event', async () => (await told()).length > 0, LIMIT_MS);
      expect((await told()).map(({ data }) => (data as { fileSha256: string }).fileSha256)).toEqual([FILE.sha256]);
    } finally {
      await bus.close();
      await kill();
      await after();
    }
  }, 300_000);
});
