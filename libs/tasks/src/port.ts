import type { JsonObject } from '#kernel';
import type { Queryable } from '#postgres';

/**
 * Work to be done once, at or after a moment. The key makes scheduling idempotent: the same key again changes nothing.
 */
export interface NewTask {
  /** Unique for ever, for example `send:<request_id>:1`. */
  key: string;
  kind: string;
  /** What it queues for: `<account>/<method>` for registry calls, a plain word for internal work. */
  lane: string;
  /** Lower goes first. Default 100. Reconciliation reads use 900. */
  priority?: number;
  dueAt: Date;
  /** Plain JSON. */
  payload: object;
}

export interface Task<Payload extends object = JsonObject> extends Required<NewTask> {
  payload: Payload;
  /** Attempts begun, this one included. */
  attempts: number;
  /** True when an earlier holder's lease ran out: a read is simply retried, a send is an unknown outcome. */
  leaseExpiredBefore: boolean;
  /** Leases before this one that ran out in a row, without a result: whoever had it died or stood still. */
  leasesLost: number;
  /**
   * Names the lease under which the task was claimed, another at each claim. Opaque; `settle` wants it (a copy of the
   * task keeps it).
   */
  lease: string;
  /** When it was claimed, by the database's clock: ages are measured up to here, never by the clock of a process. */
  claimedAt: Date;
}

export type TaskResult =
  | { kind: 'done' }
  /**
   * Goes back to the lane and is due `delayMs` after it is settled, by the database's clock. `countsAsAttempt: false`
   * when nothing was tried.
   */
  | { kind: 'retry'; delayMs: number; error?: string; countsAsAttempt?: boolean }
  /** It was not begun: it keeps its due time, and this claim does not count. */
  | { kind: 'give_back' }
  /** Given up; kept, visible to operators. */
  | { kind: 'failed'; error: string };

export interface LaneState {
  lane: string;
  ready: number;
  leased: number;
  failed: number;
  /** Due time of the earliest ready task. */
  nextDueAt: Date | undefined;
}

/** The one durable task table. All times are judged by the database's clock. `New`: what a caller may schedule. */
export interface TaskQueue<New extends NewTask = NewTask> {
  /**
   * Inserts tasks inside the caller's transaction (or alone with a pool), in their order; keys that exist are left as
   * they are. Wakes lanes by NOTIFY on commit.
   */
  schedule(db: Queryable, tasks: New[]): Promise<void>;
  /**
   * Leases at most `limit` due tasks of one lane, by priority, due time, then order of scheduling, with SKIP LOCKED.
   * `onlyUnfinished`: only those whose lease ran out. That looks through the whole lane, so it is for now and then.
   */
  claim(
    lane: string,
    options: { limit: number; leaseMs: number; holder: string; kinds?: string[]; onlyUnfinished?: boolean },
  ): Promise<Task[]>;
  /** Whether somebody holds the first task of these kinds that is due in the lane. */
  isFirstHeld(lane: string, kinds: string[]): Promise<boolean>;
  /**
   * Those of these claimed tasks of one lane before which no other task of these kinds is due: neither one that another
   * process holds, nor one that nobody does. For a lane whose work must be done in its order, whoever does it.
   */
  inTurn(tasks: Task[], kinds: string[]): Promise<Task[]>;
  /**
   * Ends a lease with a result. Calls made together share one statement. A lease that another has taken meanwhile is
   * left alone: returns false.
   */
  settle(task: Task, result: TaskResult): Promise<boolean>;
  /** Lanes with ready or leased tasks. */
  lanes(): Promise<LaneState[]>;
  /**
   * Resolves when one of `lanes` has, or may have, a task due: one was scheduled that is due, or the earliest due time
   * came; else after `maxWaitMs` or when `signal` aborts. `kinds` should be those of the claim that follows.
   */
  waitForWork(lanes: string[], options: { maxWaitMs: number; signal: AbortSignal; kinds?: string[] }): Promise<void>;
}

/** What a lane runner needs beside the queue: leases that outlive a long handler. */
export interface RenewableTaskQueue extends TaskQueue {
  /**
   * Moves the end of these leases to `leaseMs` from now. One answer per task: false when the lease was lost to another.
   */
  extendLeases(tasks: Task[], leaseMs: number): Promise<boolean[]>;
}

/** A task that was given up, as an operator sees it. */
export interface FailedTask {
  key: string;
  kind: string;
  lane: string;
  attempts: number;
  failedAt: Date;
  error: string;
  payload: JsonObject;
}

export interface QueueFigures {
  ready: number;
  leased: number;
  failed: number;
  /** Tasks due now that nobody has claimed, and the due time of the oldest of them. */
  lanes: (LaneState & { overdue: number; oldestDueAt: Date | undefined })[];
}

/**
 * The minimum interval per (account, method), held over all processes together by one row (principles 6.3).
 */
export interface CallBudgets {
  /**
   * Reserves the next slot by the database's clock and waits for it, then resolves just before the call. A caller late
   * by more than `slotSlackMs` drops its slot and reserves anew. Resolves at once, without the database, where no
   * interval is in force.
   */
  takeSlot(account: string, method: string, signal?: AbortSignal): Promise<void>;
  /**
   * Says that the call for which a slot was taken is about to be written. The next call of this process waits until the
   * returned function is called, because it was written or never will be: a connection may take longer to come up than
   * the interval.
   */
  writing(account: string, method: string): () => void;
  /**
   * Says that the call for which a slot was taken is being written at this moment: a connection may have had to come up
   * first, and the next call of this process counts from here. Said again when it surely was written.
   */
  called(account: string, method: string): void;
  /**
   * Says how long the answer to that call took, or its connection to break: what took long may have been read late, and
   * the next call keeps its distance from there.
   */
  answered(account: string, method: string, roundTripMs: number): void;
  /** After a 429: the delay counts from the last request; the interval is learnt when it was told; the guard grows. */
  learnFrom429(account: string, method: string, told: { intervalMs?: number; retryAfterMs?: number }): Promise<void>;
  /** Calls made, waits, 429s and the interval in force, by account and method, since this process began. */
  figures(): {
    account: string;
    method: string;
    calls: number;
    rateLimited: number;
    intervalMs: number;
    firstCallMonotonicMs: number;
    lastCallMonotonicMs: number;
  }[];
}
