import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { Pool as HttpPool } from 'undici';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { participant, readWorld, type World } from '../../apps/cli/src/sample/world.js';
import { RabbitMqBus } from '#bus';
import { openEventStore } from '#event-store';
import { openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { ratePerSecond, rawAppendsPerSecond } from './ceilings.js';
import { gatewayProcess } from './gateway-process.js';
import { namedLog } from './named-log.js';
import { thisMachine, type BenchReport } from './report.js';

/** Requests under way at once over HTTP, each on a connection of its own. */
const CONNECTIONS = 64;
/** Commands that are made before the clock starts, per second of a phase. */
const PREPARED_PER_SECOND = 8_000;
const BATCH_LINES = 1_000;
const LOCAL_BROKER = 'amqp://guest:guest@127.0.0.1:5672';
const PUBLISHED_TOGETHER = 500;
/** A queue of so many commands is drained by the gateway, per second of a phase. */
const QUEUED_PER_SECOND = 4_000;
const DRAIN_MOST_MS = 5 * 60_000;

/**
 * Commands acknowledged per second: single requests and NDJSON over HTTP, and a queue of RabbitMQ that is drained; next
 * to raw appends and raw publish-and-confirm on the same machine in the same run. Without a broker the figures of
 * RabbitMQ are missing, and that is said.
 */
export async function intake(options: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const seconds = options.quick ? 4 : 20;
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({ connectionString: postgres.url, maxConnections: 8, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    const log = await namedLog();
    const services = { DATABASE_URL: postgres.url, ...log };
    const gateway = await gatewayProcess(folder, services);
    stops.push(() => gateway.stop());
    const world = readWorld(sandboxFile('data/world.json'));
    await overHttp(gateway.url, smallCommands(world, 'warm', 2_000), 60);
    const http = await overHttp(gateway.url, smallCommands(world, 'http', seconds * PREPARED_PER_SECOND), seconds);
    const ndjson = await overNdjson(gateway.url, smallCommands(world, 'lines', seconds * PREPARED_PER_SECOND), seconds);
    await gateway.stop();
    const amqp = await overAmqp({
      folder,
      pool,
      services,
      commands: smallCommands(world, 'amqp', seconds * QUEUED_PER_SECOND),
    });
    const store = await openEventStore({ pool, eventStoreUrl: log.EVENTSTORE_URL });
    stops.push(() => store.close());
    const appends = await rawAppendsPerSecond(store, Math.min(seconds, 5));
    return reportOf({ http, ndjson, appends, ...amqp });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

interface Rates {
  http: number;
  ndjson: number;
  appends: number;
  amqp?: number;
  publishes?: number;
}

function reportOf({ http, ndjson, appends, amqp, publishes }: Rates): BenchReport {
  const round = (value: number, digits = 1) => Number(value.toFixed(digits));
  const ratios = { http_to_raw_appends: round(http / appends, 3), ndjson_to_raw_appends: round(ndjson / appends, 3) };
  const bus = amqp !== undefined && publishes !== undefined ? { amqp, publishes } : undefined;
  return {
    bench: 'intake',
    figures: {
      http_per_second: round(http),
      ndjson_per_second: round(ndjson),
      ...(bus === undefined ? {} : { amqp_per_second: round(bus.amqp) }),
    },
    ceilings: {
      raw_appends_per_second: round(appends),
      ...(bus === undefined ? {} : { raw_publishes_per_second: round(bus.publishes) }),
    },
    ratios: {
      ...ratios,
      ...(bus === undefined
        ? {}
        : {
            amqp_to_raw_publishes: round(bus.amqp / bus.publishes, 3),
            amqp_to_raw_appends: round(bus.amqp / appends, 3),
          }),
    },
    machine: thisMachine(),
  };
}

/** Commands of one arrival of two packs each. */
function smallCommands(world: World, run: string, count: number): string[] {
  const own = participant(world, 'own');
  const branch = own.branches[0] as string;
  return Array.from({ length: count }, (_, number) => {
    const product = world.products[number % world.products.length] as World['products'][number];
    const supplier = participant(world, product.supplier).branches[0] as string;
    const items = [0, 1]
      .map((n) => `<sgtin>${product.gtin}${String(number * 2 + n).padStart(13, '0')}</sgtin>`)
      .join('');
    const xml =
      `<documents version="1.38"><accept action_id="701"><subject_id>${branch}</subject_id><counterparty_id>` +
      `${supplier}</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date><order_details>` +
      `${items}</order_details></accept></documents>`;
    return JSON.stringify({ command_id: `bench-${run}-${number}`, reference: `Invoice ${number}`, xml });
  });
}

/** One command a request; counts those that were answered 202. */
async function overHttp(url: string, commands: string[], seconds: number): Promise<number> {
  const http = new HttpPool(url, { connections: CONNECTIONS, pipelining: 1 });
  try {
    return await ratePerSecond(seconds, CONNECTIONS, async () => {
      const body = commands.pop();
      if (body === undefined) return 0;
      const answer = await http.request({
        method: 'POST',
        path: '/v1/commands',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 202)
        throw new Error(`a bench command was answered ${answer.statusCode}: ${text.slice(0, 300)}`);
      return 1;
    });
  } finally {
    await http.close();
  }
}

/** Many commands a request; counts the lines that acknowledge one. */
async function overNdjson(url: string, commands: string[], seconds: number): Promise<number> {
  const http = new HttpPool(url, { connections: 4 });
  try {
    return await ratePerSecond(seconds, 4, async () => {
      const lines = commands.splice(0, BATCH_LINES);
      if (lines.length === 0) return 0;
      const answer = await http.request({
        method: 'POST',
        path: '/v1/commands',
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines.join('\n'),
      });
      const results = (await answer.body.text()).trim().split('\n');
      const refused = results.find((line) => line.includes('"error"'));
      if (refused !== undefined || results.length !== lines.length)
        throw new Error(`a bench command was refused: ${refused?.slice(0, 300) ?? `${results.length} results`}`);
      return lines.length;
    });
  } finally {
    await http.close();
  }
}

/**
 * A queue that was filled beforehand, which the gateway drains: what it acknowledged in a second, and how fast the
 * queue was filled with confirms.
 */
async function overAmqp(options: {
  folder: string;
  pool: Pool;
  services: Record<string, string>;
  commands: string[];
}): Promise<{ amqp?: number; publishes?: number }> {
  const { folder, pool, services, commands } = options;
  const url = process.env['AMQP_URL'] ?? LOCAL_BROKER;
  const prefix = `bench-${randomBytes(6).toString('hex')}`;
  const bus = new RabbitMqBus({ url, prefix });
  if (!(await bus.state()).connected) {
    await bus.close();
    process.stderr.write(`no RabbitMQ answers at AMQP_URL or ${new URL(url).host}: its figures are left out\n`);
    return {};
  }
  try {
    const count = commands.length;
    const startedMs = performance.now();
    while (commands.length > 0)
      await bus.publishCommands(
        commands.splice(0, PUBLISHED_TOGETHER).map((body, n) => ({ messageId: `bench-${n}`, body: Buffer.from(body) })),
      );
    const publishes = count / ((performance.now() - startedMs) / 1_000);
    const gateway = await gatewayProcess(folder, { ...services, AMQP_URL: url, AMQP_PREFIX: prefix });
    try {
      return { amqp: await drainedPerSecond(pool, count), publishes };
    } finally {
      await gateway.stop();
    }
  } finally {
    await bus.close();
    await deleteOurs(url, prefix);
  }
}

async function deleteOurs(url: string, prefix: string): Promise<void> {
  const connection = new Connection({ url });
  for (const queue of [`${prefix}.commands`, `${prefix}.commands.dead`]) await connection.queueDelete({ queue });
  for (const exchange of [`${prefix}.commands.dead`, `${prefix}.outcomes`])
    await connection.exchangeDelete({ exchange });
  await connection.close();
}

/** From the first that is acknowledged, so that the start of the gateway does not count, to the last. */
async function drainedPerSecond(pool: Pool, count: number): Promise<number> {
  const acknowledged = async (): Promise<number> =>
    Number(
      (
        await pool.query<{ n: bigint }>(
          `SELECT count(*) AS n FROM command WHERE command_id >= 'bench-amqp-' AND command_id < 'bench-amqp.'`,
        )
      ).rows[0]?.n,
    );
  const limitMs = performance.now() + DRAIN_MOST_MS;
  let first: { n: number; atMs: number } | undefined;
  while (performance.now() < limitMs) {
    const n = await acknowledged();
    const atMs = performance.now();
    if (n > 0) first ??= { n, atMs };
    if (n === count && first !== undefined) return (n - first.n) / ((atMs - first.atMs) / 1_000);
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the queue was not drained in ${DRAIN_MOST_MS / 60_000} minutes`);
}
