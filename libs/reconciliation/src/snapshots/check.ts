import { quoted, type Duck } from '#duckdb';
import { ITEM, PLAIN_ITEM, readCodes } from './codes.js';
import { dateOf, instantOf } from './dates.js';
import type { Column } from './kinds.js';
import type { Mapping } from './mapping.js';
import { SHEET_ERROR } from './sheet-faults.js';
import { MOST_AHEAD_MS } from './to-come.js';

/** Longest text in a cell. */
const MOST_TEXT = 100;
const NUMBER = "regexp_full_match(item, '[+-]?[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]+|[+-]?[0-9]+[.,][0-9]+')";
const ROUNDED = "'is a number that a spreadsheet has written: its digits are lost; export this column as text'";
const CONTROL = "'[\\x{00}-\\x{1f}\\x{7f}]'";

export interface Checking {
  columns: readonly Column[];
  mapping: Mapping;
  /** Of rows that name none; ISO 8601 with zone. */
  moment: string;
  /** The only place that rows may name, and that of rows that name none. */
  branch: string | undefined;
  /** For text between DuckDB and the kernel. */
  file: string;
}

/** A column of a snapshot as a file has it. `constant`: its value in all rows, where the file has no such column. */
export interface ReadColumn extends Column {
  constant?: string;
}

export const readColumns = (checking: Checking): ReadColumn[] =>
  checking.columns.map((column) =>
    checking.mapping.columns[column.name] === undefined
      ? { ...column, constant: valueOf(column, 'NULL::VARCHAR', checking) }
      : column,
  );

/** A sequence that numbers what stands beside items. */
export const OTHER_NUMBERS = 'other_numbers';

/** The columns whose values stand in rows. */
export const namesInRows = (columns: readonly ReadColumn[]): string[] =>
  columns.flatMap(({ name, constant }) => (constant === undefined ? [name] : []));

/**
 * From `cell (line, fault, item, one column of text for each mapped column)` to the view `checked (line, reason, item,
 * other)`: the reason says in words why a row is refused, and is NULL for the others. Few rows have an item
 * that is not plain (`odd`), and many have the same other cells (`rest`): what takes time looks at those alone. Returns
 * whether there are reasons.
 */
export async function checkRows(duck: Duck, checking: Checking): Promise<boolean> {
  await checkRest(duck, checking);
  await checkItems(duck, checking);
  const names = namesInRows(readColumns(checking));
  const same = names.map((name) => `c.${name} IS NOT DISTINCT FROM r.cell_${name}`).join(' AND ');
  await duck.run(`CREATE OR REPLACE TEMP VIEW checked AS SELECT c.line, coalesce(o.reason, r.reason) AS reason,
      CASE WHEN o.line IS NULL THEN c.item ELSE o.id END AS item, r.other
    FROM cell c JOIN rest r ON ${same || 'true'} LEFT JOIN odd o ON o.line = c.line`);
  const [found] = await duck.rows<{ reasons: bigint }>(
    'SELECT (SELECT count(reason) FROM rest) + (SELECT count(reason) FROM odd) AS reasons',
  );
  return found?.reasons !== 0n;
}

/** `rest (other, cell_x for each column x, the columns, reason)`: each combination of cells beside the item, once. */
async function checkRest(duck: Duck, checking: Checking): Promise<void> {
  const columns = readColumns(checking).filter(({ constant }) => constant === undefined);
  const names = columns.map(({ name }) => name);
  const cells = names.map((name) => `${name} AS cell_${name}, ${cleaned(name, checking.mapping)} AS ${name}`);
  const values = columns.map(
    (column) => `cell_${column.name}, ${valueOf(column, `l.${column.name}`, checking)}
        AS ${column.name}`,
  );
  const reasons = ['NULL::VARCHAR', ...columns.map((column) => reasonOf(column, checking))].join(',\n        ');
  const distinct = `SELECT DISTINCT ${names.join(', ') || '1 AS nothing'} FROM cell`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE rest AS
    SELECT ${[`nextval('${OTHER_NUMBERS}')::UINTEGER AS other`, ...values, `coalesce(${reasons}) AS reason`].join(', ')}
    FROM (SELECT ${cells.join(', ') || 'nothing'} FROM (${distinct})) l`);
}

/** `odd (line, id, reason)`: rows that cannot be read, or whose item is no plain code. */
async function checkItems(duck: Duck, { mapping, file }: Checking): Promise<void> {
  await duck.run(`
    CREATE OR REPLACE TEMP TABLE looked AS SELECT line, fault, item, CASE WHEN fault IS NULL THEN ${ITEM} END AS id
      FROM (SELECT line, fault, ${cleaned('item', mapping)} AS item FROM cell
        WHERE fault IS NOT NULL OR coalesce(NOT ${PLAIN_ITEM} OR item IN (${nothing(mapping)}), true));
    CREATE OR REPLACE TEMP TABLE unread AS SELECT line, item, row_number() OVER () AS number FROM looked
      WHERE id IS NULL AND fault IS NULL AND item IS NOT NULL AND NOT ${NUMBER}`);
  await readCodes(duck, file);
  await duck.run(`CREATE OR REPLACE TEMP TABLE odd AS SELECT line, coalesce(l.id, c.id) AS id,
      coalesce(l.fault, ${itemReason}) AS reason FROM looked l LEFT JOIN code c USING (line)`);
}

const nothing = ({ empty }: Mapping): string => ['', ...empty].map(quoted).join(', ');

/** Cells that mean nothing are NULL, and blanks around a value are cut. */
const cleaned = (cell: string, mapping: Mapping): string =>
  `CASE WHEN trim(${cell}, ' \t\u00a0') IN (${nothing(mapping)}) THEN NULL ELSE trim(${cell}, ' \t\u00a0') END`;

const shown = (cell: string): string => `concat('"', substr(${cell}, 1, ${MOST_TEXT}), '" ')`;

const itemReason = `CASE WHEN l.item IS NULL THEN 'item: is empty'
    WHEN l.id IS NULL AND ${NUMBER.replace('item', 'l.item')} THEN concat('item: ', ${shown('l.item')}, ${ROUNDED})
    WHEN c.why IS NOT NULL THEN concat('item: ', ${shown('l.item')}, c.why) END`;

function valueOf(column: Column, cell: string, { mapping, moment, branch }: Checking): string {
  if (column.type === 'instant') {
    const instant = instantOf(cell, column, mapping);
    return column.name === 'moment'
      ? `epoch_ms(coalesce(${instant}, ${quoted(moment)}::TIMESTAMPTZ))`
      : `epoch_ms(${instant})`;
  }
  if (column.type === 'date') return dateOf(cell, column, mapping);
  if (column.type === 'word') return wordOf(column, cell, mapping);
  if (column.type === 'part') return partOf(cell);
  if (column.translated === true) return translated(cell, mapping.words[column.name] ?? {});
  return column.name === 'place' && branch !== undefined ? `coalesce(${cell}, ${quoted(branch)})` : cell;
}

function reasonOf(column: Column, { mapping, branch, moment }: Checking): string {
  const cell = `l.${column.name}`;
  const bad = (why: string): string => `concat('${column.name}: ', ${shown(cell)}, ${quoted(why)})`;
  const unless = (value: string, why: string): string =>
    `CASE WHEN ${cell} IS NOT NULL AND ${value} IS NULL THEN ${bad(why)} END`;
  const since = column.recent === true ? ', from 1990 on' : '';
  if (column.type === 'instant') {
    const reason = unless(instantOf(cell, column, mapping), `is not a moment like 2026-01-31T08:00:00+03:00${since}`);
    if (column.past !== true) return reason;
    // What is true later than all answers would be held against none of them.
    const last = new Date(Date.parse(moment) + MOST_AHEAD_MS).toISOString();
    return `coalesce(${reason}, CASE WHEN ${instantOf(cell, column, mapping)} > ${quoted(last)}::TIMESTAMPTZ
      THEN ${bad(`is to come: the moment of the file is ${moment}, and a row may be a day later`)} END)`;
  }
  if (column.type === 'date')
    return unless(dateOf(cell, column, mapping), `is not a date like ${mapping.dates.join(' or ')}${since}`);
  if (column.type === 'word')
    return unless(wordOf(column, cell, mapping), 'is not a word that the mapping knows (words)');
  if (column.type === 'part') return unless(partOf(cell), 'is not a part of a pack like 7/10 or 1');
  const other =
    column.name === 'place' && branch !== undefined
      ? ` WHEN ${cell} <> ${quoted(branch)} THEN ${bad(`is another place than ${branch}`)}`
      : '';
  return `CASE WHEN length(${cell}) > ${MOST_TEXT} THEN ${bad(`is longer than ${MOST_TEXT} characters`)}
    WHEN regexp_matches(${cell}, ${CONTROL}) THEN '${column.name}: holds a control character'
    WHEN ${isSheetError(cell, mapping)} THEN ${bad(NO_VALUE)}${other} END`;
}

const NO_VALUE = 'is what a spreadsheet shows where it has no value: an error, no result, or a merged cell';
/** No spreadsheet has written a Parquet file: there it is a text. */
const isSheetError = (cell: string, { format }: Mapping): string =>
  format === 'parquet' ? 'false' : `regexp_full_match(${cell}, ${quoted(SHEET_ERROR)})`;

function wordOf({ name, words = [], absent }: Column, cell: string, mapping: Mapping): string {
  const known = [...words.map((word) => [word, word]), ...Object.entries(mapping.words[name] ?? {})];
  const cases = known.map(([from = '', to = '']) => `WHEN ${quoted(from)} THEN ${quoted(to)}`);
  return `CASE coalesce(${cell}, ${quoted(absent ?? '')}) ${cases.join(' ')} END`;
}

function translated(cell: string, words: Record<string, string>): string {
  const cases = Object.entries(words).map(([from, to]) => `WHEN ${quoted(from)} THEN ${quoted(to)}`);
  return cases.length === 0 ? cell : `CASE ${cell} ${cases.join(' ')} ELSE ${cell} END`;
}

/** In lowest terms; at most the whole. */
function partOf(cell: string): string {
  const [above, below] = [1, 2].map(
    (n) => `try_cast(regexp_extract(${cell}, '^([0-9]{1,6})/([0-9]{1,6})$', ${n}) AS INTEGER)`,
  );
  const share = `gcd(${above}, ${below})`;
  return `CASE WHEN ${cell} = '1' THEN '1/1' WHEN ${cell} = '0' THEN '0/1' WHEN ${below} > 0 AND ${above} <= ${below}
    THEN concat(${above} // ${share}, '/', ${below} // ${share}) END`;
}
