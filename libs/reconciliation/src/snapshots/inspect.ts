import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PedigreeError, readItemCode } from '#kernel';
import { Duck, quoted, type DuckOptions } from '#duckdb';
import { sheetAsNdjson } from './excel.js';
import { columnsOf, ITEM_NAMES, type SnapshotKind } from './kinds.js';
import { mappingOf, type Mapping } from './mapping.js';
import { mustBeFile } from './source.js';
import { cellsOf, RecordSplitter } from './splitter.js';

/** Read from the beginning of a file to propose a mapping. */
const SAMPLE_BYTES = 256 * 1_024;
const SAMPLE_ROWS = 200;

/** Layouts that people have, by the columns that tell them apart. What they mean is filled in from the file itself. */
const PRESETS: Record<string, { marks: readonly string[]; columns: Record<string, string> }> = {
  /** The registry's cabinet, where a person downloads what it shows. */
  cabinet: {
    marks: ['sgtin', 'gtin', 'status'],
    columns: { item: 'sgtin', place: 'branch_id', series: 'batch', expiry: 'expiration_date' },
  },
  /** Pharmacy programs. */
  pharmacy: { marks: ['gtin_sgtin', 'gtin', 'sgtin'], columns: { item: 'gtin_sgtin' } },
};

export interface Proposal {
  mapping: Mapping;
  /** Name of the layout that the file has, as far as its columns tell. */
  preset: string | undefined;
  columns: string[];
  /** The first rows, as they stand in the file. */
  sample: string[][];
  /** Of the sampled cells of items, how many can be read. */
  items: { read: number; of: number; first: string | undefined };
  remarks: string[];
}

/**
 * Looks at the beginning of a file and proposes how to read it; a person checks it.
 * @throws PedigreeError `invalid_parameter` for a file in which no column has items.
 */
export async function inspectFile(path: string, kind: SnapshotKind, duck: DuckOptions): Promise<Proposal> {
  await mustBeFile(path);
  const bytes = await beginningOf(path);
  if (bytes.length === 0) throw new PedigreeError('invalid_parameter', `${path} is empty`, { file: path });
  const begins = bytes.subarray(0, 4).toString('latin1');
  if (begins === 'PAR1') return propose(await parquetTable(path, duck), kind);
  return propose(begins === 'PK\u0003\u0004' ? await excelTable(path, duck.temporary) : textTable(bytes), kind);
}

/** The beginning of a file as a table. */
interface Table {
  layout: Partial<Mapping> & Pick<Mapping, 'format'>;
  columns: string[];
  rows: string[][];
}

async function beginningOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The first rows of the first sheet. */
async function excelTable(path: string, temporary: string): Promise<Table> {
  await mkdir(temporary, { recursive: true });
  const folder = await mkdtemp(join(temporary, 'sheet-'));
  try {
    const out = join(folder, 'sheet.ndjson');
    const { columns } = await sheetAsNdjson(path, { out, mapping: { header: true } });
    const { rows } = ndjsonTable((await beginningOf(out)).toString('utf8'), 'utf-8', columns);
    return { layout: { format: 'excel' }, columns, rows };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function parquetTable(path: string, options: DuckOptions): Promise<Table> {
  const duck = await Duck.open(options);
  try {
    const rows = await duck.rows<Record<string, unknown>>(
      `SELECT COLUMNS(*)::VARCHAR FROM read_parquet(${quoted(path)}) LIMIT ${SAMPLE_ROWS}`,
    );
    const columns = Object.keys(rows[0] ?? {});
    return {
      layout: { format: 'parquet' },
      columns,
      rows: rows.map((row) => columns.map((name) => String(row[name] ?? ''))),
    };
  } finally {
    await duck.close();
  }
}

function textTable(bytes: Buffer): Table {
  const encoding = encodingOf(bytes);
  const text = new TextDecoder(encoding).decode(bytes, { stream: true });
  return /^\s*\{/.test(text) ? ndjsonTable(text, encoding) : csvTable(text, encoding);
}

/** By its byte order mark; else UTF-8 if it can be that, else the commonest of the national ones. */
function encodingOf(bytes: Buffer): string {
  const begin = bytes.subarray(0, 2).toString('hex');
  if (begin === 'fffe') return 'utf-16le';
  if (begin === 'feff') return 'utf-16be';
  if (bytes.length > 3 && bytes[1] === 0 && bytes[3] === 0) return 'utf-16le';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return 'utf-8';
  } catch {
    return 'windows-1251';
  }
}

function ndjsonTable(text: string, encoding: string, named?: string[]): Table {
  const objects = text
    .split('\n')
    .slice(0, SAMPLE_ROWS)
    .flatMap((line) => {
      try {
        const value: unknown = JSON.parse(line);
        return typeof value === 'object' && value !== null ? [value as Record<string, unknown>] : [];
      } catch {
        return [];
      }
    });
  const columns = named ?? [...new Set(objects.flatMap((one) => Object.keys(one)))];
  return {
    layout: { format: 'ndjson', encoding },
    columns,
    rows: objects.map((one) => columns.map((name) => String(one[name] ?? ''))),
  };
}

const DELIMITERS = [';', ',', '\t', '|'];

function csvTable(text: string, encoding: string): Table {
  const first = text.slice(0, text.search(/\r?\n|$/));
  const delimiter = DELIMITERS.reduce((best, one) => (widthOf(first, one) > widthOf(first, best) ? one : best));
  const quote = '"';
  const records: string[][] = [];
  const splitter = new RecordSplitter({
    quote: quote.charCodeAt(0),
    delimiter: delimiter.charCodeAt(0),
    record: (_, bytes) =>
      void (records.length <= SAMPLE_ROWS && records.push(cellsOf(bytes.toString(), { delimiter, quote }))),
    refuse: () => undefined,
  });
  splitter.push(Buffer.from(text));
  // The last record may be cut: it counts only where the whole file is that short.
  if (text.length < SAMPLE_BYTES / 2) splitter.end();
  const [names = [], ...rows] = records;
  const header = !names.some((cell) => readItemCode(cell).kind !== 'none');
  const columns = header ? names.map((name) => name.trim()) : names.map((_, index) => String(index + 1));
  return { layout: { format: 'csv', encoding, delimiter, quote, header }, columns, rows: header ? rows : records };
}

const widthOf = (line: string, delimiter: string): number => cellsOf(line, { delimiter, quote: '"' }).length;

function propose({ layout, columns, rows }: Table, kind: SnapshotKind): Proposal {
  const byName = new Map(columns.map((name) => [name.toLowerCase(), name]));
  const preset = Object.entries(PRESETS).find(([, { marks }]) => marks.every((mark) => byName.has(mark)));
  const cells = (name: string): string[] =>
    rows.map((row) => row[columns.indexOf(name)] ?? '').filter((cell) => cell !== '');
  const item = itemColumn(columns, cells, [preset?.[1].columns['item'] ?? '', ...ITEM_NAMES]);
  if (item === undefined)
    throw new PedigreeError(
      'invalid_parameter',
      `no column has SGTINs, SSCCs or scans; there are: ${columns.join(', ')}`,
      {},
    );
  const mapped: Record<string, string> = { item };
  for (const { name, known } of columnsOf(kind)) {
    const wanted = [preset?.[1].columns[name], ...known].find((one) => one !== undefined && byName.has(one));
    const found = wanted === undefined ? undefined : byName.get(wanted);
    if (found !== undefined && !Object.values(mapped).includes(found)) mapped[name] = found;
  }
  const words = wordsOf(kind, mapped, cells);
  const mapping = mappingOf({ ...layout, columns: mapped }, kind);
  return {
    ...{ mapping, preset: preset?.[0], columns, sample: rows.slice(0, 3) },
    items: { read: cells(item).filter(isItem).length, of: cells(item).length, first: cells(item)[0] },
    remarks: [...missing(kind, mapped), ...words],
  };
}

const isItem = (cell: string): boolean => readItemCode(cell).kind !== 'none';

/** The column with the most cells that can be read; where several have as many, by its name. */
function itemColumn(
  columns: string[],
  cells: (name: string) => string[],
  names: readonly string[],
): string | undefined {
  const rank = (name: string): number => {
    const at = names.indexOf(name.toLowerCase());
    return at < 0 ? names.length : at;
  };
  return columns
    .map((name) => ({ name, read: cells(name).filter(isItem).length }))
    .filter(({ read }) => read > 0)
    .sort((a, b) => b.read - a.read || rank(a.name) - rank(b.name))
    .at(0)?.name;
}

const missing = (kind: SnapshotKind, mapped: Record<string, string>): string[] =>
  columnsOf(kind)
    .filter(({ name }) => mapped[name] === undefined)
    .map(({ name, absent }) => {
      const instead =
        name === 'moment' ? ': every row gets --moment' : absent === undefined ? '' : `: every row is ${absent}`;
      return `no column was found for ${name}${instead}`;
    });

/** Words of the sample that nobody knows yet. */
function wordsOf(kind: SnapshotKind, mapped: Record<string, string>, cells: (name: string) => string[]): string[] {
  return columnsOf(kind).flatMap(({ name, words }) => {
    const column = mapped[name];
    if (words === undefined || column === undefined) return [];
    const unknown = [...new Set(cells(column))].filter((cell) => !words.includes(cell)).slice(0, 20);
    if (unknown.length === 0) return [];
    const listed = unknown.map((one) => JSON.stringify(one)).join(', ');
    return [`say in words.${name} which of ${words.join(', ')} these are: ${listed}`];
  });
}
