import { once } from 'node:events';
import type { WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * A new file that is written piece by piece. What goes wrong with it, as on a full disk, is thrown by the next write or
 * at its end: an error of a stream to which nobody listens ends the process.
 */
export class NewFile {
  constructor(private readonly stream: WriteStream) {
    stream.on('error', () => undefined);
  }

  async write(bytes: string | Buffer): Promise<void> {
    if (this.stream.errored !== null) throw this.stream.errored;
    if (!this.stream.write(bytes)) await once(this.stream, 'drain');
  }

  async end(): Promise<void> {
    this.stream.end();
    await finished(this.stream);
  }

  /** Lets go of it, ended or not: a file that stays open keeps its place on the disk, also once it is removed. */
  close(): void {
    this.stream.destroy();
  }
}
