import type { Clock } from '#kernel';

/**
 * Waits for `waitMs`, until `woken` aborts, or until `signal` does. Each `AbortSignal.any` would leave some hundred
 * bytes at a signal that lives long; this leaves nothing.
 */
export async function waitUntil({
  clock,
  waitMs,
  woken,
  signal,
}: {
  clock: Clock;
  waitMs: number;
  woken: AbortController;
  signal: AbortSignal;
}): Promise<undefined> {
  const wake = (): void => woken.abort();
  if (signal.aborted) wake();
  signal.addEventListener('abort', wake, { once: true });
  try {
    await clock.wait(waitMs, woken.signal);
  } finally {
    signal.removeEventListener('abort', wake);
  }
  return undefined;
}
