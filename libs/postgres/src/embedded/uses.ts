import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIdentity } from './start-lock.js';

/** One caller's use of the server of a folder. Everything here is done under the start lock of that folder. */
export interface Use {
  /** Ends it. True when it was the last, and the server was started by one of those that used it together. */
  end(): Promise<boolean>;
}

/** Ends the names of uses whose last stops the server. */
const STOPS = '.stops';

/**
 * Notes the use in a file of its own, which names the process: one that is killed uses nothing any more. `starts`: the
 * server is started for this use; who joins others does as they do.
 */
export async function beginUse(dataDir: string, starts: boolean): Promise<Use> {
  const folder = join(dataDir, 'uses');
  await openFolder(folder, dataDir);
  const stops = starts || (await livingIn(folder)).some((name) => name.endsWith(STOPS));
  const mine = join(folder, `${randomBytes(6).toString('hex')}${stops ? STOPS : ''}`);
  await writeFile(mine, processIdentity(process.pid) ?? String(process.pid));
  return {
    end: async () => {
      await rm(mine, { force: true });
      return stops && (await livingIn(folder)).length === 0;
    },
  };
}

/** It is of whom the installation is: root may be the first to come here, and its user comes back. */
async function openFolder(folder: string, dataDir: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataDir);
  await chown(folder, uid, gid);
}

/** The uses of processes that are there; forgets those of processes that are gone. */
async function livingIn(folder: string): Promise<string[]> {
  const living: string[] = [];
  for (const name of await readdir(folder)) {
    const user = await readFile(join(folder, name), 'utf8').catch(() => '');
    if (processIdentity(Number.parseInt(user, 10)) === user) living.push(name);
    else await rm(join(folder, name), { force: true });
  }
  return living;
}
