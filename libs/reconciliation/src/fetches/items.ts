import { join } from 'node:path';
import { Duck, parquet, type DuckOptions } from '#duckdb';
import { readStates } from '#segments';
import { bucketFiles, BUCKETS, readSnapshot } from '../snapshots/manifest.js';

/** Which packs a comparison speaks of. */
export interface ItemsOf {
  /** Folder of a stock snapshot. */
  stock?: string | undefined;
  /** Folder of a snapshot of disposals. */
  disposals?: string | undefined;
  /** Folder with states of packs. */
  record?: string | undefined;
  /** A registry snapshot whose packs are meant, too, as far as they were found. */
  known?: string | undefined;
  /** Registry snapshots whose items are left out: they are answered. */
  except?: readonly string[] | undefined;
}

/**
 * Packs of stock and record, some hundred at a time, in buckets and sorted, so that the same folders give the same
 * order. Containers are not among them.
 */
export async function* itemsOf(
  { stock, disposals, record, known, except = [] }: ItemsOf,
  options: DuckOptions,
): AsyncGenerator<string[]> {
  const files = {
    stock: stock === undefined ? [] : (await readSnapshot(stock, 'stock'), bucketFiles(stock)),
    disposals: disposals === undefined ? [] : (await readSnapshot(disposals, 'disposals'), bucketFiles(disposals)),
    record: record === undefined ? [] : (await readStates(record)).buckets.map(({ file }) => join(record, file)),
    known: known === undefined ? [] : (await readSnapshot(known, 'registry'), bucketFiles(known)),
    except: await Promise.all(except.map(async (one) => (await readSnapshot(one, 'registry'), bucketFiles(one)))),
  };
  const duck = await Duck.open(options);
  try {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const from = [files.stock[bucket], files.disposals[bucket], files.record[bucket]]
        .filter((file) => file !== undefined)
        .map((file) => `SELECT item FROM ${parquet([file])} WHERE length(item) = 27`);
      const found = files.known[bucket];
      if (found !== undefined)
        from.push(`SELECT item FROM ${parquet([found])} WHERE answer = 'found' AND length(item) = 27`);
      if (from.length === 0) return;
      const answered = files.except.map((one) => one[bucket] as string);
      const left = answered.length === 0 ? '' : `EXCEPT SELECT item FROM ${parquet(answered)}`;
      const rows = await duck.rows<{ item: string }>(`(${from.join(' UNION ')}) ${left} ORDER BY item`);
      yield rows.map(({ item }) => item);
    }
  } finally {
    await duck.close();
  }
}
