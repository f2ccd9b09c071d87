import { Worker } from 'node:worker_threads';
import type * as WriteExcelFile from 'write-excel-file/node';
import { PedigreeError, Semaphore } from '#kernel';
import type { Cell, Columns } from './columns.js';
import { pagesOf, type Page } from './ndjson.js';

/** So many rows of 15 columns take some 3 s and 300 MB of a thread. */
export const MOST_EXCEL_ROWS = 50_000;
const MOST_CELL_CHARACTERS = 32_767;
const MOST_WIDTH = 60;
const MOST_MEMORY_MB = 1_024;
/** A person waits for one file; whoever wants many of them takes CSV. */
const oneAtATime = new Semaphore(1, 'Excel files', 8);

interface Work {
  library: string;
  rows: (string | number | boolean | null)[][];
  widths: number[];
}

/**
 * Pages of a list as one sheet of an Excel file (ECMA-376), the names of the columns first. Texts stay texts, with
 * their zeros, and none becomes a formula.
 * @throws PedigreeError `too_many_items` for a list that is too long, before anything is written.
 */
export async function asExcel<T>(
  first: Page<T>,
  pageAfter: (cursor: string) => Promise<Page<T>>,
  columns: Columns<T>,
): Promise<Buffer> {
  return oneAtATime.take(async () => {
    const rows: Work['rows'] = [Object.keys(columns)];
    for await (const { items } of pagesOf(first, pageAfter)) {
      for (const item of items) rows.push(Object.values(columns).map((valueOf) => cell(valueOf(item))));
      if (rows.length - 1 > MOST_EXCEL_ROWS)
        throw new PedigreeError(
          'too_many_items',
          `the list has more than ${MOST_EXCEL_ROWS} rows, the most of an Excel file; ask for less, or take CSV`,
        );
    }
    return write({ library: import.meta.resolve('write-excel-file/node'), rows, widths: widthsOf(rows) });
  });
}

function cell(value: Cell): string | number | boolean | null {
  if (typeof value !== 'string') return value ?? null;
  if (value.length > MOST_CELL_CHARACTERS)
    throw new PedigreeError(
      'too_many_items',
      `a cell of Excel takes ${MOST_CELL_CHARACTERS} characters, and one text has ${value.length}; take CSV`,
    );
  return escaped(value);
}

/** What XML cannot say, or what a reader would cut off, as ECMA-376 writes it (22.9.2.19). */
const escaped = (text: string): string =>
  text
    .replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|^\s|\s$/g, (one) => {
      const code = one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
      return `_x${code}_`;
    });

function widthsOf(rows: Work['rows']): number[] {
  const widths = (rows[0] ?? []).map(() => 0);
  for (const row of rows)
    for (const [at, value] of row.entries())
      widths[at] = Math.min(MOST_WIDTH, Math.max(widths[at] ?? 0, String(value ?? '').length + 2));
  return widths;
}

/** Writes the file in a thread of its own: it takes seconds, and other callers wait for none of them. */
async function write(work: Work): Promise<Buffer> {
  const thread = new Worker(`(${writeHere.toString()})()`, {
    eval: true,
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  });
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      thread.once('message', (bytes: Uint8Array) => resolve(Buffer.from(bytes.buffer)));
      thread.once('error', reject);
      thread.once('exit', (code) => reject(new Error(`the thread that wrote the Excel file ended with ${code}`)));
    });
  } finally {
    await thread.terminate();
  }
}

/** Runs in the thread, as text: it knows nothing but what it imports itself. */
async function writeHere(): Promise<void> {
  const { parentPort, workerData } = await import('node:worker_threads');
  const { library, rows, widths } = workerData as Work;
  const { default: writeExcelFile } = (await import(library)) as typeof WriteExcelFile;
  const columns = widths.map((width) => ({ width }));
  const file = await writeExcelFile(rows, { columns, stickyRowsCount: 1 }).toBuffer();
  const bytes = new Uint8Array(file);
  parentPort?.postMessage(bytes, [bytes.buffer]);
}
