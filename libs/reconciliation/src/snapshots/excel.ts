import { Worker } from 'node:worker_threads';
import type * as ReadExcelFile from 'read-excel-file/node';
import { PedigreeError } from '#kernel';

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
}

type Told = { columns: string[]; rows: number } | { problem: string };

/**
 * Writes a sheet as NDJSON, a line for each row, so that a line's number is that of the row. The header and empty rows
 * are empty lines. A number stays a number, for a code that a spreadsheet took for one has lost its digits. A date is
 * written as such. Runs in a thread of its own, with a limit of memory.
 * @throws PedigreeError `invalid_parameter`, in words, for what is no Excel file (.xlsx), a sheet that is not there, or
 *   one that is too large.
 */
export async function sheetAsNdjson(
  path: string,
  { out, sheet, header }: { out: string; sheet?: string | undefined; header: boolean },
): Promise<{ columns: string[]; rows: number }> {
  const work: Work = { from: import.meta.url, path, out, sheet, header, mostRows: MOST_ROWS };
  const thread = new Worker(`(${readHere.toString()})()`, {
    eval: true,
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  });
  const refuse = (problem: string): PedigreeError =>
    new PedigreeError('invalid_parameter', `${path}: ${problem}`, { file: path });
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

/** Runs in the thread, as text: it knows nothing but what it imports itself. */
async function readHere(): Promise<void> {
  const { parentPort, workerData } = await import('node:worker_threads');
  const { createWriteStream, readFileSync } = await import('node:fs');
  const { from, path, out, sheet, header, mostRows } = workerData as Work;
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
  if (rows.length > mostRows) return say({ problem: `has ${rows.length} rows, and a sheet has ${mostRows} at most` });
  const first = rows[0] ?? [];
  const columns = first.map((cell, n) => (header ? String(cell ?? '').trim() : String(n + 1)));
  const cellOf = (cell: unknown): unknown => {
    if (!(cell instanceof Date)) return cell;
    const text = cell.toISOString();
    // A date of a sheet has no zone: the mapping's is meant.
    return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.slice(0, 19);
  };
  const lineOf = (row: unknown[], n: number): string => {
    const filled = row.flatMap((cell, at) =>
      cell === null || cell === undefined || columns[at] === undefined ? [] : [[columns[at], cellOf(cell)]],
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
