import { PedigreeError, type Clock } from '#kernel';

/** A log that is away: each try waits about three seconds by itself. */
const MOST_TRIES = 20;
const AGAIN_AFTER_MS = 500;

/** For what a program must read or write before it begins: a log that is away is waited for, up to a limit. */
export async function whileLogIsAway<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PedigreeError && error.code === 'unavailable') || tries >= MOST_TRIES) throw error;
      await clock.wait(AGAIN_AFTER_MS);
    }
  }
}
