import { readFileSync } from 'node:fs';
import type { Pool } from '#postgres';

/** A tick of Linux, in which the system counts the time of a process. */
const TICK_US = 10_000;
/** Fields of /proc/PID/stat behind the name of the program: user and system time. */
const [USER, SYSTEM] = [11, 12];

/** CPU that each of the server's processes of now has taken; 0 where the system does not say so (Linux does). */
export async function serverCpuUs(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pid FROM pg_stat_activity');
  return new Map(rows.map(({ pid }) => [pid, cpuUsOf(pid)]));
}

/** What they took since, but for those that have ended. */
export const takenSince = (before: Map<number, number>, now: Map<number, number>): number =>
  [...now].reduce((sum, [pid, us]) => sum + us - (before.get(pid) ?? 0), 0);

function cpuUsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_US;
  } catch {
    // It has ended meanwhile, or this is another system.
    return 0;
  }
}
