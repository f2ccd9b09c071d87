import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ATTEMPTS = 100;
const PAUSE_MS = 20;
/** Breaking a lock takes microseconds; a breaker that has been at it this long is dead too. */
const BREAKER_LIFE_MS = 10_000;

/**
 * Takes a folder for this process alone. Returns how to give it back. A lock whose process is gone is broken; a process
 * that only inherited the number is told apart by the moment of its start, where the system tells it. Throws an Error
 * that names the folder and the process.
 */
export function lockFolder(folder: string): () => void {
  const file = join(folder, 'lock');
  const unnamed = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(unnamed, `${process.pid} ${startOf(process.pid)}`, { flag: 'wx', mode: 0o600 });
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (linked(unnamed, file)) return () => rmSync(file, { force: true });
      const holder = readHolder(file);
      if (holder !== undefined && isAlive(holder))
        throw new Error(`another sandbox (process ${holder.pid}) works on ${folder}`);
      breakLock(file);
    }
  } finally {
    rmSync(unnamed);
  }
  throw new Error(`cannot lock ${folder}`);
}

/**
 * A link is made or refused in one step, and the lock is whole when it appears: nobody ever reads one without its
 * holder.
 */
function linked(unnamed: string, file: string): boolean {
  try {
    linkSync(unnamed, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * One process at a time looks again and removes; else the second would remove the lock that the first has just taken
 * anew.
 */
function breakLock(file: string): void {
  const breaker = `${file}.breaking`;
  try {
    mkdirSync(breaker);
  } catch {
    const begunMs = statSync(breaker, { throwIfNoEntry: false })?.mtimeMs;
    if (begunMs !== undefined && Date.now() - begunMs > BREAKER_LIFE_MS) rmdirSync(breaker);
    pause();
    return;
  }
  try {
    const holder = readHolder(file);
    if (holder === undefined || !isAlive(holder)) rmSync(file, { force: true });
  } finally {
    rmdirSync(breaker);
  }
}

/** The sandbox opens its folder before anything else, so it may stand still here. */
const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

function readHolder(file: string): { pid: number; start: string } | undefined {
  try {
    const [pid, start] = readFileSync(file, 'utf8').split(' ');
    return { pid: Number(pid), start: start ?? '' };
  } catch {
    return undefined;
  }
}

function isAlive({ pid, start }: { pid: number; start: string }): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startOf(pid) === start;
}

/** When a process started, in the system's own count; empty where it is not told. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name, in parentheses, may hold blanks; the start is the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, and only its parent has not looked yet.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
