import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PlannedTask } from '#domain';
import type { Clock } from '#kernel';
import { keepFetch, newestSuspendedFetch, planFetchTask, type RegistryFetch } from '#reconciliation';
import type { TaskResult } from '#tasks';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import { checkedLane, type Lane, type Planning, type TaskOf } from '../lane.js';
import { takeList, type TakeContext } from './take-list.js';

export interface SuspendedListContext extends TakeContext {
  queue: Planning;
  clock: Pick<Clock, 'now'>;
  /** From the beginning of one reading to that of the next; 0: the list is not read. */
  suspendedListEveryMs: number;
}

/** Behind the reads that reconciliation makes. */
const LOWEST_PRIORITY = 950;
/** How often it is looked whether a reading is due, and whether the one that runs has ended. */
const IDLE_LOOK_MS = 15_000;
const BUSY_LOOK_MS = 500;
/** A reading that failed is begun anew after so long, or at its next turn where that is sooner. */
const AGAIN_AFTER_MS = 600_000;

const laneName = (account: string): string => `${account}/suspended_list`;

/** The task that never ends: one reader over all processes, because it is one task. */
export const suspendedListTask = (account: string): PlannedTask<'suspended_list'> => ({
  ...{ key: `suspended_list:${account}`, kind: 'suspended_list', lane: laneName(account), priority: LOWEST_PRIORITY },
  ...{ dueAt: new Date(0), payload: { account } },
});

export const suspendedListLanes = (context: SuspendedListContext, accounts: string[]): Lane[] =>
  accounts.map((account) =>
    checkedLane({
      ...{ name: laneName(account), concurrency: 1 },
      kinds: { suspended_list: { handle: (task) => watchList(context, task) } },
    }),
  );

/** Begins a reading when one is due, and takes over what was read whole. It never fails for good. */
export async function watchList(context: SuspendedListContext, task: TaskOf<'suspended_list'>): Promise<TaskResult> {
  const { suspendedListEveryMs: everyMs } = context;
  const again = (delayMs: number, error?: string): TaskResult => ({
    ...{ kind: 'retry', delayMs, countsAsAttempt: false },
    ...(error === undefined ? {} : { error }),
  });
  if (everyMs === 0) return again(IDLE_LOOK_MS);
  try {
    const newest = await newestSuspendedFetch(context.pool);
    if (newest?.phase === 'complete') await takeList(context, newest);
    else if (isDue(newest, { nowMs: context.clock.now().getTime(), everyMs })) {
      await begin(context, task.payload.account, newest);
      return again(BUSY_LOOK_MS);
    } else if (newest !== undefined && !hasEnded(newest)) return again(BUSY_LOOK_MS);
    return again(Math.min(everyMs, IDLE_LOOK_MS));
  } catch (error) {
    const { message } = error as Error;
    context.warn({ error: message }, 'the list of suspended packs could not be taken over');
    return again(IDLE_LOOK_MS, message);
  }
}

const hasEnded = ({ phase }: RegistryFetch): boolean => phase === 'gathered' || phase === 'failed';

/** One that a crash has left before it was planned is begun again: its id stands. */
function isDue(newest: RegistryFetch | undefined, { nowMs, everyMs }: { nowMs: number; everyMs: number }): boolean {
  if (newest === undefined || newest.phase === 'asked') return true;
  const waitMs = newest.phase === 'failed' ? Math.min(everyMs, AGAIN_AFTER_MS) : everyMs;
  return hasEnded(newest) && nowMs - newest.requestedAt.getTime() >= waitMs;
}

async function begin(
  { pool, queue }: SuspendedListContext,
  account: string,
  newest: RegistryFetch | undefined,
): Promise<void> {
  const fetchId = newest?.phase === 'asked' ? newest.fetchId : randomUUID();
  await keepFetch(
    pool,
    { fetchId, account, way: 'suspended', reason: 'the watch for suspensions', actor: SYSTEM, expected: null },
    // A walk through a list names no packs.
    { items: Readable.from([]), schedule: (tx) => queue.schedule(tx, [planFetchTask(fetchId)]) },
  );
}
