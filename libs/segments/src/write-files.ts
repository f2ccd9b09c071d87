import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parquet, quoted, rowsDigest, type Duck } from '#duckdb';
import { inTransaction, type Pool } from '#postgres';
import type { Sha256 } from '#kernel';
import { copyOut } from './copy-out.js';
import {
  CLOSINGS,
  DOCUMENTS,
  EFFECTS,
  FILES,
  GROUP_ROWS,
  IS_PACK,
  ITEM_CHECK,
  ITEM_ID,
  ITEMS,
  type Part,
} from './rows.js';

/** Positions after `from`, up to and with `to`. */
export interface Range {
  from: bigint;
  to: bigint;
}

export interface Written {
  packRows: number;
  containerRows: number;
  rowsSha256: Sha256;
}

/**
 * Writes the Parquet files of ranges that follow one another into a folder, from the tables of movements. One statement
 * a range and table, each of them a transaction of its own: what a closed range holds does not change any more, and all
 * that no segment has yet is more than one transaction may last.
 * @param earlier files with the items of all earlier segments.
 */
export async function writeFiles(
  { pool, duck }: { pool: Pool; duck: Duck },
  ranges: readonly Range[],
  { folder, earlier }: { folder: string; earlier: readonly string[] },
): Promise<Written> {
  for (const [part, file, order] of PLAIN) {
    await load({ pool, duck }, { part, table: 'plain' }, { ranges, folder });
    await write(duck, `SELECT * FROM plain ORDER BY ${order}`, { file: join(folder, file) });
    await duck.run('DROP TABLE plain');
  }
  await load({ pool, duck }, { part: ITEMS, table: 'item_text' }, { ranges, folder });
  await duck.run(
    `CREATE TABLE item AS SELECT ${ITEM_ID} AS id, ${ITEM_CHECK} AS "check", item, known_from, ordinal, effect,
        ${IS_PACK} AS is_pack, file_row_number::INTEGER AS "row"
      FROM item_text JOIN ${parquet([join(folder, FILES.effects)])} USING (known_from, effect)`,
  );
  await write(duck, 'SELECT * EXCLUDE (is_pack) FROM item WHERE is_pack ORDER BY id >> 56, item, known_from, ordinal', {
    file: join(folder, FILES.packs),
    groupRows: GROUP_ROWS,
  });
  await writeItems(duck, { folder, earlier });
  await write(
    duck,
    'SELECT item, known_from, ordinal, effect FROM item WHERE NOT is_pack ORDER BY item, known_from, ordinal',
    { file: join(folder, FILES.containers) },
  );
  const [counted] = await duck.rows<{ packs: bigint; others: bigint }>(
    'SELECT count(*) FILTER (is_pack) AS packs, count(*) FILTER (NOT is_pack) AS others FROM item',
  );
  await duck.run('DROP TABLE item; DROP TABLE item_text');
  const rowsSha256 = await rowsDigest(duck, {
    file: join(folder, FILES.packs),
    columns: ['item', 'known_from', 'ordinal', 'effect'],
  });
  return { packRows: Number(counted?.packs), containerRows: Number(counted?.others), rowsSha256 };
}

/** Packs that no earlier segment names: the few ids of this range are held, and the many of earlier ones read by. */
async function writeItems(
  duck: Duck,
  { folder, earlier }: { folder: string; earlier: readonly string[] },
): Promise<void> {
  await duck.run(`
    CREATE TABLE pack_item AS SELECT DISTINCT id, "check", item FROM item WHERE is_pack;
    CREATE TABLE known_item AS ${
      earlier.length === 0
        ? 'SELECT id, "check" FROM pack_item WHERE false'
        : `SELECT id, "check" FROM ${parquet(earlier)} SEMI JOIN pack_item USING (id, "check")`
    }`);
  await write(duck, 'SELECT * FROM pack_item ANTI JOIN known_item USING (id, "check") ORDER BY id', {
    file: join(folder, FILES.items),
    groupRows: GROUP_ROWS,
  });
  await duck.run('DROP TABLE pack_item; DROP TABLE known_item');
}

const PLAIN: [Part, string, string][] = [
  [DOCUMENTS, FILES.documents, 'known_from'],
  [EFFECTS, FILES.effects, 'known_from, effect'],
  [CLOSINGS, FILES.closings, 'known_to, known_from'],
];

async function load(
  { pool, duck }: { pool: Pool; duck: Duck },
  { part, table }: { part: Part; table: string },
  { ranges, folder }: { ranges: readonly Range[]; folder: string },
): Promise<void> {
  const text = join(folder, `${table}.csv`);
  for (const { from, to } of ranges)
    await inTransaction(pool, (tx) => copyOut(tx, part.select(from, to), text), { name: 'rows of a segment' });
  const columns = Object.entries(part.columns).map(([name, type]) => `${quoted(name)}: ${quoted(type)}`);
  // An empty text is quoted where it is no NULL.
  await duck.run(
    `CREATE TABLE ${table} AS SELECT * FROM read_csv(${quoted(text)}, header = false, auto_detect = false, delim = ',',
      quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, max_line_size = 4000000,
      columns = {${columns.join(', ')}})`,
  );
  await rm(text);
}

const write = (duck: Duck, select: string, { file, groupRows = 122_880 }: { file: string; groupRows?: number }) =>
  duck.run(`COPY (${select}) TO ${quoted(file)} (FORMAT parquet, ROW_GROUP_SIZE ${groupRows})`);
