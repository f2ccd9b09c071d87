import { PedigreeError, type Clock } from '#kernel';
import { databaseIsAway } from '#postgres';

/** A log that is away: each try waits about three seconds by itself. */
const MOST_TRIES = 20;
const AGAIN_AFTER_MS = 500;

/** Repeats what a program must read or write at its start while the log or the database is away, up to a limit. */
export async function whileLogIsAway<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!logIsAway(error) || tries >= MOST_TRIES) throw error;
      await clock.wait(AGAIN_AFTER_MS);
    }
  }
}

/** Whether an error means that the log, or the database, is away, and nothing of what was asked. */
export const logIsAway = (error: unknown): boolean =>
  (error instanceof PedigreeError && error.code === 'unavailable') || databaseIsAway(error);
