import type { SuspensionFinding } from '#domain';
import type { EventStore } from '#event-store';
import type { Clock } from '#kernel';
import type { Pool } from '#postgres';
import { packsStopped, SuspensionsInForce, type InForce, type NamedPacks } from '#read-models';
import type { ServiceLog } from '#service';

/** A mark at intake may be so old: what is sent is judged anew. */
const BELIEVED_MS = 1_000;
/** A command waits no longer for its mark. */
const PATIENCE_MS = 2_000;
export const NOT_CHECKED = 'could not check a command’s packs for suspension; they are checked before they are sent';

export interface PacksSuspendedOptions {
  pool: Pool;
  store: Pick<EventStore, 'readAll' | 'head'>;
  clock: Clock;
  log: Pick<ServiceLog, 'info' | 'warn'>;
}

/**
 * Which packs of a document are suspended, as far as that was known a second ago. Undefined where it cannot be told
 * now: intake needs PostgreSQL alone, and the worker judges again before each send. Never rejects.
 */
export function packsSuspendedBy(
  options: PacksSuspendedOptions,
): (document: NamedPacks) => Promise<SuspensionFinding | undefined> {
  const { pool, clock, log } = options;
  const suspensions = new SuspensionsInForce(options);
  let asked: Promise<InForce> | undefined;
  let isAsking = false;
  let askedAtMs = -Infinity;
  /** One question at a time, and a failed one is not asked again at once either. */
  const known = (): Promise<InForce> => {
    if (asked === undefined || (!isAsking && clock.monotonicMs() - askedAtMs > BELIEVED_MS)) {
      askedAtMs = clock.monotonicMs();
      isAsking = true;
      asked = suspensions.now().finally(() => (isAsking = false));
    }
    return asked;
  };
  return async (document) => {
    const answered = new AbortController();
    const late = clock.wait(PATIENCE_MS, answered.signal).then(() => {
      // A busy machine is no fault that somebody must mend.
      if (!answered.signal.aborted) log.info({ waitedMs: PATIENCE_MS }, NOT_CHECKED);
      return undefined;
    });
    try {
      return await Promise.race([known().then((inForce) => packsStopped(pool, inForce, document)), late]);
    } catch (err) {
      log.warn({ err }, NOT_CHECKED);
      return undefined;
    } finally {
      answered.abort();
    }
  };
}
