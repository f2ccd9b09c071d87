import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Connection } from 'pg';
import type { Transaction } from '#postgres';

/**
 * Adds the answer of a query to a CSV file, straight from the server to the disk: memory is that of one network buffer.
 * `select` comes from the code, never from input. Resolves when the file has all of it.
 */
export async function copyOut(tx: Transaction, select: string, file: string): Promise<void> {
  const out = createWriteStream(file, { flags: 'a' });
  try {
    await new Promise<void>((resolve, reject) => {
      out.once('error', reject);
      tx.query(
        new CopyToFile(`COPY (${select}) TO STDOUT (FORMAT csv)`, out, (error) =>
          error === undefined ? resolve() : reject(error),
        ),
      );
    });
  } finally {
    out.end();
    if (!out.destroyed) await once(out, 'close');
  }
}

const WRITE_BYTES = 256 * 1_024;

/** The part of pg's connection that its types leave out. */
interface Streaming {
  stream: Socket;
}

/** A query in the form that pg's client takes: it calls the handlers by name, and after an error no other one. */
class CopyToFile {
  private readonly rows: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly text: string,
    private readonly out: WriteStream,
    public callback: (error?: Error) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCopyData({ chunk }: { chunk: Buffer }, { stream }: Streaming): void {
    // A copy, because the driver uses its buffer again. A message is a row: some thousand of them make a write.
    this.rows.push(Buffer.from(chunk));
    this.bytes += chunk.length;
    if (this.bytes < WRITE_BYTES || this.flush()) return;
    stream.pause();
    const resume = (): void => void stream.resume();
    this.out.once('drain', resume).once('close', resume);
  }

  /** After an error of the disk the rest is read and let go, so that the connection comes to its end. */
  private flush(): boolean {
    const bytes = Buffer.concat(this.rows.splice(0));
    this.bytes = 0;
    return this.out.destroyed || this.out.write(bytes);
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.flush();
    this.callback();
  }
}
