import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import type { Sha256 } from '#kernel';
import { REFUSED_ITEMS } from '../snapshots/manifest.js';
import type { RunRecord } from './run-record.js';

/** Takes 100,000 items, and more are never refused. */
const MEMORY_MB = 64;

const fileIn = (folder: string): string | undefined => {
  const file = join(folder, REFUSED_ITEMS);
  return existsSync(file) ? file : undefined;
};

/** Over the items of the refused rows of a stock snapshot, sorted, a line each; undefined where there are none. */
export async function refusedDigest(folder: string): Promise<Sha256 | undefined> {
  const file = fileIn(folder);
  if (file === undefined) return undefined;
  const duck = await Duck.open({ memoryMb: MEMORY_MB, threads: 1, temporary: tmpdir() });
  try {
    const [found] = await duck.rows<{ digest: Sha256 }>(
      `SELECT sha256(string_agg(item || chr(10), '' ORDER BY item)) AS digest FROM ${parquet([file])}`,
    );
    return found?.digest;
  } finally {
    await duck.close();
  }
}

/** Makes the table `refused_in (item)` of the items that refused rows of the stock name, and no other row of it. */
export async function loadRefused(duck: Duck, { stock }: RunRecord['legs']): Promise<void> {
  await duck.run('CREATE TABLE refused_in (item VARCHAR)');
  const file = stock && fileIn(stock.folder);
  if (stock === undefined || file === undefined) return;
  await duck.run(`INSERT INTO refused_in SELECT item FROM ${parquet([file])}
    ANTI JOIN ${parquet(stock.files)} s USING (item)`);
}
