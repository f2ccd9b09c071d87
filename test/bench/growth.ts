import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { readWorld, type World } from '../../apps/cli/src/sample/world.js';
import type { Stack } from '../../apps/cli/src/stack/stack.js';
import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import { readAccounts } from '#registry-client';
import { arrival } from './load.js';
import { commandOf, concluded, withLog, withStack } from './pipeline.js';
import { thisMachine, type BenchReport } from './report.js';

/** Fed first and not counted: the first page of each table and index is there then. */
const WARM_UP = 100;
const POLL_MS = 100;
const REST_WITHIN_MS = 60_000;
/** Below this a table does not grow with the documents: what is seen is a page or two. */
const LEAST_BYTES = 20;

/**
 * Bytes that one document leaves in each table, indexes and out-of-line values included, from its command to its
 * outcome on the bus. A log on a server is no table.
 */
export async function growth({ quick }: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const documents = quick ? 500 : 5_000;
  try {
    const world = readWorld(sandboxFile('data/world.json'));
    return await withStack(
      {
        folder,
        name: 'growth',
        flags: ['--limits', 'off'],
        intervalMs: 0,
        eventStoreUrl: process.env['EVENTSTORE_URL'],
      },
      async (stack, config) => {
        const accounts = readAccounts(config.accountsFile).map((account) => account.name);
        const fed = async (from: number, to: number): Promise<void> => {
          await feed(stack, { world, accounts, from, to });
          await withLog(stack, config, (log) => atRest(stack.pool, log));
        };
        await fed(0, WARM_UP);
        const before = await sizesOf(stack.pool);
        await fed(WARM_UP, WARM_UP + documents);
        return reportOf(before, await sizesOf(stack.pool), documents);
      },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function reportOf(before: Map<string, number>, after: Map<string, number>, documents: number): BenchReport {
  const grown = [...after].map(([table, bytes]): [string, number] => [
    table,
    (bytes - (before.get(table) ?? 0)) / documents,
  ]);
  const counted = grown.filter(([, bytes]) => bytes >= LEAST_BYTES).sort(([, a], [, b]) => b - a);
  const total = grown.reduce((sum, [, bytes]) => sum + bytes, 0);
  return {
    bench: 'growth',
    figures: {
      documents,
      bytes_per_document: Math.round(total),
      ...Object.fromEntries(counted.map(([table, bytes]) => [`${table}_bytes_per_document`, Math.round(bytes)])),
    },
    ceilings: {},
    ratios: {},
    machine: thisMachine(),
  };
}

async function feed(
  stack: Stack,
  { world, accounts, from, to }: { world: World; accounts: string[]; from: number; to: number },
): Promise<void> {
  const gateway = new GatewayClient(stack.gateway.url);
  const commands = function* () {
    for (let n = from; n < to; n += 1)
      yield commandOf(arrival(world, n, 'BENCH'), accounts[n % accounts.length] as string);
  };
  for await (const result of gateway.send(commands())) {
    if ('error' in result) throw new Error(`a bench command was refused: ${result.error.detail}`);
  }
  await concluded(gateway, to);
}

/** Until every subscription and the bus have all that the log says. */
async function atRest(pool: Pool, log: EventStore): Promise<void> {
  const limitMs = performance.now() + REST_WITHIN_MS;
  while (performance.now() < limitMs) {
    const { rows } = await pool.query<{ rest: boolean }>(
      'SELECT (SELECT min(position) FROM checkpoint) >= $1 AND (SELECT min(position) FROM outcome_delivery) >= ' +
        '(SELECT max(position) FROM outcome_event) AS rest',
      [await log.head()],
    );
    if (rows[0]?.rest === true) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`the subscriptions did not come to the end of the log in ${REST_WITHIN_MS} ms`);
}

/** Bytes of each table with all that belongs to it; the parts of a partitioned one together. */
async function sizesOf(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `SELECT coalesce(parent.relname, c.relname) AS name, sum(pg_total_relation_size(c.oid))::float8 AS bytes
     FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 1`,
  );
  return new Map(rows.map((row) => [row.name, row.bytes]));
}
