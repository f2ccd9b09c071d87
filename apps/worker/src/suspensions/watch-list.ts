import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PlannedTask } from '#domain';
import type { Clock } from '#kernel';
import {
  abandonFetch,
  keepFetch,
  newestPageAt,
  newestWatchFetch,
  removeStaged,
  type RegistryFetch,
  type WatchWay,
} from '#reconciliation';
import type { TaskResult } from '#tasks';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import { checkedLane, type Lane, type Planning } from '../lane.js';
import { UnusableList, type TakeContext } from './list-taken.js';
import { prepareList, tellList } from './take-list.js';

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
/** A page that fails is tried for three quarters of an hour. After so long without one nobody reads any more. */
const STILL_MS = 6 * 3_600_000;

const LANE = 'watch_suspensions';

/**
 * It never ends: one reader over all processes, because it is one task. It belongs to no account, for the key of a task
 * that ended is not used again, and the accounts file may change its order, and change back.
 */
export const SUSPENSION_WATCH: PlannedTask<'watch_suspensions'> = {
  ...{ key: 'watch_suspensions', kind: 'watch_suspensions', lane: LANE, priority: LOWEST_PRIORITY },
  ...{ dueAt: new Date(0), payload: {} },
};

/** Reads with the first account; there is always one. */
export const suspensionWatchLanes = (context: SuspendedListContext, accounts: string[]): Lane[] => [
  checkedLane({
    ...{ name: LANE, concurrency: 1 },
    kinds: { watch_suspensions: { handle: () => watchList(context, accounts[0] as string) } },
  }),
  // A version before had a task for each account that was ever the first.
  ...accounts.map((account) =>
    checkedLane({
      ...{ name: `${account}/suspended_list`, concurrency: 1 },
      kinds: { suspended_list: { handle: () => Promise.resolve({ kind: 'done' }) } },
    }),
  ),
];

/** What is read, each by readings of its own: one that fails keeps the other from nothing. */
const WAYS = ['suspended', 'decisions'] as const;

/** Begins readings when they are due, and takes over what was read whole. It never fails for good. */
async function watchList(context: SuspendedListContext, account: string): Promise<TaskResult> {
  if (context.suspendedListEveryMs === 0) return { kind: 'retry', delayMs: IDLE_LOOK_MS, countsAsAttempt: false };
  const looks: { delayMs: number; error?: string }[] = [];
  for (const way of WAYS) looks.push(await lookAfter(context, account, way));
  const error = looks.flatMap((one) => one.error ?? []).join('; ');
  const delayMs = Math.min(...looks.map((one) => one.delayMs));
  return { kind: 'retry', delayMs, countsAsAttempt: false, ...(error === '' ? {} : { error }) };
}

/** One of them: when to look again, and what went wrong. */
async function lookAfter(context: SuspendedListContext, account: string, way: WatchWay) {
  const { suspendedListEveryMs: everyMs } = context;
  try {
    const newest = await newestWatchFetch(context.pool, way);
    if (newest?.phase === 'complete') await takeOver(context, newest);
    else if (isDue(newest, { nowMs: context.clock.now().getTime(), everyMs })) {
      await begin(context, { account, way }, newest);
      return { delayMs: BUSY_LOOK_MS };
    } else if (newest !== undefined && !hasEnded(newest)) {
      await giveUpStill(context, newest);
      return { delayMs: BUSY_LOOK_MS };
    }
    return { delayMs: Math.min(everyMs, IDLE_LOOK_MS) };
  } catch (error) {
    const { message } = error as Error;
    context.warn({ error: message, way }, 'the list of suspended packs could not be taken over');
    return { delayMs: IDLE_LOOK_MS, error: message };
  }
}

/** What cannot be taken over, for hours or for good, would keep every later reading away. */
async function takeOver(context: SuspendedListContext, fetch: RegistryFetch): Promise<void> {
  const taken = await prepareList(context, fetch).catch(async (error: Error) => {
    // Nothing of it was told yet.
    if (error instanceof UnusableList || isStill(context, fetch.completedAt ?? fetch.requestedAt)) {
      await abandonFetch(context.pool, fetch, `it could not be taken over: ${error.message}`);
      await removeStaged(context.pool, fetch.fetchId);
    }
    throw error;
  });
  if (taken !== undefined) await tellList(context, taken);
}

const isStill = ({ clock }: Pick<SuspendedListContext, 'clock'>, since: Date): boolean =>
  clock.now().getTime() - since.getTime() >= STILL_MS;

/**
 * A reading whose task is gone, or failed for good, or waits for an account that nobody serves any more, would keep
 * every later one away.
 */
async function giveUpStill(context: SuspendedListContext, fetch: RegistryFetch): Promise<void> {
  const { pool, warn } = context;
  const { fetchId, account, way, requestedAt } = fetch;
  if (!isStill(context, requestedAt) || !isStill(context, (await newestPageAt(pool, fetchId)) ?? requestedAt)) return;
  warn({ fetch: fetchId, account, way }, 'a reading of suspensions stands still: it is given up, and begun anew');
  await abandonFetch(pool, fetch, 'it stood still for hours');
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
  { account, way }: { account: string; way: WatchWay },
  newest: RegistryFetch | undefined,
): Promise<void> {
  const fetchId = newest?.phase === 'asked' ? newest.fetchId : randomUUID();
  await keepFetch(
    pool,
    { fetchId, account, way, reason: 'the watch for suspensions', actor: SYSTEM, expected: null },
    // A walk through a list names no packs.
    { items: Readable.from([]), schedule: (tx, tasks) => queue.schedule(tx, tasks) },
  );
}
