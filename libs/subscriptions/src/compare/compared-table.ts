import type { Queryable } from '#postgres';
import type { RowRemoval } from '../projection.js';

/** A table of a read model, as its migrations made it. */
export interface ComparedTable {
  name: string;
  columns: string[];
  /** The primary key, with the types of its columns. */
  key: { column: string; type: string }[];
  /** What retention takes from it. */
  removal: RowRemoval | undefined;
}

/** A row by its key: each column as PostgreSQL writes it, and a digest of the whole row. */
export interface RowDigest {
  key: string[];
  digest: string;
  bytes: number;
}

/** Rows of the live table, and where the projection stood when they were read: both from one snapshot. */
export interface LivePage {
  position: bigint;
  /** Up to here retention has removed rows. */
  removed: bigint;
  rows: RowDigest[];
}

/** The tables in a copy's schema: partitions are rows of their table. Throws where one has no primary key. */
export async function comparedTables(
  db: Queryable,
  schema: string,
  { names, removal }: { names: string[]; removal: RowRemoval | undefined },
): Promise<ComparedTable[]> {
  const { rows } = await db.query<{ name: string; columns: string[]; key: string[]; types: string[] }>(
    `SELECT relname AS name,
       ARRAY(SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
         ORDER BY attnum) AS columns,
       ARRAY(SELECT quote_ident(attname) FROM unnest(k.conkey) WITH ORDINALITY AS u (num, n)
         JOIN pg_attribute ON attrelid = c.oid AND attnum = num ORDER BY n) AS key,
       ARRAY(SELECT format_type(atttypid, atttypmod) FROM unnest(k.conkey) WITH ORDINALITY AS u (num, n)
         JOIN pg_attribute ON attrelid = c.oid AND attnum = num ORDER BY n) AS types
     FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
     WHERE c.relnamespace = to_regnamespace($1) AND relname = ANY ($2::text[]) ORDER BY 1`,
    [schema, names],
  );
  const without = names.filter((name) => !rows.some((row) => row.name === name));
  if (without.length > 0) throw new Error(`these tables have no primary key: ${without.join(', ')}`);
  return rows
    .filter(({ name }) => name !== removal?.record.table)
    .map(({ name, columns, key, types }) => ({
      name,
      columns,
      key: key.map((column, i) => ({ column, type: types[i] as string })),
      removal: removal?.table === name ? removal : undefined,
    }));
}

/**
 * Live tables with rows of an older version, from which this version would make others, and why. A migration says so in
 * the table's comment. Tables that a rebuild made have no comment, and nobody but the owner can write one.
 */
export async function tablesOfOlderRows(
  db: Queryable,
  live: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query<{ name: string; why: string }>(
    `SELECT relname AS name, substr(description, 10) AS why
     FROM pg_class JOIN pg_description ON objoid = pg_class.oid AND classoid = 'pg_class'::regclass AND objsubid = 0
     WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2::text[]) AND description LIKE 'rebuild: %'`,
    [live, names],
  );
  return new Map(rows.map(({ name, why }) => [name, why]));
}

const keyOf = ({ key }: ComparedTable): string => key.map(({ column }) => column).join(', ');
/** A row value of the key, with its parts as parameters from `$first` on. */
const valueOf = ({ key }: ComparedTable, first: number): string =>
  `(${key.map(({ type }, i) => `$${first + i}::${type}`).join(', ')})`;
const rowText = ({ columns }: ComparedTable): string => `ROW(${columns.join(', ')})::text`;

/** What a page has of a row. The digest is of the row's text, which is the same for the same values. */
const digested = (table: ComparedTable): string =>
  `ARRAY[${table.key.map(({ column }) => `${column}::text`).join(', ')}] AS key, ` +
  `encode(sha256(convert_to(${rowText(table)}, 'UTF8')), 'hex') AS digest, octet_length(${rowText(table)}) AS bytes`;

/** Where the projection stands, and up to where retention has removed rows. */
function placeIn(live: string, { removal }: ComparedTable): string {
  const removed =
    removal === undefined ? '0' : `(SELECT max(${removal.record.column}) FROM ${live}.${removal.record.table})`;
  return (
    `SELECT coalesce((SELECT position FROM ${live}.checkpoint WHERE name = $1), 0) AS position, ` +
    `coalesce(${removed}, 0)::bigint AS removed`
  );
}

/** The next rows of the live table behind a key. */
export async function livePage(
  db: Queryable,
  table: ComparedTable,
  { live, checkpoint, after, limit }: { live: string; checkpoint: string; after: string[] | undefined; limit: number },
): Promise<LivePage> {
  const behind = after === undefined ? '' : `WHERE (${keyOf(table)}) > ${valueOf(table, 2)}`;
  const { rows } = await db.query<{ position: bigint; removed: bigint } & RowDigest>(
    // One statement: the projection's checkpoint and its rows are of one moment.
    `WITH place AS (${placeIn(live, table)}), page AS (
       SELECT row_number() OVER (ORDER BY ${keyOf(table)}) AS n, ${digested(table)} FROM (
         SELECT * FROM ${live}.${table.name} ${behind} ORDER BY ${keyOf(table)} LIMIT ${limit}) AS chosen)
     SELECT place.position, place.removed, page.key, page.digest, page.bytes FROM place LEFT JOIN page ON true
     ORDER BY n`,
    [checkpoint, ...(after ?? [])],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('a statement without a row');
  const found = first.key === null ? [] : rows.map(({ key, digest, bytes }) => ({ key, digest, bytes }));
  return { position: first.position, removed: first.removed, rows: found };
}

/** The rows of the copy behind a key, up to and with another; without those that retention has removed. */
export async function copyRange(
  db: Queryable,
  table: ComparedTable,
  range: { copy: string; after: string[] | undefined; upTo: string[] | undefined; removed: bigint; limit: number },
): Promise<RowDigest[]> {
  const { copy, after, upTo, removed, limit } = range;
  const values: unknown[] = [];
  const conditions: string[] = [];
  if (after !== undefined)
    conditions.push(`(${keyOf(table)}) > ${valueOf(table, values.push(...after) - after.length + 1)}`);
  if (upTo !== undefined)
    conditions.push(`(${keyOf(table)}) <= ${valueOf(table, values.push(...upTo) - upTo.length + 1)}`);
  if (table.removal !== undefined) conditions.push(`${table.removal.column} > $${values.push(removed)}::bigint`);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const { rows } = await db.query<RowDigest>(
    `SELECT ${digested(table)} FROM ${copy}.${table.name} ${where} ORDER BY ${keyOf(table)} LIMIT ${limit}`,
    values,
  );
  return rows;
}

/** A row, each column as PostgreSQL writes it; undefined where there is none. */
export type RowTexts = Record<string, string | null> | undefined;

const texts = ({ columns }: ComparedTable): string => {
  const cells = columns.map((one) => `${one}::text`);
  return `ARRAY[${cells.join(', ')}] AS cells`;
};
const rowOf = ({ columns }: ComparedTable, cells: (string | null)[] | null): RowTexts =>
  cells === null ? undefined : Object.fromEntries(columns.map((name, i) => [name, cells[i] ?? null]));

/** One row of the live table, with where the projection stood. */
export async function liveRow(
  db: Queryable,
  table: ComparedTable,
  { live, checkpoint, key }: { live: string; checkpoint: string; key: string[] },
): Promise<{ position: bigint; removed: bigint; row: RowTexts }> {
  const { rows } = await db.query<{ position: bigint; removed: bigint; cells: (string | null)[] | null }>(
    `WITH place AS (${placeIn(live, table)})
     SELECT place.position, place.removed, one.cells FROM place LEFT JOIN (
       SELECT ${texts(table)} FROM ${live}.${table.name}
       WHERE (${keyOf(table)}) = ${valueOf(table, 2)}) AS one ON true`,
    [checkpoint, ...key],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('a statement without a row');
  return { position: first.position, removed: first.removed, row: rowOf(table, first.cells) };
}

export async function copyRow(
  db: Queryable,
  table: ComparedTable,
  { copy, key }: { copy: string; key: string[] },
): Promise<RowTexts> {
  const { rows } = await db.query<{ cells: (string | null)[] }>(
    `SELECT ${texts(table)} FROM ${copy}.${table.name} WHERE (${keyOf(table)}) = ${valueOf(table, 1)}`,
    key,
  );
  return rowOf(table, rows[0]?.cells ?? null);
}

/** The newest row of the copy that retention has removed, where it is too young for that. */
export async function removedTooEarly(
  db: Queryable,
  table: ComparedTable,
  { copy, removed }: { copy: string; removed: bigint },
): Promise<{ key: string; recordedAt: Date } | undefined> {
  const { removal } = table;
  if (removal === undefined || removed === 0n) return undefined;
  const { recorded, column } = removal;
  const { rows } = await db.query<{ key: string; recordedAt: Date; isTooYoung: boolean }>(
    `SELECT ${column}::text AS key, ${recorded.column} AS "recordedAt",
       ${recorded.column} > clock_timestamp() - $2 * interval '1 hour' AS "isTooYoung"
     FROM ${copy}.${table.name} WHERE ${column} <= $1 ORDER BY ${column} DESC LIMIT 1`,
    [removed, recorded.leastAgeHours],
  );
  return rows[0]?.isTooYoung === true ? rows[0] : undefined;
}
