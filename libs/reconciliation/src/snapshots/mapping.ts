import { z } from 'zod';
import { firstFault, PedigreeError, PLAIN_WORDS } from '#kernel';
import { columnsOf, type SnapshotKind } from './kinds.js';

/** Orders of day, month and year, and how DuckDB's strptime names them. */
export const DATE_FORMS = {
  'YYYY-MM-DD': '%Y-%m-%d',
  'DD.MM.YYYY': '%d.%m.%Y',
  'DD/MM/YYYY': '%d/%m/%Y',
  'MM/DD/YYYY': '%m/%d/%Y',
  YYYYMMDD: '%Y%m%d',
} as const;
type DateForm = keyof typeof DATE_FORMS;

const oneCharacter = z.string().regex(/^[\x09\x20-\x7e]$/, 'must be one ASCII character');

const mapping = z.strictObject({
  format: z.enum(['csv', 'ndjson', 'parquet', 'excel']),
  /** Of Excel: name of the sheet; absent: the first. */
  sheet: z.string().min(1).max(31).optional(),
  /** A name of the WHATWG Encoding Standard: utf-8, utf-16le, windows-1251, ... Of CSV and NDJSON. */
  encoding: z.string().refine(isEncoding, 'is no encoding of the WHATWG Encoding Standard').default('utf-8'),
  /** Of CSV. */
  delimiter: oneCharacter.default(','),
  /** Of CSV; an empty text where quotes are letters like others. */
  quote: z.union([oneCharacter, z.literal('')]).default('"'),
  /** Of CSV and Excel: whether the first record names the columns. Without, they are named by number, from "1" on. */
  header: z.boolean().default(true),
  /** Column of the snapshot -> column of the file. `item` must be there. */
  columns: z.record(z.string(), z.string().min(1).max(200)),
  /** Column of words -> cell of the file -> word. The words themselves are always known. */
  words: z.record(z.string(), z.record(z.string().max(200), z.string())).default({}),
  /** How dates are written; they are tried in this order. */
  dates: z
    .array(z.enum(Object.keys(DATE_FORMS) as [DateForm, ...DateForm[]]))
    .min(1)
    .max(5)
    .default(['YYYY-MM-DD', 'DD.MM.YYYY']),
  /** Of moments without a zone. */
  zone: z
    .string()
    .regex(/^[+-]\d{2}:\d{2}$/, 'must be like +03:00')
    .default('+03:00'),
  /** Cells that mean nothing, beside the empty one. */
  empty: z.array(z.string().max(100)).max(20).default(['null']),
});

/** How a file of others is read. Defaults are filled in. */
export type Mapping = z.infer<typeof mapping>;

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

/** @throws PedigreeError `invalid_parameter` that names the field. */
export function mappingOf(value: unknown, kind: SnapshotKind): Mapping {
  const parsed = mapping.safeParse(value, PLAIN_WORDS);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    throw wrong(path.join('.'), message);
  }
  const columns = columnsOf(kind);
  if (parsed.data.columns['item'] === undefined)
    throw wrong('columns.item', 'names no column: items must be somewhere');
  const names = ['item', ...columns.map(({ name }) => name)];
  for (const name of Object.keys(parsed.data.columns))
    if (!names.includes(name))
      throw wrong(`columns.${name}`, `is not a column of a ${kind} snapshot: ${names.join(', ')}`);
  mustBeWords(parsed.data, kind);
  return parsed.data;
}

function mustBeWords({ words }: Mapping, kind: SnapshotKind): void {
  for (const [name, cells] of Object.entries(words)) {
    const column = columnsOf(kind).find((one) => one.name === name);
    if (column?.translated === true) continue;
    const known = column?.words;
    if (known === undefined) throw wrong(`words.${name}`, 'is not a column of words');
    for (const [cell, word] of Object.entries(cells))
      if (!known.includes(word)) throw wrong(`words.${name}.${cell}`, `must be one of ${known.join(', ')}`);
  }
}

const wrong = (field: string, message: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `mapping: ${field} ${message}`, { field });
