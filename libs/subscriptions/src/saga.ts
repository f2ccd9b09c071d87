import { defined } from '#kernel';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { NewTask, TaskQueue } from '#tasks';
import { foldSaga, routesOf, type Folded, type HeldEvent, type Known, type Route, type Saga } from './fold.js';
import { awaitedAmong, removeDependents, storeDependents } from './dependents.js';
import { DEFAULT_PARKING_LIMITS, holdEvents, type ParkingLimits } from './parked.js';
import { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions } from './runner.js';

export interface SagaParts<State> {
  saga: Saga<State>;
  queue: Pick<TaskQueue, 'schedule'>;
  /** Default: 100 instances with 10,000 events. */
  parkingLimits?: ParkingLimits;
}

/** An instance that was parked, and the event at which it stands. */
export interface ParkingNews {
  saga: string;
  key: string;
  event: RecordedEvent;
  error: unknown;
}

export type SagaOptions<State> = SagaParts<State> &
  Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'> & {
    /** After the commit. */ onParked?: (news: ParkingNews) => void;
  };

export const sagaCheckpoint = (saga: { name: string }): string => `saga:${saga.name}`;

/**
 * Runs a saga until `signal` aborts: states, tasks, what is parked and the checkpoint of a page are one transaction.
 */
export function runSaga<State>(options: SagaOptions<State>): Promise<void> {
  const { saga, queue, parkingLimits, onParked, ...rest } = options;
  const handler = sagaHandler({ saga, queue, ...defined({ parkingLimits }) });
  let news: HeldEvent[] = [];
  return runSubscription({
    ...rest,
    name: sagaCheckpoint(saga),
    filter: saga.filter,
    handle: async (...page) => {
      const folded = await handler(...page);
      news = folded.held.filter((one) => one.error !== undefined);
      return folded.events;
    },
    onBatch: (batch) => {
      for (const { key, event, error } of news.splice(0)) onParked?.({ saga: saga.name, key, event, error });
      options.onBatch?.(batch);
    },
  });
}

/** Works a saga up to the end of the log and returns the position. */
export function catchUpSaga<State>(
  options: SagaParts<State> & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>,
): Promise<bigint> {
  const { saga, queue, parkingLimits, ...rest } = options;
  const handler = sagaHandler({ saga, queue, ...defined({ parkingLimits }) });
  return catchUp({
    ...rest,
    name: sagaCheckpoint(saga),
    filter: saga.filter,
    handle: async (...page) => (await handler(...page)).events,
  });
}

function sagaHandler<State>(parts: SagaParts<State>) {
  return async (
    events: RecordedEvent[],
    tx: Transaction,
    handledAt: Date,
  ): Promise<Pick<Folded<State>, 'held' | 'events'>> => {
    const routes = routesOf(parts.saga, events, handledAt);
    const folded = foldSaga(parts.saga, routes, await loadKnown<State>(tx, parts.saga.name, routes));
    await writeFolded(tx, parts, folded);
    return folded;
  };
}

/** In the transaction that holds the saga's checkpoint. */
export async function writeFolded<State>(
  tx: Transaction,
  { saga, queue, parkingLimits = DEFAULT_PARKING_LIMITS }: SagaParts<State>,
  folded: Folded<State>,
): Promise<void> {
  const { changed, held } = folded;
  const forgotten = [...changed].filter(([, state]) => state === saga.initial).map(([key]) => key);
  const kept = [...changed].filter(([, state]) => state !== saga.initial);
  if (kept.length > 0) await saveStates(tx, saga.name, kept);
  if (forgotten.length > 0) await forgetStates(tx, saga.name, forgotten);
  if (held.length > 0) await holdEvents(tx, saga.name, held, { limits: parkingLimits });
  const tasks = [...folded.tasks, ...(await dependentsOfPage(tx, saga.name, folded))];
  if (tasks.length > 0) await queue.schedule(tx, tasks);
}

/**
 * Rows first, then the question who is waited for: a dependent of this very page counts. At most three statements,
 * however many wait.
 */
async function dependentsOfPage(
  tx: Transaction,
  saga: string,
  { dependents, stopped, tasksForDependents }: Folded<unknown>,
): Promise<NewTask[]> {
  if (stopped.size > 0) await removeDependents(tx, saga, [...stopped]);
  if (dependents.length > 0) await storeDependents(tx, saga, dependents);
  if (tasksForDependents.length === 0) return [];
  const awaited = await awaitedAmong(
    tx,
    saga,
    tasksForDependents.map((one) => one.key),
  );
  return tasksForDependents.flatMap(({ key, tasks }) => (awaited.has(key) ? tasks : []));
}

/** The states of the instances that are concerned, and everything that is parked: that is little, by its limit. */
export async function loadKnown<State>(tx: Transaction, saga: string, routes: Route[]): Promise<Known<State>> {
  const keys = new Set(routes.flatMap((route) => [...route.keys]));
  const text = `SELECT key, state FROM saga_state WHERE saga = $1 AND key = ANY ($2::text[])
    UNION ALL SELECT key, NULL FROM parked_instance WHERE saga = $1`;
  const { rows } = await tx.query<{ key: string; state: string | null }>({
    name: 'saga-load',
    text,
    values: [saga, [...keys]],
  });
  return {
    states: new Map(rows.flatMap(({ key, state }) => (state === null ? [] : [[key, JSON.parse(state) as State]]))),
    parked: new Set(rows.flatMap(({ key, state }) => (state === null ? [key] : []))),
  };
}

async function saveStates(tx: Transaction, saga: string, states: [string, unknown][]): Promise<void> {
  const text = `INSERT INTO saga_state (saga, key, state) SELECT $1, key, state FROM unnest($2::text[],
      $3::text[]) AS given(key, state)
    ON CONFLICT (saga, key) DO UPDATE SET state = excluded.state`;
  await tx.query({
    name: 'saga-save',
    text,
    values: [saga, states.map(([key]) => key), states.map(([, state]) => JSON.stringify(state))],
  });
}

async function forgetStates(tx: Transaction, saga: string, keys: string[]): Promise<void> {
  await tx.query('DELETE FROM saga_state WHERE saga = $1 AND key = ANY ($2::text[])', [saga, keys]);
}
