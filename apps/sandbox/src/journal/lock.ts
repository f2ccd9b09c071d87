import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ATTEMPTS = 3;

/**
 * Takes a folder for this process alone. Returns how to give it back. A lock whose process is gone is broken; a process that
 * only inherited the number is told apart by the moment of its start, where the system tells it.
 * Throws an Error that names the folder and the process.
 */
export function lockFolder(folder: string): () => void {
  const file = join(folder, 'lock');
  const mine = `${process.pid} ${startOf(process.pid)}`;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      writeFileSync(file, mine, { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readHolder(file);
    if (holder !== undefined && isAlive(holder)) throw new Error(`another sandbox (process ${holder.pid}) works on ${folder}`);
    rmSync(file, { force: true });
  }
  throw new Error(`cannot lock ${folder}`);
}

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
