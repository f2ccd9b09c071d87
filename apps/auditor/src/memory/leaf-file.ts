import { open, rm, stat, type FileHandle } from 'node:fs/promises';
import { HASH_BYTES, hashesIn, type Hash } from '#merkle';

/** Hashes that are read or written at a time: two megabytes. */
const CHUNK_LEAVES = 65_536;

/**
 * The hashes of the leaves of a tree in a file, 32 bytes each, one behind the other. It tells which leaf is another one
 * where the root tells only that one is. No verdict rests on it.
 */
export class LeafFile {
  constructor(private readonly file: string) {}

  /** Hashes that are there; a part of one that a crash left does not count. */
  async count(): Promise<number> {
    const found = await stat(this.file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return { size: 0 };
      throw error;
    });
    return Math.floor(found.size / HASH_BYTES);
  }

  /**
   * Brings it to `size` leaves, all on the disk when it resolves. `known` are right already, as far as they are there;
   * `read` gives the others.
   */
  async grow(size: number, known: number, read: (from: number, to: number) => Promise<Buffer>): Promise<void> {
    let at = Math.min(known, await this.count());
    const file = await open(this.file, at === 0 ? 'w' : 'r+', 0o600);
    try {
      while (at < size) {
        const to = Math.min(at + CHUNK_LEAVES, size);
        await this.put(file, (await read(at, to)).subarray(0, (to - at) * HASH_BYTES), at * HASH_BYTES);
        at = to;
      }
      await file.truncate(size * HASH_BYTES);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** All of the bytes: a write may take a part of them, as where the disk is nearly full, and is no error. */
  private async put(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
      if (bytesWritten === 0) throw new Error(`the disk takes no more of ${this.file}`);
      done += bytesWritten;
    }
  }

  /** The hashes from `from` on, at most so many. */
  async read(from: number, limit: number): Promise<Hash[]> {
    const count = Math.max(0, Math.min(limit, (await this.count()) - from));
    if (count === 0) return [];
    const file = await open(this.file, 'r');
    try {
      const bytes = Buffer.alloc(count * HASH_BYTES);
      await file.read(bytes, 0, bytes.length, from * HASH_BYTES);
      return hashesIn(bytes);
    } finally {
      await file.close();
    }
  }

  /** Forgets them: another tree begins. */
  async clear(): Promise<void> {
    await rm(this.file, { force: true });
  }
}
