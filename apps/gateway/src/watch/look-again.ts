import type { Clock } from '#kernel';

export interface LookAgainOptions {
  everyMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Said when a look fails; the next one comes all the same. */
  log: { warn(about: object, message: string): void };
  failure: string;
}

/** Looks at once, and then every so often until `signal`. Never rejects. */
export async function lookAgain(
  look: () => Promise<unknown>,
  { everyMs, clock, signal, log, failure }: LookAgainOptions,
): Promise<void> {
  while (!signal.aborted) {
    await look().catch((err: unknown) => log.warn({ err }, failure));
    await clock.wait(everyMs, signal);
  }
}
