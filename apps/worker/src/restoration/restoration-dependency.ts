import { heldTooLong } from '#backup';
import { systemClock, type Clock } from '#kernel';
import { openPool, type Pool } from '#postgres';
import type { Dependency, ServiceLog } from '#service';

const CHECK_TIMEOUT_MS = 5_000;
const SAY_EVERY_MS = 10 * 60_000;
const LOOK_EVERY_MS = 60_000;

/** Readiness names a restored database that holds back for too long. The worker goes on with everything else. */
export function restorationDependency(databaseUrl: string, accounts: string[]): Dependency {
  const pool = openPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: 'pedigree-health',
    connectTimeoutMs: CHECK_TIMEOUT_MS,
    answerTimeoutMs: CHECK_TIMEOUT_MS,
  });
  return {
    name: 'restoration',
    where: 'database',
    isRequired: false,
    check: async () => {
      // A database that cannot be read is told as such by its own part.
      const sentence = await heldTooLong(pool, accounts).catch(() => undefined);
      if (sentence !== undefined) throw new Error(sentence);
    },
    close: () => pool.end(),
  };
}

export interface SayWhenHeldOptions {
  pool: Pool;
  accounts: string[];
  signal: AbortSignal;
  log: Pick<ServiceLog, 'error' | 'warn'>;
  clock?: Clock;
}

/**
 * Says in the log, again and again, that a restored database holds back for too long, and for which lists. Never
 * rejects.
 */
export async function sayWhenHeld({
  pool,
  accounts,
  signal,
  log,
  clock = systemClock,
}: SayWhenHeldOptions): Promise<void> {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    try {
      const sentence = await heldTooLong(pool, accounts);
      if (sentence !== undefined && clock.monotonicMs() - saidAtMs >= SAY_EVERY_MS) {
        saidAtMs = clock.monotonicMs();
        log.error({ service: 'restoration' }, sentence);
      }
    } catch (err) {
      log.warn({ err }, 'could not read whether a restored backup is on hold');
    }
    await clock.wait(LOOK_EVERY_MS, signal);
  }
}
