import type { Connection } from 'pg';
import type { Transaction } from './pool.js';

type CopyField = string | number | bigint | boolean | Date | null | undefined;

/** Rows as lines of COPY, each with its end; `undefined` and `null` become NULL. One field for each property. */
export function copyLines<Row extends object>(properties: readonly (keyof Row)[], rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const [first, ...others] = properties as [keyof Row, ...(keyof Row)[]];
  const lineOf = (row: Row): string => {
    let line = copyField(row[first] as CopyField);
    for (const one of others) line += `\t${copyField(row[one] as CopyField)}`;
    return line;
  };
  return `${rows.map(lineOf).join('\n')}\n`;
}

/**
 * Bulk insert by `COPY ... FROM STDIN` (text format), the cheapest way into PostgreSQL: no parameters to parse, no plan
 * per row. Resolves when the server has taken all lines, at once where there are none; rejects with its error, which
 * aborts the transaction. `into` is "name (column, ...)" and comes from the code, never from input.
 */
export async function copyText(tx: Transaction, into: string, lines: string | Buffer): Promise<void> {
  if (lines.length === 0) return;
  const bytes = typeof lines === 'string' ? Buffer.from(lines) : lines;
  await new Promise<void>((resolve, reject) => {
    tx.query(
      new CopyFromBuffer(`COPY ${into} FROM STDIN`, bytes, (error) =>
        error === undefined ? resolve() : reject(error),
      ),
    );
  });
}

/** One field of the text format: backslash, tab and line ends are escaped, everything else stands for itself. */
function copyField(value: CopyField): string {
  if (value === undefined || value === null) return '\\N';
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  const text = value instanceof Date ? value.toISOString() : String(value);
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (char) => ESCAPES[char] as string) : text;
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** The part of pg's connection that its types leave out. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Bytes per CopyData message: large enough to be cheap, small enough not to hold one huge message twice. */
const CHUNK_BYTES = 256 * 1024;

/** A query in the form that pg's client takes: it calls the handlers by name, and after an error no other one. */
class CopyFromBuffer {
  constructor(
    private readonly text: string,
    private readonly bytes: Buffer,
    public callback: (error?: Error) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (let from = 0; from < this.bytes.length; from += CHUNK_BYTES)
      connection.sendCopyFromChunk(this.bytes.subarray(from, from + CHUNK_BYTES));
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error);
  }

  /** The server has taken the rows, and the connection is free again. */
  handleReadyForQuery(): void {
    this.callback();
  }
}
