import { PedigreeError } from '#kernel';
import { quoted, type Duck } from '#duckdb';
import type { Column } from './kinds.js';
import type { Mapping } from './mapping.js';
import { cellsOf } from './splitter.js';
import { isPlain, NDJSON_DELIMITER, type Chunk, type NumberedChunk, type PlainChunk } from './source.js';

const MOST_COLUMNS = 1_000;

/** Where each column of the snapshot is found: an expression over a row of the file, as text. */
export type Cells = (column: string) => string | undefined;

/** What `cell` is made of: the cells of a chunk as they stand there, by the mapped columns of the snapshot. */
function cells(
  { from, line, fault, at }: { from: string; line: string; fault: string; at: Cells },
  columns: readonly Column[],
): string {
  const values = ['item', ...columns.map(({ name }) => name)].flatMap((name) => {
    const found = at(name);
    return found === undefined ? [] : [`${found} AS ${name}`];
  });
  return `SELECT ${line} AS line, ${fault} AS fault, ${values.join(', ')} FROM ${from}`;
}

/** Number of columns, and where the mapped ones are. */
export interface CsvShape {
  width: number;
  at: Cells;
}

/** @throws PedigreeError `invalid_parameter` for a column that the file has not, or has twice. */
export function csvShape(mapping: Mapping, { header, first }: { header?: string; first?: string }): CsvShape {
  const cellsOfHeader = cellsOf(header ?? first ?? '', mapping).map((cell) => cell.trim());
  const names = mapping.header ? cellsOfHeader : cellsOfHeader.map((_, index) => String(index + 1));
  if (names.length > MOST_COLUMNS)
    throw new PedigreeError('invalid_parameter', `the file has ${names.length} columns: ${MOST_COLUMNS} at most`);
  for (const [column, name] of Object.entries(mapping.columns)) {
    const found = names.filter((one) => one === name).length;
    if (found === 1) continue;
    const why = found === 0 ? 'the file has no column' : 'the file has several columns';
    const seen = names.slice(0, 50).map((one) => JSON.stringify(one));
    throw new PedigreeError('invalid_parameter', `${why} "${name}" for ${column}; it has: ${seen.join(', ')}`, {
      field: `columns.${column}`,
      line: 1,
    });
  }
  const at: Cells = (column) => {
    const name = mapping.columns[column];
    return name === undefined ? undefined : `c${names.indexOf(name)}`;
  };
  return { width: names.length, at };
}

/** The columns of a text file, and how DuckDB is to split them. */
interface TextFormat {
  format: string;
  columns: string;
}

const readCsv = (file: string, { format, columns }: TextFormat, options: string): string =>
  `read_csv(${quoted(file)}, header = false, auto_detect = false, ${format}, nullstr = '',
    max_line_size = 1000000, ${options}, columns = {${columns}})`;

/**
 * Reads a chunk into `raw`, and says which expression over it is the line of a row. Undefined, and nothing of it is
 * kept, where DuckDB finds other records than we have, or gives the file up.
 */
async function readChunk(duck: Duck, chunk: Chunk, how: TextFormat): Promise<string | undefined> {
  try {
    return isPlain(chunk) ? await readPlain(duck, chunk, how) : await readNumbered(duck, chunk, how);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Invalid Input Error')) return undefined;
    throw error;
  }
}

/** Rows keep the order of their lines: as many as there are lines, so each is one, or some row cannot be read. */
async function readPlain(
  duck: Duck,
  { file, firstLine, lines, lineEnd }: PlainChunk,
  how: TextFormat,
): Promise<string | undefined> {
  const end = lineEnd === '\n' ? '\\n' : '\\r\\n';
  await duck.inOrder(`CREATE OR REPLACE TEMP TABLE raw AS SELECT * FROM ${readCsv(file, how, `new_line = '${end}'`)}`);
  const [read] = await duck.rows<{ rows: bigint }>('SELECT count(*) AS rows FROM raw');
  return Number(read?.rows) === lines ? `(rowid + ${firstLine})` : undefined;
}

/** What cannot be read goes to `refused`, with its line; together they are all records. */
async function readNumbered(duck: Duck, { file, ends }: NumberedChunk, how: TextFormat): Promise<string | undefined> {
  await duck.run('DROP TABLE IF EXISTS unreadable; DROP TABLE IF EXISTS unreadable_scan');
  const rejects = "store_rejects = true, rejects_table = 'unreadable', rejects_scan = 'unreadable_scan'";
  const numbered = { format: how.format, columns: `'line': 'BIGINT', ${how.columns}` };
  await duck.run(`
    CREATE OR REPLACE TEMP TABLE raw AS
      SELECT * FROM ${readCsv(file, numbered, `new_line = '\\n', ${rejects}`)};
    CREATE OR REPLACE TEMP TABLE broken AS SELECT try_cast(regexp_extract(csv_line, '^[0-9]+') AS BIGINT) AS line,
        min(${WORDS}) AS reason
      FROM unreadable GROUP BY 1`);
  const [read] = await duck.rows<{ rows: bigint; broken: bigint }>(
    'SELECT (SELECT count(*) FROM raw) AS rows, (SELECT count(*) FROM broken) AS broken',
  );
  if (Number(read?.rows) + Number(read?.broken) !== ends.length) return undefined;
  await duck.run('INSERT INTO refused (line, reason) SELECT line, reason FROM broken');
  return 'line';
}

/** Loads a chunk of CSV into `cell`; false where it is not read as it was cut. */
export async function loadCsv(
  duck: Duck,
  chunk: Chunk,
  { shape, mapping, columns }: { shape: CsvShape; mapping: Mapping; columns: readonly Column[] },
): Promise<boolean> {
  const { delimiter, quote } = mapping;
  const line = await readChunk(duck, chunk, {
    format: `delim = ${quoted(delimiter)}, quote = ${quoted(quote)}, escape = ${quoted(quote)}`,
    columns: Array.from({ length: shape.width }, (_, n) => `'c${n}': 'VARCHAR'`).join(', '),
  });
  if (line === undefined) return false;
  const found = { from: 'raw', line, fault: 'NULL::VARCHAR', at: shape.at };
  await duck.run(`CREATE OR REPLACE TEMP VIEW cell AS ${cells(found, columns)}`);
  return true;
}

const WORDS = `CASE error_type WHEN 'MISSING COLUMNS' THEN 'the row has too few cells'
  WHEN 'TOO MANY COLUMNS' THEN 'the row has too many cells'
  WHEN 'UNQUOTED VALUE' THEN 'something follows a closing quote'
  WHEN 'INVALID ENCODING' THEN 'the row is not valid in the encoding of the mapping'
  ELSE concat('the row cannot be read: ', error_message) END`;

/** Loads a chunk of NDJSON into `cell`; false where it is not read as it was cut. */
export async function loadNdjson(
  duck: Duck,
  chunk: Chunk,
  { mapping, columns }: { mapping: Mapping; columns: readonly Column[] },
): Promise<boolean> {
  const path = (column: string): string | undefined => {
    const name = mapping.columns[column];
    return name === undefined ? undefined : quoted(`$.${JSON.stringify(name)}`);
  };
  const at: Cells = (column) => {
    const where = path(column);
    return where === undefined ? undefined : `json_extract_string(json, ${where})`;
  };
  const fault = `CASE WHEN json IS NULL THEN 'the line is not a JSON object'
    WHEN json_type(json, ${path('item')}) IN ('BIGINT', 'UBIGINT', 'DOUBLE')
    THEN 'item: is a number, and a code is text: its digits may be lost' END`;
  const line = await readChunk(duck, chunk, {
    format: `delim = '${NDJSON_DELIMITER}', quote = '', escape = ''`,
    columns: "'text': 'VARCHAR'",
  });
  if (line === undefined) return false;
  const from = `(SELECT ${line} AS line,
      CASE WHEN json_valid(text) AND json_type(text) = 'OBJECT' THEN text::JSON END AS json
    FROM raw)`;
  // Made before it is looked at: DuckDB would look into the JSON again for each use of a cell.
  await duck.run(`CREATE OR REPLACE TEMP TABLE cell AS ${cells({ from, line: 'line', fault, at }, columns)}`);
  return true;
}

/** Rows of Parquet that are looked at together. */
export const PARQUET_ROWS = 500_000;

/**
 * Number of rows, and where the mapped columns are.
 * @throws PedigreeError `invalid_parameter` for a missing column, or one of numbers where codes belong.
 */
export async function parquetShape(duck: Duck, path: string, mapping: Mapping): Promise<{ rows: number; at: Cells }> {
  const found = await duck.rows<{ column_name: string; column_type: string }>(
    `DESCRIBE SELECT * FROM read_parquet(${quoted(path)})`,
  );
  const types = new Map(found.map((one) => [one.column_name, one.column_type]));
  for (const [column, name] of Object.entries(mapping.columns)) {
    const type = types.get(name);
    const field = { field: `columns.${column}` };
    if (type === undefined)
      throw new PedigreeError('invalid_parameter', `the file has no column "${name}" for ${column}`, field);
    if (column === 'item' && type !== 'VARCHAR')
      throw new PedigreeError('invalid_parameter', `column "${name}" is ${type}, and codes are text`, field);
  }
  const at: Cells = (column) => {
    const name = mapping.columns[column];
    return name === undefined ? undefined : parquetCell(name, types.get(name), mapping);
  };
  const [counted] = await duck.rows<{ rows: bigint }>(`SELECT count(*) AS rows FROM read_parquet(${quoted(path)})`);
  return { rows: Number(counted?.rows), at };
}

/** An instant is written in the zone of the mapping, whose day is meant where a date is wanted. */
function parquetCell(name: string, type: string | undefined, { zone }: Mapping): string {
  const value = `"${name.replaceAll('"', '""')}"`;
  if (type !== 'TIMESTAMP WITH TIME ZONE') return `${value}::VARCHAR`;
  // DuckDB reads no sign of a span that is ahead.
  const ahead = `INTERVAL ${quoted(`${zone.replace('+', '')}:00`)}`;
  return `(${value} AT TIME ZONE 'UTC' + ${ahead})::VARCHAR || ${quoted(zone)}`;
}

/** Loads a range of rows into `cell`; a row's line is its number from 1 on. */
export async function loadParquet(
  duck: Duck,
  { path, from }: { path: string; from: number },
  { at, columns }: { at: Cells; columns: readonly Column[] },
): Promise<void> {
  const source = `(SELECT *, file_row_number + 1 AS line FROM read_parquet(${quoted(path)}, file_row_number = true)
    WHERE file_row_number >= ${from} AND file_row_number < ${from + PARQUET_ROWS})`;
  const found = { from: source, line: 'line', fault: 'NULL::VARCHAR', at };
  await duck.run(`CREATE OR REPLACE TEMP TABLE cell AS ${cells(found, columns)}`);
}
