import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 25;
/** Breaking a dead owner's lock takes microseconds; a breaker that has been at it this long is dead too. */
const BREAKER_LIFE_MS = 10_000;

/**
 * Runs `work` while no other process of this machine runs it for the same `path`. The lock is a file that names its
 * owner (process id and start time), so that the lock of a killed process is taken over, also when its id has been
 * given to another.
 * @throws Error naming the file and its owner when the lock is not free within `waitMs`.
 */
export async function withStartLock<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const mine = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(mine, processIdentity(process.pid) ?? String(process.pid));
  try {
    await acquire(path, mine, waitMs);
  } finally {
    await unlink(mine);
  }
  try {
    return await work();
  } finally {
    await unlink(path);
  }
}

/** A hard link is made or refused in one step, and the file is complete when it appears. */
async function acquire(path: string, mine: string, waitMs: number): Promise<void> {
  for (let waitedMs = 0; waitedMs <= waitMs; waitedMs += POLL_MS) {
    try {
      await link(mine, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (await isAbandoned(path)) await breakLock(path);
    else await delay(POLL_MS);
  }
  throw new Error(`${path} is held by process ${await ownerOf(path)} for more than ${String(waitMs)} ms`);
}

async function ownerOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

async function isAbandoned(path: string): Promise<boolean> {
  const owner = await ownerOf(path);
  // Gone in the meantime: the next attempt will tell.
  if (owner === '') return false;
  return processIdentity(Number.parseInt(owner, 10)) !== owner;
}

/**
 * Only one process may look again and remove, else the second would remove the lock that the first has just taken anew.
 */
async function breakLock(path: string): Promise<void> {
  const breaker = `${path}.breaking`;
  try {
    await mkdir(breaker);
  } catch {
    const age = await stat(breaker).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    if (age > BREAKER_LIFE_MS) await rmdir(breaker).catch(() => undefined);
    await delay(POLL_MS);
    return;
  }
  try {
    if (await isAbandoned(path)) await rm(path, { force: true });
  } finally {
    await rmdir(breaker);
  }
}

/**
 * The process's id, and on Linux its start time, which tells it from a later process with the same id; undefined when
 * there is none.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  try {
    // Field 22 of proc(5) `stat`; the name in brackets before it may hold blanks.
    const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return `${String(pid)} ${fields[19] ?? ''}`;
  } catch {
    return String(pid);
  }
}

export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
