import type { EventStore } from '#event-store';
import type { Clock } from '#kernel';
import type { Pool } from '#postgres';
import { casesAreRead, removeRunFiles } from '#reconciliation';
import type { ServiceLog } from '#service';
import type { Troubles } from './troubles.js';

const EVERY_MS = 3_600_000;
/** The list of cases follows the log by seconds; when it does not, nothing is removed. */
const PATIENCE_MS = 30_000;

export interface FilesParts {
  pool: Pool;
  store: Pick<EventStore, 'head'>;
  /** Folder of derived files. */
  folder: string;
  keptDays: number;
  log: ServiceLog;
  clock: Clock;
  signal: AbortSignal;
}

/** Removes old files of runs once an hour, and says so. Errors are said, never thrown. */
export async function keepRunFiles({ troubles, ...parts }: FilesParts & { troubles: Troubles }): Promise<void> {
  const { clock, signal } = parts;
  const remove = (): Promise<unknown> =>
    removeOldFiles(parts).catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error as Error)));
  for (; !signal.aborted; await clock.wait(EVERY_MS, signal)) await troubles.trying('remove old files of runs', remove);
}

/** Once. @throws PedigreeError `unavailable` while the read model lacks cases that the log has. */
export async function removeOldFiles({
  pool,
  store,
  folder,
  keptDays,
  log,
  clock,
  signal,
}: FilesParts): Promise<number> {
  await casesAreRead(pool, await store.head(), { patienceMs: PATIENCE_MS, clock, signal });
  return removeRunFiles({
    ...{ db: pool, folder, keptDays, now: clock.now() },
    onUnclear: (file) =>
      log.warn({ file }, 'no snapshot is removed: this file is damaged, and a run that stays has it'),
    onRemove: (one) => log.info(one, 'removed old files of a run or a snapshot'),
  });
}
