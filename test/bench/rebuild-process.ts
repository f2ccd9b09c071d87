import { documentReading } from '#documents';
import { openEventStore, SOFTWARE_VERSION } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { openPool } from '#postgres';
import { projections, schemaOfModel } from '#read-models';
import { rebuildBeside } from '#subscriptions';
import type { Rebuilt } from './rebuild.js';

/**
 * The process that the bench `rebuild` measures: it rebuilds all read models of the database that it is given, beside
 * their live tables, whose log lies there or on the server that is given too, and says what that took.
 */
const [, , connectionString = '', eventStoreUrl] = process.argv;
const pool = openPool({ connectionString, applicationName: 'pedigree-bench-rebuild' });
const store = await openEventStore({ pool, eventStoreUrl });
const evidence = new PostgresEvidenceStore({ pool });
const begunMs = performance.now();
let [lastMs, transactions, longestTransactionMs] = [begunMs, 0, 0];
/** From one commit to the next: a little more than the transaction itself. */
const onBatch = (): void => {
  const nowMs = performance.now();
  longestTransactionMs = Math.max(longestTransactionMs, Math.round(nowMs - lastMs));
  lastMs = nowMs;
  transactions += 1;
};
for (const projection of projections({ evidence, documents: documentReading(), store }))
  await rebuildBeside({
    projection,
    schema: schemaOfModel(projection.name),
    store,
    pool,
    poolIn: (settings) => openPool({ connectionString, ...settings, applicationName: 'pedigree-bench-rebuild' }),
    softwareVersion: SOFTWARE_VERSION,
    onBatch,
  });
await store.close();
await pool.end();
const told: Rebuilt = {
  seconds: Number(((performance.now() - begunMs) / 1_000).toFixed(1)),
  rssMaxMb: Math.round(process.resourceUsage().maxRSS / 1_024),
  transactions,
  longestTransactionMs,
};
process.stdout.write(`${JSON.stringify(told)}\n`);
