import { setTimeout as delay } from 'node:timers/promises';

/** Waits for something that another process brings about. Fails in words when it does not come. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await delay(10);
  }
}
