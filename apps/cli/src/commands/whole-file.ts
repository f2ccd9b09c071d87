import { createWriteStream, statSync, type Stats } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { invalidConfiguration } from '#kernel';

/** Before anything is asked for the file. @throws PedigreeError `invalid_configuration` that names the option. */
export function mustHaveFolder(option: string, file: string): void {
  const folder = dirname(resolve(file));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw invalidConfiguration(option, `${folder} is no folder`);
}

/**
 * Writes a file that is there under its name once it is whole, and not before: what breaks off leaves no part that
 * looks like the whole, and the file of before as it was. What is no file, such as a pipe, is written to as it is.
 */
export async function writeWhole(content: Readable, file: string): Promise<void> {
  const before = await statOf(file);
  if (before?.isFile() === false) return pipeline(content, createWriteStream(file));
  const target = before === undefined ? file : await realpath(file);
  const part = `${target}.${process.pid}.part`;
  try {
    await pipeline(content, createWriteStream(part, { mode: (before?.mode ?? 0o666) & 0o777, flush: true }));
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const statOf = (file: string): Promise<Stats | undefined> =>
  stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
