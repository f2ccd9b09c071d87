import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIdentity } from './start-lock.js';

/** One caller's use of the server of a folder. Everything here is done under the start lock of that folder. */
export interface Use {
  /** Whether a process that is there uses the server besides. Forgets those of processes that are gone. */
  hasOthers(): Promise<boolean>;
  end(): Promise<void>;
}

/** Notes the use in a file of its own, which names the process: one that is killed uses nothing any more. */
export async function beginUse(dataDir: string): Promise<Use> {
  const folder = join(dataDir, 'uses');
  const mine = randomBytes(6).toString('hex');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, mine), processIdentity(process.pid) ?? String(process.pid));
  return {
    hasOthers: async () => {
      let others = 0;
      for (const name of await readdir(folder)) {
        if (name === mine) continue;
        const user = await readFile(join(folder, name), 'utf8').catch(() => '');
        if (processIdentity(Number.parseInt(user, 10)) === user) others += 1;
        else await rm(join(folder, name), { force: true });
      }
      return others > 0;
    },
    end: () => rm(join(folder, mine), { force: true }),
  };
}
