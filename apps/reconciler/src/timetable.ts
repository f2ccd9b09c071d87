import type { PlannedTask } from '#domain';
import type { Clock } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import {
  comparisonSettings,
  findRequest,
  keepAskedRun,
  keepRequest,
  newestReason,
  newestTick,
  runTask,
  tickRunId,
  type RunKind,
  type Timetable,
} from '#reconciliation';
import type { ServiceLog } from '#service';
import type { StockRuns, Timetables } from './config.js';
import { ACTOR } from './stock-run-parts.js';
import type { Troubles } from './troubles.js';

export interface TimetableParts {
  timetables: Timetables;
  /** With whose account and settings runs of packs are made; absent: with the usual settings, and without registry. */
  stock: StockRuns | undefined;
  pool: Pool;
  queue: { schedule(tx: Transaction, tasks: PlannedTask[]): Promise<void> };
  installation: { id: string };
  log: ServiceLog;
  clock: Clock;
  signal: AbortSignal;
}

const LOOK_EVERY_MS = 30_000;

/** Asks for runs by their timetables until the signal. Errors are said, never thrown. */
export async function askByTimetable({ troubles, ...parts }: TimetableParts & { troubles: Troubles }): Promise<void> {
  const { timetables, clock, signal } = parts;
  if (timetables.documents === undefined && timetables.packs === undefined) return;
  const since = clock.now();
  for (; !signal.aborted; await clock.wait(LOOK_EVERY_MS, signal))
    await troubles.trying('request scheduled runs', () => askForTicks(parts, since));
}

/**
 * Asks for the runs of the newest ticks. The id follows from the tick, so that several reconcilers and repeats make one
 * run; of ticks that were missed only the newest one is made up for. Where the timetable was changed, none is that came
 * before `since`, the start of this reconciler: nobody has missed it.
 */
export async function askForTicks(parts: TimetableParts, since: Date): Promise<void> {
  const { documents, packs } = parts.timetables;
  if (documents !== undefined) await ask(parts, { kind: 'documents', timetable: documents, since });
  if (packs !== undefined) await ask(parts, { kind: 'packs', timetable: packs, since });
}

const REASON = 'the run of ';

async function ask(
  parts: TimetableParts,
  { kind, timetable, since }: { kind: RunKind; timetable: Timetable; since: Date },
): Promise<void> {
  const { pool, queue, installation, clock } = parts;
  const tick = newestTick(timetable, clock.now());
  if (tick === undefined || (tick <= since && (await wasChanged(pool, kind, timetable)))) return;
  const runId = tickRunId(installation.id, kind, tick);
  const request = { runId, reason: `${REASON}${tick.toISOString()}`, actor: ACTOR };
  if (kind === 'documents')
    return inTransaction(pool, async (tx) => {
      if ((await findRequest(tx, runId)) !== undefined) return;
      await keepRequest(tx, request);
      await queue.schedule(tx, [runTask(runId)]);
    });
  await keepAskedRun(pool, { ...request, asked: packsAsked(parts) });
}

/** Whether the last tick of which a run was asked for is none of this timetable. */
async function wasChanged(pool: Pool, kind: RunKind, timetable: Timetable): Promise<boolean> {
  const reason = await newestReason(pool, { kind, actor: ACTOR, beginning: REASON });
  if (reason === undefined) return false;
  const last = new Date(reason.slice(REASON.length));
  return newestTick(timetable, last)?.getTime() !== last.getTime();
}

const packsAsked = ({ stock, timetables }: TimetableParts) => ({
  ...{ stock: null, branch: null, asOf: null, account: stock?.account ?? null, way: stock?.way ?? 'auto' },
  ...{ registry: null, disposals: null, settings: stock?.settings ?? comparisonSettings({}), dryRun: false },
  ...{ freshHours: stock?.freshHours ?? null, incremental: stock?.incremental ?? null },
  mostHours: timetables.staleHours,
});
