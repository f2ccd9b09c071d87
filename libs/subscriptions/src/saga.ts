import type { EventFilter, RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { NewTask, TaskQueue } from '#tasks';
import { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions } from './runner.js';

/** What follows from events, pure: it remembers a state per instance and plans tasks (DESIGN section 3). */
export interface Saga<State> {
  /** Also the name of its checkpoint, as `saga:<name>`. */
  name: string;
  filter: EventFilter;
  /** Instances an event concerns. */
  keysOf(event: RecordedEvent): string[];
  /** State of an instance that no event has concerned yet. States must have a JSON form. */
  initial: State;
  react(state: State, event: RecordedEvent, key: string): { state: State; tasks: NewTask[] };
  /** True when the state may be forgotten: a later event for the instance would then begin from `initial`. */
  isDone?(state: State): boolean;
}

interface SagaParts<State> {
  saga: Saga<State>;
  queue: Pick<TaskQueue, 'schedule'>;
}

export type SagaOptions<State> = SagaParts<State> & Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'>;

export const sagaCheckpoint = (saga: { name: string }): string => `saga:${saga.name}`;

/** Runs a saga until `signal` aborts: states, tasks and checkpoint of a page are one transaction. */
export function runSaga<State>(options: SagaOptions<State>): Promise<void> {
  const { saga, queue, ...rest } = options;
  return runSubscription({ ...rest, name: sagaCheckpoint(saga), filter: saga.filter, handle: sagaHandler({ saga, queue }) });
}

/** Works a saga up to the end of the log and returns the position. */
export function catchUpSaga<State>(options: SagaParts<State> & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>): Promise<bigint> {
  const { saga, queue, ...rest } = options;
  return catchUp({ ...rest, name: sagaCheckpoint(saga), filter: saga.filter, handle: sagaHandler({ saga, queue }) });
}

/** The instances that each event concerns, each once. */
function routesOf<State>(saga: Saga<State>, events: RecordedEvent[]): { event: RecordedEvent; keys: Set<string> }[] {
  return events.map((event) => ({ event, keys: new Set(saga.keysOf(event)) }));
}

/** Folds events in order into states. Pure: `states` is left alone; what comes back holds only instances whose state changed. */
export function foldSaga<State>(saga: Saga<State>, events: RecordedEvent[], states: ReadonlyMap<string, State>): { changed: Map<string, State>; tasks: NewTask[] } {
  const changed = new Map<string, State>();
  const tasks: NewTask[] = [];
  for (const { event, keys } of routesOf(saga, events)) {
    for (const key of keys) {
      const before = changed.get(key) ?? states.get(key) ?? saga.initial;
      const after = saga.react(before, event, key);
      if (after.state !== before) changed.set(key, saga.isDone?.(after.state) === true ? saga.initial : after.state);
      tasks.push(...after.tasks);
    }
  }
  return { changed, tasks };
}

function sagaHandler<State>({ saga, queue }: SagaParts<State>) {
  return async (events: RecordedEvent[], tx: Transaction): Promise<void> => {
    const keys = new Set(events.flatMap((event) => saga.keysOf(event)));
    const states = await loadStates<State>(tx, saga.name, [...keys]);
    const { changed, tasks } = foldSaga(saga, events, states);
    const forgotten = [...changed].filter(([, state]) => state === saga.initial).map(([key]) => key);
    const kept = [...changed].filter(([, state]) => state !== saga.initial);
    if (kept.length > 0) await saveStates(tx, saga.name, kept);
    if (forgotten.length > 0) await forgetStates(tx, saga.name, forgotten);
    if (tasks.length > 0) await queue.schedule(tx, tasks);
  };
}

async function loadStates<State>(tx: Transaction, saga: string, keys: string[]): Promise<Map<string, State>> {
  const text = 'SELECT key, state FROM saga_state WHERE saga = $1 AND key = ANY ($2::text[])';
  const { rows } = await tx.query<{ key: string; state: string }>({ name: 'saga-load', text, values: [saga, keys] });
  return new Map(rows.map((row) => [row.key, JSON.parse(row.state) as State]));
}

async function saveStates<State>(tx: Transaction, saga: string, states: [string, State][]): Promise<void> {
  const text = `INSERT INTO saga_state (saga, key, state) SELECT $1, key, state FROM unnest($2::text[], $3::text[]) AS given(key, state)
    ON CONFLICT (saga, key) DO UPDATE SET state = excluded.state`;
  await tx.query({ name: 'saga-save', text, values: [saga, states.map(([key]) => key), states.map(([, state]) => JSON.stringify(state))] });
}

async function forgetStates(tx: Transaction, saga: string, keys: string[]): Promise<void> {
  await tx.query('DELETE FROM saga_state WHERE saga = $1 AND key = ANY ($2::text[])', [saga, keys]);
}
