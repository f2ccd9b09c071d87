import { quoted, type Duck } from '#duckdb';
import { ITEM, readCodes } from './codes.js';
import type { Column } from './kinds.js';
import { DATE_FORMS, type Mapping } from './mapping.js';

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

/**
 * From `cell (line, fault, item, one column of text for each column)` to `checked (line, reason, item, columns)`: the
 * reason says in words why a row is refused, and is NULL for the others.
 */
export async function checkRows(duck: Duck, checking: Checking): Promise<void> {
  const { columns } = checking;
  await duck.run(`
    CREATE OR REPLACE TABLE looked AS SELECT *, CASE WHEN fault IS NULL THEN ${ITEM} END AS id FROM cell;
    CREATE OR REPLACE TABLE unread AS SELECT line, item, row_number() OVER () AS number FROM looked
      WHERE id IS NULL AND fault IS NULL AND item IS NOT NULL AND NOT ${NUMBER}`);
  await readCodes(duck, checking.file);
  const values = columns.map((column) => `${valueOf(column, checking)} AS ${column.name}`);
  await duck.run(`
    CREATE OR REPLACE TABLE checked AS SELECT line, coalesce(l.fault, ${itemReason},
        ${columns.map((column) => reasonOf(column, checking)).join(',\n        ')}) AS reason,
      coalesce(l.id, c.id) AS item, ${values.join(', ')}
    FROM looked l LEFT JOIN code c USING (line)`);
}

const shown = (cell: string): string => `concat('"', substr(${cell}, 1, ${MOST_TEXT}), '" ')`;

const itemReason = `CASE WHEN l.item IS NULL THEN 'item: is empty'
    WHEN l.id IS NULL AND ${NUMBER.replace('item', 'l.item')} THEN concat('item: ', ${shown('l.item')}, ${ROUNDED})
    WHEN c.why IS NOT NULL THEN concat('item: ', ${shown('l.item')}, c.why) END`;

function valueOf(column: Column, { mapping, moment, branch }: Checking): string {
  const cell = `l.${column.name}`;
  if (column.type === 'instant') {
    const instant = instantOf(cell, mapping);
    return column.name === 'moment'
      ? `epoch_ms(coalesce(${instant}, ${quoted(moment)}::TIMESTAMPTZ))`
      : `epoch_ms(${instant})`;
  }
  if (column.type === 'date') return dateOf(cell, mapping);
  if (column.type === 'word') return wordOf(column, cell, mapping);
  if (column.type === 'part') return partOf(cell);
  if (column.translated === true) return translated(cell, mapping.words[column.name] ?? {});
  return column.name === 'place' && branch !== undefined ? `coalesce(${cell}, ${quoted(branch)})` : cell;
}

function reasonOf(column: Column, { mapping, branch }: Checking): string {
  const cell = `l.${column.name}`;
  const bad = (why: string): string => `concat('${column.name}: ', ${shown(cell)}, ${quoted(why)})`;
  const unless = (value: string, why: string): string =>
    `CASE WHEN ${cell} IS NOT NULL AND ${value} IS NULL THEN ${bad(why)} END`;
  if (column.type === 'instant') return unless(instantOf(cell, mapping), 'is no moment like 2026-01-31T08:00:00+03:00');
  if (column.type === 'date') return unless(dateOf(cell, mapping), `is no date like ${mapping.dates.join(' or ')}`);
  if (column.type === 'word') return unless(wordOf(column, cell, mapping), 'is no word that the mapping knows (words)');
  if (column.type === 'part') return unless(partOf(cell), 'is no part of a pack like 7/10 or 1');
  const other =
    column.name === 'place' && branch !== undefined
      ? ` WHEN ${cell} <> ${quoted(branch)} THEN ${bad(`is another place than ${branch}`)}`
      : '';
  return `CASE WHEN length(${cell}) > ${MOST_TEXT} THEN ${bad(`is longer than ${MOST_TEXT} characters`)}
    WHEN regexp_matches(${cell}, ${CONTROL}) THEN '${column.name}: holds a control character'${other} END`;
}

/** A time of day behind the date is left out. */
const dateOf = (cell: string, { dates }: Pick<Mapping, 'dates'>): string =>
  `try_strptime(regexp_extract(${cell}, '^([0-9./-]{8,10})(?:[T ][0-9:.,Z+-]*)?$', 1),
    [${dates.map((form) => quoted(DATE_FORMS[form])).join(', ')}])::DATE`;

/** Without a zone in the cell it is that of the mapping. A date alone is its first moment. */
function instantOf(cell: string, { zone, dates }: Mapping): string {
  const text = `CASE WHEN regexp_full_match(${cell}, '.{10,}(?:Z|[+-][0-9]{2}:?[0-9]{2})') THEN ${cell}
    WHEN length(${cell}) <= 10 THEN concat(${dateOf(cell, { dates })}::VARCHAR, ' 00:00:00', ${quoted(zone)})
    ELSE concat(${cell}, ${quoted(zone)}) END`;
  return `try_cast(${text} AS TIMESTAMPTZ)`;
}

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
