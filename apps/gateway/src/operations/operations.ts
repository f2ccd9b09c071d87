import { randomUUID } from 'node:crypto';
import { foundSince, listsSince, newestRestoration, type RestorationState } from '#backup';
import { configurationHistory, type HistoryQuery, type RecordedChange } from '#configuration';
import type { PlannedTask } from '#domain';
import { newEvent, type Actor, type EventStore, type Says } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import type { Pool } from '#postgres';
import type { Orphan } from '#read-models';
import { parkedInstances, type ParkedInstance } from '#subscriptions';
import type { FailedTask, PostgresTaskQueue, TaskQueue } from '#tasks';
import { withoutRemovedLists } from '../accounts/removed-lists.js';
import type { DeadlineWatch } from '../deadlines/deadline-watch.js';
import type { OrphanWatch } from '../orphans/orphan-watch.js';
import { signedHistory, type SignedHistory } from './signed-history.js';
import type { Machinery, ProgramWatch } from '../programs/program-watch.js';

/**
 * How the machinery stands: what waits, what was given up, which programs run, and how far the subscriptions are behind
 * the log.
 */
interface OperationsStatus extends Machinery {
  tasks: { ready: number; leased: number; failed: number; overdue: number; oldestDueAt?: string };
  /** What the auditor has signed, and where its log was broken off. */
  audit?: SignedHistory;
  /** By which calendar, what is due soon or was due, and of which types nobody can tell. */
  deadlines: ReturnType<DeadlineWatch['found']>;
  /** Where this database is a restored backup. */
  restoration?: {
    state: RestorationState;
    backupTakenAt: string;
    restoredBy: string;
    releasedAt?: string;
    /** What was not known here before, as far as the lists were read. */
    found: { incoming: number; outgoing: number };
    unread: { account: string; list: string; problem?: string }[];
  };
}

export interface OperationsOptions extends Says {
  pool: Pool;
  store: EventStore;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'> &
    Pick<PostgresTaskQueue, 'queueFigures' | 'failedTasks' | 'retryFailed'>;
  orphans: Pick<OrphanWatch, 'look'>;
  programs: Pick<ProgramWatch, 'look'>;
  deadlines: Pick<DeadlineWatch, 'found'>;
  /** Names of the configured accounts. */
  accounts: string[];
}

const PARKED = 'parked:';
/** `failed:<kind>` means all failed tasks of that kind. */
const FAILED = 'failed:';
/** Failed tasks of one list and of one entry in the log; and most entries of one retry. */
const FAILED_OF_PAGE = 1_000;
const MOST_PAGES = 100;
/** The lane of apps/worker in which parked instances are tried again. */
const SAGA_LANE = 'saga';
/** By what name an operator has it tried again; `parked:<saga>` means all of that saga. */
export const parkedKey = ({ saga, key }: Pick<ParkedInstance, 'saga' | 'key'>): string => `${PARKED}${saga}:${key}`;

const today = (): string => new Date().toISOString().slice(0, 10);

/** Once a day for the same `what`: a key that was used before is a silent no-op. */
export const replanTask = ({ kind, id }: Pick<Orphan, 'kind' | 'id'>, what: string): PlannedTask<'replan'> => {
  const replanId = `${what}@${today()}`;
  return {
    key: `replan:${id}:${replanId}`,
    kind: 'replan',
    lane: 'internal',
    dueAt: new Date(0),
    payload: { kind, id, replanId },
  };
};

const nothingFailed = (key: string): PedigreeError =>
  new PedigreeError('not_found', `no failed task is called ${key}`, { field: 'key', item: key });

/** What an operator does with work that was given up: looks at it, and has it tried again for a reason that is kept. */
export class Operations {
  constructor(private readonly options: OperationsOptions) {}

  async status(): Promise<OperationsStatus> {
    const { queue, programs, accounts } = this.options;
    const [figures, machinery] = await Promise.all([queue.queueFigures(), programs.look()]);
    const { ready, leased, failed, lanes } = withoutRemovedLists(figures, accounts);
    const [restoration, audit] = await Promise.all([this.restoration(), signedHistory(this.options.pool)]);
    const oldest = lanes.flatMap((lane) => (lane.oldestDueAt === undefined ? [] : [lane.oldestDueAt.getTime()]));
    return {
      tasks: {
        ready,
        leased,
        failed,
        overdue: lanes.reduce((sum, lane) => sum + lane.overdue, 0),
        ...(oldest.length === 0 ? {} : { oldestDueAt: new Date(Math.min(...oldest)).toISOString() }),
      },
      ...machinery,
      deadlines: this.options.deadlines.found(),
      ...defined({ audit, restoration }),
    };
  }

  /** What programs were set to and who changed it, newest first. */
  configuration(query: HistoryQuery): Promise<{ changes: RecordedChange[]; hasMore: boolean }> {
    return configurationHistory(this.options.store, query);
  }

  private async restoration(): Promise<OperationsStatus['restoration']> {
    const { pool, accounts } = this.options;
    const newest = await newestRestoration(pool);
    if (newest === undefined) return undefined;
    const [lists, found] = await Promise.all([listsSince(pool, newest, accounts), foundSince(pool, newest)]);
    const unread = lists
      .filter((one) => newest.state !== 'released' && !one.isRead)
      .map(({ account, list, problem }) => ({ account, list, ...(problem === null ? {} : { problem }) }));
    const { state, takenAt, restoredBy, releasedAt } = newest;
    return {
      state,
      backupTakenAt: takenAt.toISOString(),
      restoredBy,
      found,
      unread,
      ...(releasedAt === null ? {} : { releasedAt: releasedAt.toISOString() }),
    };
  }

  failedTasks(): Promise<FailedTask[]> {
    return this.options.queue.failedTasks(FAILED_OF_PAGE);
  }

  parked(): Promise<ParkedInstance[]> {
    return parkedInstances(this.options.pool);
  }

  /**
   * Unconcluded documents and groups that no task, parked instance or named wait carries on: there should be none.
   * Health tells what was found.
   */
  orphans(): Promise<Orphan[]> {
    return this.options.orphans.look();
  }

  /**
   * Has every orphan carried on from where it stands, and returns them. Only a worker knows what that takes, so this
   * becomes a task for each. Its key has the version of the newest event and the day: an old key would be a silent
   * no-op, and a new one each time would let two calls plan one step twice.
   */
  async replanOrphans(reason: string, actor: Actor): Promise<Orphan[]> {
    const found = await this.orphans();
    if (found.length === 0) return [];
    await this.account(
      'OrphansReplanned',
      { key: `orphans:${today()}`, instances: found.map(({ kind, id }) => `${kind}:${id}`), reason },
      actor,
    );
    const { pool, queue } = this.options;
    await queue.schedule(
      pool,
      found.map((one) => replanTask(one, String(one.version))),
    );
    return found;
  }

  /**
   * Has a failed task, all failed tasks of a kind, or what is parked under the name that `parkedKey` gives it, tried
   * again. Who asked and why goes into the log first: a retry that nobody can account for must not happen.
   */
  async retry(key: string, reason: string, actor: Actor): Promise<void> {
    if (key.startsWith(PARKED)) return this.retryParked(key, reason, actor);
    const { queue } = this.options;
    const isOfKind = key.startsWith(FAILED);
    const wanted = isOfKind ? { kind: key.slice(FAILED.length) } : { key };
    for (let page = 0; page < (isOfKind ? MOST_PAGES : 1); page += 1) {
      const failed = (await queue.failedTasks(FAILED_OF_PAGE, wanted)).map((task) => task.key);
      if (failed.length === 0 && page === 0) throw nothingFailed(key);
      if (failed.length === 0) return;
      await this.account('TaskRetried', { key, reason, ...(isOfKind ? { instances: failed } : {}) }, actor);
      await queue.retryFailed(failed, reason);
    }
  }

  /** Only a worker can: it has the sagas. So this becomes a task for each instance. */
  private async retryParked(key: string, reason: string, actor: Actor): Promise<void> {
    const wanted = (await this.parked()).filter((one) => parkedKey(one) === key || `${PARKED}${one.saga}` === key);
    if (wanted.length === 0)
      throw new PedigreeError('not_found', `nothing is parked as ${key}`, { field: 'key', item: key });
    const retryId = randomUUID();
    await this.account(
      'ParkedRetried',
      { key, retryId, instances: wanted.map((one) => parkedKey(one)), reason },
      actor,
    );
    const { pool, queue } = this.options;
    await queue.schedule(
      pool,
      wanted.map(({ saga, key: instance }) => ({
        key: `retry_parked:${saga}:${instance}:${retryId}`,
        kind: 'retry_parked',
        lane: SAGA_LANE,
        dueAt: new Date(0),
        payload: { saga, key: instance },
      })),
    );
  }

  private async account(
    type: string,
    data: { key: string; reason: string; retryId?: string; instances?: string[] },
    actor: Actor,
  ): Promise<void> {
    const { key, reason } = data;
    const cause = { actor, reason, at: new Date(), correlationId: key, causationId: `retry:${key}` };
    const event = newEvent({ type, data }, { says: this.options, ...cause });
    await this.options.store.append('operations', 'any', [event]);
  }
}
