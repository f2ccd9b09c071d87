import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names a process of this machine so exactly that its death can be told later: host and number for people; then, where
 * the system tells them (Linux), the machine's boot, the namespace in which the number counts, and the moment of the
 * start, by which a later process of the same number is told apart.
 */
export function processName(pid: number = process.pid): string {
  const name = `${hostname()}:${pid}`;
  const place = placeOf();
  const start = startOf(pid);
  return place === undefined || start === undefined ? name : `${name} ${place} ${start.ticks}`;
}

/**
 * Whether the process of that name has surely ended. Everything in doubt counts as alive: another host or boot, another
 * container, a system that does not tell, a name of another make. An ended process writes nothing more; what it wrote
 * before may still be under way.
 */
export function isSurelyGone(name: string): boolean {
  const [, host, pidText, place, ticks] = /^(.+):(\d+) (\S+) (\d+)$/.exec(name) ?? [];
  if (host !== hostname() || place === undefined || place !== placeOf()) return false;
  const pid = Number(pidText);
  if (!exists(pid)) return true;
  const start = startOf(pid);
  // A zombie has ended and given up its sockets; only its parent has not looked yet.
  return start !== undefined && (start.ticks !== ticks || start.state === 'Z' || start.state === 'X');
}

/** Boot and namespace in which process numbers mean something; undefined where the system does not tell. */
function placeOf(): string | undefined {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/** Asked of the system itself: /proc may hide the processes of other users. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** State and start, in the system's ticks since its boot (proc(5): fields 3 and 22 of `stat`). */
function startOf(pid: number): { state: string; ticks: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name, in brackets before them, may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    return state === undefined || ticks === undefined ? undefined : { state, ticks };
  } catch {
    return undefined;
  }
}
