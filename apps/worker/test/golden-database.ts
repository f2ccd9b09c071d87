import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { migrate, type Pool } from '#postgres';
import { WORKER_SCHEMAS, type RegistryLeft } from './golden-world.js';

export type Row = Record<string, unknown>;
export type Tables = Record<string, Row[]>;

/** A database as a version left it, and what the same version made of it in the end. */
export interface Golden {
  /** Of documents, groups and documents of others, by names that say where each stands. */
  ids: Record<string, string>;
  registry: RegistryLeft;
  tables: Tables;
  /** The events and the evidence that came after that, and the read models at the end. */
  concluded: Tables;
}

/** Tables that projections fill, and nobody else. */
export const READ_MODELS = [
  ...['document_outcome', 'document_outcome_count', 'document_open', 'document_group', 'inbound_document'],
  ...['sent_document', 'movement_document', 'movement_effect', 'item_movement', 'containment', 'outcome_event'],
];

/** Bytes of these columns are text, and are kept as such: so they are compressed well. */
const TEXTS = ['data', 'metadata'];
const HEX = '\\x';

const mapTexts = (golden: Golden, change: (value: string) => string): Golden => {
  const inRow = (row: Row): Row => ({
    ...row,
    ...Object.fromEntries(TEXTS.map((key) => [key, change(row[key] as string)])),
  });
  const inTables = (tables: Tables): Tables => ({ ...tables, event: (tables['event'] ?? []).map(inRow) });
  return { ...golden, tables: inTables(golden.tables), concluded: inTables(golden.concluded) };
};

export function readGolden(file: URL): Golden {
  const golden = JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as Golden;
  return mapTexts(golden, (text) => HEX + Buffer.from(text).toString('hex'));
}

export function writeGolden(file: string, golden: Golden): void {
  const plain = mapTexts(golden, (hex) => Buffer.from(hex.slice(HEX.length), 'hex').toString());
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  writeFileSync(file, brotliCompressSync(JSON.stringify(plain), { params }));
}

export async function rowsOf(pool: Pool, table: string): Promise<Row[]> {
  const { rows } = await pool.query<{ line: string }>(`SELECT to_jsonb(t)::text AS line FROM ${table} t`);
  return rows.map(({ line }) => JSON.parse(line) as Row).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

const placeOf = (row: Row): string =>
  (row['position'] === undefined ? '' : String(row['position']).padStart(9, '0')) + JSON.stringify(row);

/** Every table, or these. */
export async function dump(pool: Pool, tables?: readonly string[]): Promise<Tables> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
     AND NOT relispartition ORDER BY 1`,
  );
  const wanted = rows.map(({ name }) => name).filter((name) => tables?.includes(name) ?? true);
  return Object.fromEntries(await Promise.all(wanted.map(async (name) => [name, await rowsOf(pool, name)] as const)));
}

/** The tables of that version with what stood in them, and then the migrations that came since. */
export async function restore(pool: Pool, tables: Tables): Promise<void> {
  const { schema_migration: applied = [], ...rest } = tables;
  const only = new Set(applied.map((row) => `${String(row['set_name'])}/${String(row['file_name'])}`));
  await migrate(pool, WORKER_SCHEMAS, { only });
  for (const [name, rows] of Object.entries(rest)) await fill(pool, name, rows);
  await pool.query(`SELECT setval(pg_get_serial_sequence('task', 'id'), (SELECT max(id) FROM task))`);
  await migrate(pool, WORKER_SCHEMAS);
}

export async function fill(pool: Pool, table: string, rows: Row[]): Promise<void> {
  await pool.query(`TRUNCATE ${table} CASCADE`);
  await add(pool, table, rows);
}

export async function add(pool: Pool, table: string, rows: Row[]): Promise<void> {
  await pool.query(
    `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1)`,
    [JSON.stringify(rows)],
  );
}
