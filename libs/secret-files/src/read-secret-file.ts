import { closeSync, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const READ_OR_WRITE_BY_ALL = 0o006;
const PASS_BY_ALL = 0o001;
/** The sandbox's accounts and keys are published with the source: there is no secret in them. */
const PUBLISHED = /[\\/]apps[\\/]sandbox[\\/]data[\\/]/;

/**
 * The bytes of a file that holds secrets. Throws an Error in words, with file and mode, when every user of the machine
 * can read or change it: by its mode, and by folders that let everybody pass. Windows keeps such rights elsewhere;
 * nothing is looked at there. Throws as `readFileSync` does otherwise.
 */
export function readSecretFile(file: string): Buffer {
  const opened = openSync(file, 'r');
  try {
    const { mode } = fstatSync(opened);
    if ((mode & READ_OR_WRITE_BY_ALL) !== 0 && !PUBLISHED.test(resolve(file)) && isReachedByAll(file)) {
      throw new Error(
        `every user of this machine can read or change ${file} (mode ` +
          `${(mode & 0o7777).toString(8).padStart(4, '0')}); keep it to its owner: chmod 600 ${file}`,
      );
    }
    return readFileSync(opened);
  } finally {
    closeSync(opened);
  }
}

function isReachedByAll(file: string): boolean {
  if (process.platform === 'win32') return false;
  for (let folder = dirname(realpathSync(file)), above = dirname(folder); ; folder = above, above = dirname(folder)) {
    if ((statSync(folder).mode & PASS_BY_ALL) === 0) return false;
    if (folder === above) return true;
  }
}
