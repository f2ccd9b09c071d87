import type { Cell, Columns } from './columns.js';
import { pagesOf, type Page } from './ndjson.js';

/** A spreadsheet takes a text that begins so for a formula, and carries it out: an apostrophe keeps it a text. */
const FORMULA = /^(?:[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
/**
 * Where a spreadsheet parts cells by semicolons or tabs, as a Russian one does, quotation marks within a line keep
 * nothing together: what follows these is a cell of its own.
 */
const FORMULA_WITHIN = /[;\t\r\n](?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A field as RFC 4180 has it. Numbers are ours and stay numbers; a text may be anyone's. */
function field(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replace(FORMULA_WITHIN, "$&'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const line = (fields: Cell[]): string => `${fields.map(field).join(',')}\r\n`;

/** Pages of a list as CSV (RFC 4180), the names of the columns first. Throws rather than end early, as NDJSON does. */
export async function* asCsv<T>(
  first: Page<T>,
  pageAfter: (cursor: string) => Promise<Page<T>>,
  columns: Columns<T>,
): AsyncGenerator<string> {
  yield line(Object.keys(columns));
  for await (const { items } of pagesOf(first, pageAfter))
    if (items.length > 0)
      yield items.map((item) => line(Object.values(columns).map((valueOf) => valueOf(item)))).join('');
}
