import { PostgresEventStore } from '#event-store';
import { openPool } from '#postgres';
import { catchUpProjection } from '#subscriptions';
import { movementProjection } from './movement-projection.js';
import type { Projected } from './movements.js';

/**
 * The process that the bench `movements` measures: it works the movements of the log into their tables, and says what
 * that took.
 */
const SAMPLE_MS = 20;
const [, , connectionString = ''] = process.argv;
const pool = openPool({ connectionString, applicationName: 'pedigree-bench-movements' });
const store = new PostgresEventStore({ pool });
const head = await store.head();
const projection = movementProjection(pool, store);
let [peak, peakOfFirstQuarter] = [0, 0];
const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_MS);
const [begunMs, cpu] = [performance.now(), process.cpuUsage()];
await catchUpProjection({
  projection,
  store,
  pool,
  onBatch: ({ position }) => {
    peak = Math.max(peak, process.memoryUsage.rss());
    if (position * 4n <= head) peakOfFirstQuarter = peak;
  },
});
const { user, system } = process.cpuUsage(cpu);
const seconds = (performance.now() - begunMs) / 1_000;
clearInterval(sampling);
await store.close();
await pool.end();
const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
const told: Projected = {
  seconds,
  cpuSeconds: (user + system) / 1e6,
  peakMb: megabytes(peak),
  peakOfFirstQuarterMb: megabytes(peakOfFirstQuarter),
};
process.stdout.write(`${JSON.stringify(told)}\n`);
