import type { EventFilter, RecordedEvent } from '#event-store';
import type { JsonObject } from '#kernel';
import { refuseUnfit, type NewTask } from '#tasks';

/**
 * An event with the database's time at which its page is handled. Due times count from there: an event's own time comes
 * from the clock of whichever server keeps the log, and is only shown.
 */
type HandledEvent = RecordedEvent & { handledAt: Date };

/** What follows from events, pure: it remembers a state per instance and plans tasks (principles 3.2). */
export interface Saga<State> {
  /** Also the name of its checkpoint, as `saga:<name>`. */
  name: string;
  filter: EventFilter;
  /** Instances an event concerns. No key begins with `stream:`. */
  keysOf(event: RecordedEvent): string[];
  /** State of an instance that no event has concerned yet. States must have a JSON form. */
  initial: State;
  react(state: State, event: HandledEvent, key: string): Reaction<State>;
  /** True when the state may be forgotten: a later event for the instance would then begin from `initial`. */
  isDone?(state: State): boolean;
}

interface Reaction<State> {
  state: State;
  tasks: NewTask[];
  /** Who waits for this instance from now on: a row each, so that the state stays small however many wait. */
  dependents?: NewDependent[];
  /** Planned only where rows say that somebody waits for this instance. */
  tasksForDependents?: NewTask[];
  /** This instance waits for nobody any more: the rows that name it as a dependent go. */
  stopsWaiting?: true;
}

export interface NewDependent {
  /** The instance that waits. */
  dependent: string;
  data: JsonObject;
}

/** A row of `saga_dependent`. */
export interface DependentOfKey extends NewDependent {
  /** The instance that is waited for. */
  key: string;
}

/**
 * An event on its way to the instances it concerns, each once; with `error` where the saga could not say which those
 * are.
 */
export interface Route {
  event: HandledEvent;
  keys: ReadonlySet<string>;
  error?: unknown;
}

/** What is known before events are folded: the states of the instances they concern, and everything that is parked. */
export interface Known<State> {
  states: ReadonlyMap<string, State>;
  parked: ReadonlySet<string>;
}

/** An event that waits for an instance; `error` is set on the one that parked it. */
export interface HeldEvent {
  key: string;
  event: RecordedEvent;
  error?: unknown;
}

export interface Folded<State> {
  /** Only instances whose state changed. */
  changed: Map<string, State>;
  tasks: NewTask[];
  held: HeldEvent[];
  /** Events that were folded, from the first: the others would plan too many tasks for one transaction. */
  events: number;
  dependents: DependentOfKey[];
  /** Instances that stopped waiting: of their rows only those among `dependents` stay, which came after. */
  stopped: Set<string>;
  tasksForDependents: { key: string; tasks: NewTask[] }[];
}

/** A page ends with the event that brings it to so many tasks. */
export const MOST_TASKS = 5_000;

const STREAM_KEY = 'stream:';
/** What is parked where an event's instances are not known: its whole stream, under a key that no instance has. */
const streamKey = (stream: string): string => `${STREAM_KEY}${stream}`;
export const isStreamKey = (key: string): boolean => key.startsWith(STREAM_KEY);

export function routesOf<State>(saga: Saga<State>, events: RecordedEvent[], handledAt: Date): Route[] {
  return events.map((recorded) => {
    const event = { ...recorded, handledAt };
    try {
      return { event, keys: new Set(saga.keysOf(event)) };
    } catch (error) {
      return { event, keys: new Set<string>(), error };
    }
  });
}

/**
 * Folds events in order into states. Pure: `known` is left alone. An event that throws for an instance parks that
 * instance: the event and all that follow for it are held, and nothing of them is folded, while every other instance
 * goes on.
 */
export function foldSaga<State>(saga: Saga<State>, routes: Route[], known: Known<State>): Folded<State> {
  const folded: Folded<State> = {
    changed: new Map(),
    tasks: [],
    held: [],
    events: 0,
    dependents: [],
    stopped: new Set(),
    tasksForDependents: [],
  };
  const parked = new Set(known.parked);
  const park = (one: HeldEvent): void => {
    parked.add(one.key);
    folded.held.push(one);
  };
  for (const { event, keys, error } of routes) {
    if (folded.tasks.length >= MOST_TASKS) break;
    folded.events += 1;
    const whole = streamKey(event.stream);
    if (parked.has(whole)) folded.held.push({ key: whole, event });
    else if (error !== undefined) park({ key: whole, event, error });
    else {
      for (const key of keys) {
        if (parked.has(key)) folded.held.push({ key, event });
        else foldOne(saga, { event, key, states: known.states }, { folded, park });
      }
    }
  }
  return folded;
}

function foldOne<State>(
  saga: Saga<State>,
  { event, key, states }: { event: HandledEvent; key: string; states: Known<State>['states'] },
  to: { folded: Folded<State>; park: (one: HeldEvent) => void },
): void {
  const { changed, tasks } = to.folded;
  const before = changed.get(key) ?? states.get(key) ?? saga.initial;
  try {
    const after = saga.react(before, event, key);
    const isDone = saga.isDone?.(after.state) === true;
    // Were an unfit task to fail only when it is scheduled, it would take everybody's page with it.
    after.tasks.forEach(refuseUnfit);
    after.tasksForDependents?.forEach(refuseUnfit);
    if (after.state !== before) changed.set(key, isDone ? saga.initial : after.state);
    tasks.push(...after.tasks);
    foldDependents(to.folded, key, after);
  } catch (error) {
    to.park({ key, event, error: error ?? new Error('the saga threw nothing') });
  }
}

function foldDependents<State>(
  folded: Folded<State>,
  key: string,
  { dependents = [], tasksForDependents = [], stopsWaiting }: Reaction<State>,
): void {
  folded.dependents.push(...dependents.map((one) => ({ key, ...one })));
  if (tasksForDependents.length > 0) folded.tasksForDependents.push({ key, tasks: tasksForDependents });
  if (stopsWaiting !== true) return;
  // One that registered and stopped waiting within this page needs no row; one that waits again afterwards does.
  folded.stopped.add(key);
  if (folded.dependents.some((one) => one.dependent === key))
    folded.dependents = folded.dependents.filter((one) => one.dependent !== key);
}
