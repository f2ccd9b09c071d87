import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditorSchemas } from '../../apps/auditor/src/auditor.js';
import { migrate, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { proofs } from './audit/proofs.js';
import { sealing } from './audit/sealing.js';
import { thisMachine, type BenchReport } from './report.js';

const WHOLE = {
  sealing: { events: 200_000, rounds: 5 },
  proofs: { leaves: 10_000_000, documents: 1_000, calls: 1_000 },
};
const QUICK = { sealing: { events: 30_000, rounds: 3 }, proofs: { leaves: 300_000, documents: 200, calls: 200 } };

/**
 * What the auditor does, each part by itself: leaves sealed from a filled log.
 */
export async function audit({ quick }: { quick: boolean }): Promise<BenchReport> {
  const sizes = quick ? QUICK : WHOLE;
  const sealed = await onDatabase((pool, folder) => sealing(pool, folder, sizes.sealing));
  const proven = await onDatabase((pool) => proofs(pool, sizes.proofs));
  process.stdout.write(`${JSON.stringify(proven)}\n`);
  return {
    bench: 'audit',
    figures: { leaves_per_second: Math.round(sealed.own.perSecond), own_cpu_us_per_leaf: Math.round(sealed.own.cpuUs) },
    ceilings: { bare_leaves_per_second: Math.round(sealed.bare?.perSecond ?? 0) },
    ratios: { of_bare_leaves: sealed.ofBare ?? 0 },
    machine: thisMachine(),
  };
}

/** Each part has a database of its own, and leaves nothing behind. */
async function onDatabase<T>(work: (pool: Pool, folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({ connectionString: postgres.url, maxConnections: 4, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    await migrate(pool, auditorSchemas);
    return await work(pool, folder);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
