import { logIsAway } from '#event-store';
import { TASK_PAYLOADS, type PayloadOf, type PlannedTask, type TaskKind } from '#domain';
import { checkingPayloads, type HandlersOf, type Task, type TaskHandler, type TaskQueue } from '#tasks';

/** A claimed task of one kind, whose payload was checked. */
export type TaskOf<Kind extends TaskKind> = Task<PayloadOf<Kind>>;

/** A claimed task, whatever it carries. */
export type Claim = Omit<Task, 'payload'>;

/** Where tasks go, each with the payload of its kind. */
export type Planning = Pick<TaskQueue<PlannedTask>, 'schedule'>;

/** One lane that this worker serves. */
export interface Lane<Kinds = Record<string, TaskHandler>> {
  name: string;
  kinds: Kinds;
  /** Handlers at work at the same time. */
  concurrency: number;
  /** Its work is begun in its order, whichever workers serve it. */
  inOrder?: boolean;
  /** Errors that say that what all tasks need is away. Default: the log or the database. */
  isAway?: (error: Error) => boolean;
  /** Most tasks of one claim. */
  batch?: number;
  /** While this says true nothing new of it is begun. */
  held?: () => Promise<boolean>;
}

/** A lane whose handlers name the kinds that they serve. */
export type TypedLane = Lane<HandlersOf<typeof TASK_PAYLOADS>>;

/** The lane with handlers that see no payload that does not fit its kind. */
export const checkedLane = (lane: TypedLane): Lane => ({
  isAway: logIsAway,
  ...lane,
  kinds: checkingPayloads(TASK_PAYLOADS, lane.kinds),
});
