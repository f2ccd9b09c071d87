import { setTimeout as delay } from 'node:timers/promises';

const LEAST_PAUSE_MS = 10;
const MOST_PAUSE_MS = 100;
/** Of the time waited so far: whoever waits long need not ask a hundred times a second, for each question is work. */
const PAUSE_SHARE = 0.05;

/** How many times as long a slow machine may take. */
const PATIENCE = Number(process.env['PEDIGREE_TEST_PATIENCE'] ?? 1);

/** A limit for a machine of usual speed, as long as this one may take. */
export const patient = (limitMs: number): number => limitMs * PATIENCE;

/** Waits for something that another process brings about. Fails in words when it does not come. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const [startedMs, mostMs] = [performance.now(), patient(limitMs)];
  while (!(await holds())) {
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > mostMs) throw new Error(`not within ${mostMs} ms: ${what}`);
    await delay(Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, waitedMs * PAUSE_SHARE)));
  }
}
