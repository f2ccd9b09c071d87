import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

const MODE = 0o644;

/**
 * Writes a small file so that a crash at any moment leaves the old text or the new one: 1. under another name; 2.
 * forced to the disk; 3. renamed; 4. the folder forced to the disk.
 */
export function writeDurably(file: string, text: string, mode = MODE): void {
  const unnamed = unnamedOf(file);
  try {
    writeSynced(unnamed, text, mode);
    renameSync(unnamed, file);
  } finally {
    rmSync(unnamed, { force: true });
  }
  syncFolder(dirname(file));
}

/**
 * What a file says; undefined where its folder has none of that name. Throws where file or folder cannot be read: a
 * disk that fails is no file that was never written. The empty mount point of one that is not mounted can be read.
 */
export function textIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    if (readdirSync(dirname(file)).includes(basename(file))) throw error;
    return undefined;
  }
}

/** As `writeDurably`, but a file that is there already is left as it is. */
export function writeDurablyOnce(file: string, text: string, mode = MODE): void {
  const unnamed = unnamedOf(file);
  try {
    writeSynced(unnamed, text, mode);
    nameOnce(unnamed, file);
  } finally {
    rmSync(unnamed, { force: true });
  }
  syncFolder(dirname(file));
}

/** As `writeDurably`, of bytes that may be many, without holding up the program meanwhile. */
export async function writeBytesDurably(file: string, contents: ByteChunks): Promise<void> {
  const unnamed = unnamedOf(file);
  try {
    await writeBytesSynced(unnamed, contents);
    await rename(unnamed, file);
  } finally {
    await rm(unnamed, { force: true });
  }
  syncFolder(dirname(file));
}

type ByteChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** As `writeSynced`, of bytes that may be many. */
export async function writeBytesSynced(file: string, contents: ByteChunks): Promise<void> {
  const handle = await open(file, 'wx', MODE);
  try {
    for await (const bytes of contents) await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file that must not be there yet, and forces it to the disk. */
export function writeSynced(file: string, text: string, mode: number): void {
  const descriptor = openSync(file, 'wx', mode);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Gives a file another name, in one step that only one of two can do. False where somebody has that name. */
export function nameOnce(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Forces the names in a folder to the disk. */
export function syncFolder(path: string): void {
  // Windows opens no folder, and its rename needs none of this.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A name in the same folder that nobody reads. */
export const unnamedOf = (file: string): string => `${file}.${randomBytes(6).toString('hex')}`;
