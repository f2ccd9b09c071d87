import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The system user that runs the server; undefined stands for ourselves. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** In order of preference. Both are found on any ordinary Linux or macOS. */
const CANDIDATES = ['postgres', 'nobody'];

/**
 * PostgreSQL refuses to run as root. As root we hand it to `postgres` or `nobody`, or to whoever owns the cluster
 * already.
 * @throws Error in words when we are root and the system knows neither user.
 */
export async function serverUserFor(clusterDir: string | undefined): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = clusterDir === undefined ? undefined : await stat(clusterDir).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const name of CANDIDATES) {
    const fields = users
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.split(':');
    const [, , uid, gid] = fields ?? [];
    if (Number(uid) > 0 && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it: start Pedigree as ' +
      'an ordinary user',
  );
}

/** Whether `user` may enter `directory`: it, and every folder above it, lets the user through (file modes; no ACLs). */
export async function isReachable(directory: string, user: ServerUser | undefined): Promise<boolean> {
  if (user === undefined) return true;
  for (let at = resolve(directory), depth = 0; depth < 256; at = dirname(at), depth += 1) {
    const found = await stat(at).catch(() => undefined);
    if (found !== undefined) {
      const bit = found.uid === user.uid ? 0o100 : found.gid === user.gid ? 0o010 : 0o001;
      if ((found.mode & bit) === 0) return false;
    }
    if (at === dirname(at)) return true;
  }
  return false;
}
