import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, parquet, quoted, type DuckOptions } from '#duckdb';
import { readStates } from '#segments';
import { isExpected } from '../comparison/statuses.js';
import { bucketFiles, BUCKETS, readSnapshot, REFUSED_ITEMS } from '../snapshots/manifest.js';

/** Which packs a comparison speaks of. */
export interface ItemsOf {
  /** Folder of a stock snapshot. */
  stock?: string | undefined;
  /** Folder of a snapshot of disposals. */
  disposals?: string | undefined;
  /** Folder with states of packs. */
  record?: string | undefined;
  /**
   * Of the record those packs alone that are expected at the places of the stock, and those in its containers: a list
   * of all packs at the registry tells that the others are not ours there.
   */
  expectedOnly?: true | undefined;
  /** File of packs that lie in containers of the stock, as `item` in NDJSON. */
  inside?: string | undefined;
  /** A registry snapshot whose packs are meant, too, as far as they were found, and those of its refused rows. */
  known?: string | undefined;
  /** Registry snapshots whose items are left out: they are answered. Those of their refused rows are meant. */
  except?: readonly string[] | undefined;
}

/** Items that this process holds at a time; what else a bucket has waits in DuckDB. */
const AT_ONCE = 5_000;

/**
 * Packs of stock and record, some thousand at a time, in buckets and sorted, so that the same folders give the same
 * order. Containers are not among them.
 */
export async function* itemsOf(
  { stock, disposals, record, expectedOnly, inside, known, except = [] }: ItemsOf,
  options: DuckOptions,
): AsyncGenerator<string[]> {
  const isMeant = await isMeantOf({ stock, expectedOnly });
  const files = {
    stock: stock === undefined ? [] : (await readSnapshot(stock, 'stock'), bucketFiles(stock)),
    disposals: disposals === undefined ? [] : (await readSnapshot(disposals, 'disposals'), bucketFiles(disposals)),
    record: record === undefined ? [] : (await readStates(record)).buckets.map(({ file }) => join(record, file)),
    known: known === undefined ? [] : (await readSnapshot(known, 'registry'), bucketFiles(known)),
    except: await Promise.all(except.map(async (one) => (await readSnapshot(one, 'registry'), bucketFiles(one)))),
    others: await othersOf({ inside, known, except }),
  };
  const duck = await Duck.open(options);
  try {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const from = [files.stock[bucket], files.disposals[bucket], files.record[bucket]].flatMap((file, side) =>
        file === undefined
          ? []
          : [`SELECT item FROM ${parquet([file])} WHERE length(item) = 27 AND (${side === 2 ? isMeant : 'true'})`],
      );
      const found = files.known[bucket];
      if (found !== undefined)
        from.push(`SELECT item FROM ${parquet([found])} WHERE answer = 'found' AND length(item) = 27`);
      for (const other of files.others)
        from.push(`SELECT item FROM ${other}
          WHERE length(item) = 27 AND substr(md5(item), 1, 1) = '${bucket.toString(16)}'`);
      if (from.length === 0) return;
      const answered = files.except.map((one) => one[bucket] as string);
      const left = answered.length === 0 ? '' : `EXCEPT SELECT item FROM ${parquet(answered)}`;
      await duck.run(`CREATE OR REPLACE TABLE chosen AS SELECT item, row_number() OVER (ORDER BY item) AS n
        FROM ((${from.join(' UNION ')}) ${left})`);
      yield* pagesOf(duck);
    }
  } finally {
    await duck.close();
  }
}

/** Tables of items that stand in no buckets. */
async function othersOf({ inside, known, except = [] }: Pick<ItemsOf, 'inside' | 'known' | 'except'>) {
  const refused = (await Promise.all([known, ...except].map((one) => refusedItemsIn(one)))).flat();
  return [
    ...(refused.length === 0 ? [] : [parquet(refused)]),
    ...(inside === undefined
      ? []
      : [`read_json(${quoted(inside)}, format = 'newline_delimited', columns = {item: 'VARCHAR'})`]),
  ];
}

/** Files with the items of refused rows of a registry snapshot, and of the exports that it is made of. */
const refusedItemsIn = async (folder: string | undefined): Promise<string[]> =>
  folder === undefined
    ? []
    : (await readdir(folder)).filter((name) => name.endsWith(REFUSED_ITEMS)).map((name) => join(folder, name));

/** Whether a pack of the record is meant: one that is expected at the places of the stock, or in a container of it. */
async function isMeantOf({ stock, expectedOnly }: Pick<ItemsOf, 'stock' | 'expectedOnly'>): Promise<string> {
  if (expectedOnly !== true) return 'true';
  if (stock === undefined) return isExpected(null);
  const { places, containers } = await readSnapshot(stock, 'stock');
  if (containers === 0) return isExpected(places);
  return `(${isExpected(places)})
    OR container IN (SELECT item FROM ${parquet(bucketFiles(stock))} WHERE length(item) = 18)`;
}

/** How many packs of the record are expected at the places of the stock. */
export async function countExpected(
  { stock, record }: { stock: string | undefined; record: string },
  options: DuckOptions,
): Promise<number> {
  const places = stock === undefined ? null : (await readSnapshot(stock, 'stock')).places;
  const files = (await readStates(record)).buckets.map(({ file }) => join(record, file));
  const duck = await Duck.open(options);
  try {
    const [counted] = await duck.rows<{ packs: bigint }>(
      `SELECT count(*) AS packs FROM ${parquet(files)} WHERE ${isExpected(places)}`,
    );
    return Number(counted?.packs);
  } finally {
    await duck.close();
  }
}

/** The items of the table `chosen`. */
async function* pagesOf(duck: Duck): AsyncGenerator<string[]> {
  for (let behind = 0; ; behind += AT_ONCE) {
    const rows = await duck.rows<{ item: string }>(
      `SELECT item FROM chosen WHERE n > ${behind} AND n <= ${behind + AT_ONCE} ORDER BY n`,
    );
    if (rows.length > 0) yield rows.map(({ item }) => item);
    if (rows.length < AT_ONCE) return;
  }
}

/** Which containers of the stock the registry is asked about. */
export interface ContainersOf {
  /** Folder of a stock snapshot. */
  stock: string;
  /** Where their rows have to be; null: anywhere. */
  places: readonly string[] | null;
  most: number;
  /** The last one that an earlier run asked about: those behind it come first, and then those before it. */
  behind?: string | undefined;
  /** A registry snapshot whose items are left out: they are answered. */
  except?: string | undefined;
}

/** The containers that the stock names, at most so many, in the order of {@link itemsOf}, from `behind` on. */
export async function* containersOf(
  { stock, places, most, behind, except }: ContainersOf,
  options: DuckOptions,
): AsyncGenerator<string[]> {
  await readSnapshot(stock, 'stock');
  const answered = except === undefined ? undefined : (await readSnapshot(except, 'registry'), bucketFiles(except));
  const there = places === null ? '' : `AND list_contains([${places.map(quoted).join(', ')}], place)`;
  const duck = await Duck.open(options);
  try {
    let left = most;
    for (const { bucket, range } of roundOf(behind)) {
      if (left === 0) return;
      const rows = await duck.rows<{ item: string }>(
        `SELECT item FROM ${parquet([bucketFiles(stock)[bucket] as string])} WHERE length(item) = 18 ${there} ${range}
         ${answered === undefined ? '' : `EXCEPT SELECT item FROM ${parquet([answered[bucket] as string])}`}
         ORDER BY item LIMIT ${left}`,
      );
      left -= rows.length;
      yield rows.map(({ item }) => item);
    }
  } finally {
    await duck.close();
  }
}

/** All buckets once. Behind an item: the rest of its bucket first, and what stands before it there last. */
function roundOf(behind: string | undefined): { bucket: number; range: string }[] {
  const all = Array.from({ length: BUCKETS }, (_, bucket) => ({ bucket, range: '' }));
  if (behind === undefined) return all;
  const bucket = parseInt(createHash('md5').update(behind).digest('hex').slice(0, 1), 16);
  return [
    { bucket, range: `AND item > ${quoted(behind)}` },
    ...[...all.slice(bucket + 1), ...all.slice(0, bucket)],
    { bucket, range: `AND item <= ${quoted(behind)}` },
  ];
}

/** The last of these containers; undefined: there is none. */
export async function lastContainerOf(of: ContainersOf, options: DuckOptions): Promise<string | undefined> {
  let last: string | undefined;
  for await (const items of containersOf(of, options)) last = items.at(-1) ?? last;
  return last;
}
