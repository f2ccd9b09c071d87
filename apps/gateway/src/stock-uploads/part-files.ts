import { createHash } from 'node:crypto';
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { writeBytesDurably, writeBytesSynced } from '#service';

const DIGEST_BYTES = 32;
const PART = /^(\d{1,6})\.part$/;

export interface PartShown {
  /** From 1. */
  n: number;
  sha256: Sha256;
}

/** The file of a part is the SHA-256 of its bytes, then its bytes: so it is listed without reading all of it. */
const partFile = (folder: string, n: number): string => join(folder, `${n}.part`);

/** Keeps a part durably. The same part again takes the place of the one before. */
export const keepPart = (folder: string, n: number, bytes: Buffer): Promise<void> =>
  writeBytesDurably(partFile(folder, n), [Buffer.from(sha256Hex(bytes), 'hex'), bytes]);

/** Numbers of the parts that are there, in their order. */
export async function numbersIn(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names.flatMap((name) => PART.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b);
}

/** Parts that are there, by their number. */
export async function partsIn(folder: string): Promise<PartShown[]> {
  const parts: PartShown[] = [];
  for (const n of await numbersIn(folder)) {
    const file = await open(partFile(folder, n));
    try {
      const { buffer } = await file.read(Buffer.alloc(DIGEST_BYTES), 0, DIGEST_BYTES, 0);
      parts.push({ n, sha256: buffer.toString('hex') });
    } finally {
      await file.close();
    }
  }
  return parts;
}

/**
 * Writes the parts one after the other into a new file, and forces it to the disk. Returns length, SHA-256 and ends of
 * lines of what it wrote. A part that the disk has changed is removed.
 * @throws PedigreeError upload_conflict that names the part.
 */
export async function joinParts(
  folder: string,
  parts: number,
  file: string,
): Promise<{ bytes: number; sha256: Sha256; lines: number }> {
  const hash = createHash('sha256');
  let [bytes, lines] = [0, 0];
  async function* contents(): AsyncGenerator<Buffer> {
    for (let n = 1; n <= parts; n += 1) {
      const kept = await readFile(partFile(folder, n));
      const part = kept.subarray(DIGEST_BYTES);
      if (sha256Hex(part) !== kept.subarray(0, DIGEST_BYTES).toString('hex')) {
        await rm(partFile(folder, n), { force: true });
        throw new PedigreeError('upload_conflict', `part ${n} has changed on the disk: send it again`, { field: 'n' });
      }
      hash.update(part);
      bytes += part.length;
      lines += lineEndsIn(part);
      yield part;
    }
  }
  await writeBytesSynced(file, contents());
  return { bytes, sha256: hash.digest('hex'), lines };
}

function lineEndsIn(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === 0x0a) lines += 1;
  return lines;
}
