import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a small file so that a crash at any moment leaves the old text or the new one, never a part: under another
 * name, forced to the disk, then renamed.
 */
export function writeWhole(file: string, text: string, mode = 0o644): void {
  renameSync(written(file, text, mode), file);
}

/** As `writeWhole`, but a file that is there already is left as it is. */
export function writeWholeOnce(file: string, text: string, mode = 0o644): void {
  const unnamed = written(file, text, mode);
  try {
    linkSync(unnamed, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(unnamed);
  }
}

function written(file: string, text: string, mode: number): string {
  const unnamed = `${file}.${randomBytes(6).toString('hex')}`;
  const descriptor = openSync(unnamed, 'wx', mode);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return unnamed;
}
