import { Worker } from 'node:worker_threads';
import type * as ReadExcelFile from 'read-excel-file/node';
import { PedigreeError } from '#kernel';
import type { Mapping } from './mapping.js';
import { SHEET_COLUMNS, sheetFaults, type SheetFaults } from './sheet-faults.js';

/** Rows of a sheet (ECMA-376), its header among them. */
const MOST_ROWS = 1_048_576;
/** The library holds a whole sheet. */
const MOST_MEMORY_MB = 4_096;

interface Work {
  /** Where the library is looked for from. */
  from: string;
  path: string;
  /** For the rows. */
  out: string;
  sheet: string | undefined;
  header: boolean;
  mostRows: number;
  /** What stands in other columns is not read; undefined: all are. */
  mapped: readonly string[] | undefined;
  faults: SheetFaults;
  /** Of a sheet. */
  sheetColumns: number;
}

type Told = { columns: string[]; rows: number } | { problem: string };

/**
 * Writes a sheet as NDJSON, a line for each row, so that a line's number is that of the row. The header and empty rows
 * are empty lines. A number stays a number, for a code that a spreadsheet took for one has lost its digits. A date is
 * written as such, and a cell of a mapped column that has no value and ought to have one as the error that the
 * spreadsheet shows. Runs in a thread of its own, with a limit of memory.
 * @throws PedigreeError `invalid_parameter`, in words, for what is no Excel file (.xlsx), a sheet that is not there, or
 *   one that is too large.
 */
export async function sheetAsNdjson(
  path: string,
  { out, mapping }: { out: string; mapping: Pick<Mapping, 'sheet' | 'header'> & Partial<Mapping> },
): Promise<{ columns: string[]; rows: number }> {
  const refuse = (problem: string): PedigreeError =>
    new PedigreeError('invalid_parameter', `${path}: ${problem}`, { file: path });
  const { sheet, header, columns } = mapping;
  const faults = await sheetFaults(path, sheet).catch((error: Error) => {
    throw refuse(`is no Excel file that can be read: ${error.message}`);
  });
  const work: Work = {
    ...{ from: import.meta.url, path, out, sheet, header, mostRows: MOST_ROWS },
    ...{ faults, sheetColumns: SHEET_COLUMNS, mapped: columns && Object.values(columns) },
  };
  const thread = new Worker(`${[markFaults, textOf, readHere].map(String).join('\n')}\nreadHere()`, {
    eval: true,
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  });
  try {
    const told = await new Promise<Told>((resolve, reject) => {
      thread.once('message', resolve);
      thread.on('error', (error: NodeJS.ErrnoException) =>
        reject(
          error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? refuse(`the sheet takes more than ${MOST_MEMORY_MB} MB to read; save it as CSV`)
            : error,
        ),
      );
      thread.once('exit', (code) => reject(new Error(`the thread that reads ${path} ended with code ${code}`)));
    });
    if ('problem' in told) throw refuse(told.problem);
    return told;
  } finally {
    await thread.terminate();
  }
}

/** @throws PedigreeError `invalid_parameter` for a column that the sheet has not, or has twice. */
export function mustHaveColumns(columns: readonly string[], mapped: Readonly<Record<string, string>>): void {
  for (const [column, name] of Object.entries(mapped)) {
    const found = columns.filter((one) => one === name).length;
    if (found === 1) continue;
    const why = found === 0 ? 'the sheet has no column' : 'the sheet has several columns';
    const seen = columns.slice(0, 50).map((one) => JSON.stringify(one));
    throw new PedigreeError('invalid_parameter', `${why} "${name}" for ${column}; it has: ${seen.join(', ')}`, {
      field: `columns.${column}`,
      line: 1,
    });
  }
}

/** Like all below it runs in the thread, as text: it knows nothing but these and what it imports itself. */
async function readHere(): Promise<void> {
  const { parentPort, workerData } = await import('node:worker_threads');
  const { createWriteStream, readFileSync } = await import('node:fs');
  const work = workerData as Work;
  const { from, path, out, sheet, header, mostRows } = work;
  const { createRequire } = await import('node:module');
  const { pipeline } = await import('node:stream/promises');
  const { readSheet } = createRequire(from)('read-excel-file/node') as typeof ReadExcelFile;
  const say = (told: Told): void => parentPort?.postMessage(told);
  let rows: unknown[][];
  try {
    rows = (await (sheet === undefined
      ? readSheet(readFileSync(path))
      : readSheet(readFileSync(path), sheet))) as unknown[][];
  } catch (error) {
    return say({ problem: `is no Excel file that can be read: ${(error as Error).message}` });
  }
  const first = rows[0] ?? [];
  const columns = first.map((cell, n) => (header ? String(cell ?? '').trim() : String(n + 1)));
  markFaults(rows, columns, work);
  if (rows.length > mostRows) return say({ problem: `has ${rows.length} rows, and a sheet has ${mostRows} at most` });
  const lineOf = (row: unknown[], n: number): string => {
    const filled = row.flatMap((cell, at) =>
      cell === null || cell === undefined || columns[at] === undefined ? [] : [[columns[at], textOf(cell)]],
    );
    return (header && n === 0) || filled.length === 0
      ? '\n'
      : `${JSON.stringify(Object.fromEntries(filled as never))}\n`;
  };
  const lines = function* (): Generator<string> {
    for (const [n, row] of rows.entries()) yield lineOf(row, n);
  };
  // A file that cannot be written ends the thread with its error.
  await pipeline(lines(), createWriteStream(out));
  say({ columns, rows: rows.length });
}

/** A date of a sheet has no zone: the mapping's is meant. */
function textOf(cell: unknown): unknown {
  if (!(cell instanceof Date)) return cell;
  if (Number.isNaN(cell.getTime())) return '#NUM!';
  const text = cell.toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.slice(0, 19);
}

/** The library leaves cells empty that are not: also at the end, where it leaves out rows that have no others. */
function markFaults(rows: unknown[][], columns: readonly string[], { faults, sheetColumns, mapped }: Work): void {
  const isRead = columns.map((name) => mapped?.includes(name) ?? true);
  const placeOf = (cell: number): [number, number] => [Math.floor(cell / sheetColumns), cell % sheetColumns];
  const markAll = (change: (column: number, text: string) => string | null): void => {
    for (const [text, cells] of faults.cells)
      for (const cell of cells) {
        const [row, column] = placeOf(cell);
        while (rows.length <= row) rows.push([]);
        (rows[row] as unknown[])[column] = change(column, text);
      }
  };
  const isEmpty = (row: unknown[] | undefined, at: number): boolean => (row?.[at] ?? null) === null;
  markAll((_, text) => text);
  for (const [first, last, text] of faults.ranges) {
    const [[top, left], [bottom, right]] = [placeOf(first), placeOf(last)];
    if (isEmpty(rows[top], left)) continue;
    const read = columns.flatMap((_, at) => (at >= left && at <= right && isRead[at] === true ? [at] : []));
    for (const row of rows.slice(top, bottom + 1)) for (const at of read) if (isEmpty(row, at)) row[at] = text;
  }
  markAll((column, text) => (isRead[column] === true ? text : null));
}
