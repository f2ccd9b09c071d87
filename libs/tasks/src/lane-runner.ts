import { setMaxListeners } from 'node:events';
import { backoffMs, systemClock, type Clock, type JsonObject } from '#kernel';
import { inPlace } from './in-place.js';
import type { RenewableTaskQueue, Task, TaskResult } from './port.js';

export interface HandlerContext {
  /**
   * Aborted when the lease was lost to another, or when the grace of a stop ran out: the handler should end, its result
   * no longer counts.
   */
  signal: AbortSignal;
  /**
   * Until when the leases of all tasks of this call surely hold: a moment of the monotonic clock, moved on by each
   * extension.
   */
  heldUntilMs(): number;
}

/**
 * Serves the tasks of one kind: one by one, or many by one hand (such as status reads by one list page). An error in
 * the place of a result counts as thrown, for that task alone.
 */
export type TaskHandler<Payload extends object = JsonObject> =
  | { handle(task: Task<Payload>, context: HandlerContext): Promise<TaskResult> }
  | {
      handleMany(tasks: Task<Payload>[], context: HandlerContext): Promise<(TaskResult | Error)[]>;
      /** Most tasks of one call. Default: the batch. */ most?: number;
    };

/** What a runner tells whoever watches: it never throws for one task's sake. */
export type RunnerReport =
  | { kind: 'task_failed'; lane: string; task: Task; error: string }
  | { kind: 'task_threw'; lane: string; task: Task; error: string; retryInMs: number }
  | { kind: 'lease_lost'; lane: string; task: Task }
  | { kind: 'queue_unavailable'; lane: string; error: string; retryInMs: number };

export interface LaneRunnerOptions {
  queue: RenewableTaskQueue;
  lane: string;
  /** Names this process in the table. */
  holder: string;
  /**
   * Stops the runner: nothing more is claimed, what was not begun is given back, what runs may finish within `graceMs`.
   */
  signal: AbortSignal;
  kinds: Record<string, TaskHandler>;
  /** Handlers at work at the same time. Default 4. */
  concurrency?: number;
  /**
   * The lane's work is begun in its order, whichever processes serve it: nothing is begun while an earlier task that is
   * due is held elsewhere. Wants one hand and `handleMany`, which is given its tasks in order. A task that is tried
   * again goes behind those that are due before it. One whose lease was lost is worked alone, and failed when that has
   * happened five times in a row: else it would keep all behind it waiting for ever.
   */
  inOrder?: boolean;
  /**
   * Errors that say that what all tasks need is away, and nothing of this one. They use up half of its attempts at
   * most. In a lane in order it keeps its place for some tries, for all behind it would meet them.
   */
  isAway?: (error: Error) => boolean;
  /** Most tasks of one claim where a kind is served by `handleMany`. Default 100. */
  batch?: number;
  /** A lease lasts this long and is extended every third of it while its task is held. Default 30,000. */
  leaseMs?: number;
  /** A task that threw so often is failed. Results that a handler returns are never overruled. Default 10. */
  maxAttempts?: number;
  /** Delay after the first throw; doubles with each attempt up to `mostBackoffMs`. Defaults 500 and 60,000. */
  firstBackoffMs?: number;
  mostBackoffMs?: number;
  /** Longest wait between claims, so also the longest delay until an expired lease is seen. Default 5,000. */
  maxWaitMs?: number;
  /** Default 10,000. */
  graceMs?: number;
  clock?: Clock;
  report?: (report: RunnerReport) => void;
  /**
   * While this says true nothing new is claimed: only what a process that is gone had begun, for its handler to find
   * out what became of it. Asked before each claim, so it must answer quickly.
   */
  held?: () => Promise<boolean>;
}

/** How often a lane that is held asks whether it still is, and how often it looks for what was begun and not ended. */
const HELD_ASK_MS = 500;
const HELD_CLAIM_MS = 10_000;
/** How often a process asks again while another has the first task. */
const IN_TURN_ASK_MS = 20;
/** Leases of one task that may be lost in a row before a lane in order goes on without it. */
const MOST_LEASES_LOST = 5;
const SETTLE_TRIES = 3;
const LEASES_LOST = `gave up: ${MOST_LEASES_LOST} processes in a row ended, or stood still, while they had this task`;

/** As many of these tasks as may be begun together: one whose lease was lost may end its process, and goes alone. */
function untilDoubted(tasks: Task[]): Task[] {
  const doubted = tasks.findIndex((task) => task.leasesLost > 0);
  return doubted < 0 ? tasks : tasks.slice(0, Math.max(1, doubted));
}

function asMany<Result>(tasks: Task[], results: Result[]): Result[] {
  if (results.length !== tasks.length)
    throw new Error(`a handler of ${tasks.length} tasks gave ${results.length} results`);
  return results;
}

const textOf = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

/**
 * Serves one lane until `signal` aborts and what was begun has ended (or its grace is over). Rejects never: a database
 * that is away is reported and asked again with bounded back-off. A process that dies leaves leases that run out; the
 * tasks then come again with `leaseExpiredBefore` (principles 6.4).
 */
export function runLane(options: LaneRunnerOptions): Promise<void> {
  // Many lanes share one signal by design, and each listens while it waits: no leak to warn of.
  setMaxListeners(0, options.signal);
  return new LaneRunner(options).run();
}

class LaneRunner {
  private readonly options: Required<LaneRunnerOptions>;
  private readonly kinds: string[];
  private readonly claimLimit: number;
  /** Claimed and not begun. */
  private readonly waiting: Task[] = [];
  /** Begun, with the means to tell the handler to end. */
  private readonly working = new Map<Task, AbortController>();
  /** When the lease of each claimed task runs out at the earliest: counted from before the database was asked. */
  private readonly heldUntilMs = new WeakMap<Task, number>();
  private running = 0;
  private slotFreed: (() => void) | undefined;
  private failuresInRow = 0;
  private heldClaimAtMs = -Infinity;
  /** The next claim of a lane in order takes one task: the last one was of a task whose lease was lost. */
  private oneByOne = false;
  /** Aborted when `run` has ended: what still works has no queue any more. */
  private readonly over = new AbortController();

  constructor(options: LaneRunnerOptions) {
    this.options = {
      concurrency: 4,
      inOrder: false,
      isAway: () => false,
      batch: 100,
      leaseMs: 30_000,
      maxAttempts: 10,
      firstBackoffMs: 500,
      mostBackoffMs: 60_000,
      maxWaitMs: 5_000,
      graceMs: 10_000,
      clock: systemClock,
      report: () => undefined,
      held: () => Promise.resolve(false),
      ...options,
    };
    this.kinds = Object.keys(options.kinds);
    const servesMany = Object.values(options.kinds).some((handler) => 'handleMany' in handler);
    this.claimLimit = servesMany ? this.options.batch : this.options.concurrency;
  }

  async run(): Promise<void> {
    const { signal, leaseMs } = this.options;
    const renewal = setInterval(() => void this.renewLeases(), leaseMs / 3);
    try {
      // Ends by the signal alone: this is the loop of a server. Each turn waits for work, for a free hand or for the
      // database.
      while (!signal.aborted) await this.turn();
      await this.giveBack(this.waiting.splice(0));
      await this.finishWithin(this.options.graceMs);
    } finally {
      clearInterval(renewal);
      this.over.abort();
    }
  }

  private async turn(): Promise<void> {
    const { queue, lane, signal, concurrency, maxWaitMs } = this.options;
    this.startWaiting();
    if (this.running >= concurrency) return this.aSlotIsFree();
    try {
      if (await this.options.held()) return await this.heldTurn();
      const limit = this.claimLimit === concurrency ? concurrency - this.running : this.claimLimit;
      const tasks = this.options.inOrder ? await this.claimInOrder(limit) : await this.claim(limit);
      this.failuresInRow = 0;
      this.waiting.push(...tasks);
      if (signal.aborted) return;
      this.startWaiting();
      // What is claimed and not begun waits for a hand, and not for more work.
      const isIdle = this.waiting.length === 0 && tasks.length < limit;
      if (isIdle) await queue.waitForWork([lane], { maxWaitMs, signal, kinds: this.kinds });
    } catch (error) {
      await this.pauseAfter(error);
    }
  }

  private async claim(limit: number, onlyUnfinished = false): Promise<Task[]> {
    const { queue, lane, holder, leaseMs, clock } = this.options;
    const heldUntilMs = clock.monotonicMs() + leaseMs;
    const tasks = await queue.claim(lane, { limit, leaseMs, holder, kinds: this.kinds, onlyUnfinished });
    for (const task of tasks) this.heldUntilMs.set(task, heldUntilMs);
    return tasks;
  }

  private async claimInOrder(limit: number): Promise<Task[]> {
    const { queue, lane, clock, signal } = this.options;
    if (await queue.isFirstHeld(lane, this.kinds)) {
      await clock.wait(IN_TURN_ASK_MS, signal);
      return [];
    }
    const tasks = await this.claim(this.oneByOne ? 1 : limit);
    let begun: Task[] = [];
    try {
      begun = untilDoubted(await queue.inTurn(tasks, this.kinds));
    } finally {
      // Before the work begins: what is given back now has lost no lease if this process dies of it.
      await this.giveBack(tasks.filter((task) => !begun.includes(task)));
    }
    const [first] = begun;
    if (first === undefined && tasks.length > 0) await clock.wait(IN_TURN_ASK_MS, signal);
    this.oneByOne = first !== undefined && first.leasesLost > 0;
    if (first === undefined || first.leasesLost < MOST_LEASES_LOST) return begun;
    await this.settle(first, { kind: 'failed', error: LEASES_LOST });
    return [];
  }

  private async heldTurn(): Promise<void> {
    const { signal, concurrency, clock } = this.options;
    if (clock.monotonicMs() - this.heldClaimAtMs >= HELD_CLAIM_MS) {
      this.heldClaimAtMs = clock.monotonicMs();
      this.waiting.push(...(await this.claim(concurrency - this.running, true)));
      this.failuresInRow = 0;
      if (signal.aborted) return;
      this.startWaiting();
    }
    await clock.wait(HELD_ASK_MS, signal);
  }

  /** Gives the waiting tasks to free hands, in order; those of a `handleMany` kind go together. */
  private startWaiting(): void {
    while (this.running < this.options.concurrency) {
      const first = this.waiting[0];
      if (first === undefined) return;
      const handler = this.options.kinds[first.kind];
      if (handler === undefined) throw new Error(`task ${first.key} of kind ${first.kind} was not asked for`);
      const most = 'handleMany' in handler ? (handler.most ?? this.options.batch) : 1;
      const together = this.waiting.filter((task) => task.kind === first.kind).slice(0, most);
      this.waiting.splice(0, this.waiting.length, ...this.waiting.filter((task) => !together.includes(task)));
      void this.work(together, handler);
    }
  }

  /** One hand's work: never rejects. */
  private async work(tasks: Task[], handler: TaskHandler): Promise<void> {
    this.running += 1;
    const stop = new AbortController();
    for (const task of tasks) this.working.set(task, stop);
    try {
      const results = await this.resultsOf(tasks, handler, stop.signal);
      // From here on a lease that is gone means settled, not lost.
      for (const task of tasks) this.working.delete(task);
      await Promise.all(tasks.map((task, i) => this.settle(task, results[i] as TaskResult)));
    } finally {
      this.running -= 1;
      this.slotFreed?.();
    }
  }

  private async resultsOf(tasks: Task[], handler: TaskHandler, signal: AbortSignal): Promise<TaskResult[]> {
    try {
      const heldUntilMs = (): number => Math.min(...tasks.map((task) => this.heldUntilMs.get(task) ?? -Infinity));
      const context: HandlerContext = { signal, heldUntilMs };
      if (!('handleMany' in handler)) return [await handler.handle(tasks[0] as Task, context)];
      const { inOrder, isAway } = this.options;
      const results = await inPlace(tasks, {
        work: async (some) => asMany(some, await handler.handleMany(some, context)),
        // Elsewhere nobody's place is kept.
        isAway: inOrder ? isAway : () => false,
        pause: (tries, error) => this.pauseInPlace(tasks, { tries, error, lost: signal }),
      });
      return results.map((one, i) => (one instanceof Error ? this.afterThrow(tasks[i] as Task, one) : one));
    } catch (error) {
      return tasks.map((task) => this.afterThrow(task, error));
    }
  }

  private async pauseInPlace(tasks: Task[], at: { tries: number; error: Error; lost: AbortSignal }): Promise<boolean> {
    const { lane, firstBackoffMs, mostBackoffMs, report, clock, signal } = this.options;
    const retryInMs = backoffMs(at.tries, { firstMs: firstBackoffMs, mostMs: mostBackoffMs });
    report({ kind: 'task_threw', lane, task: tasks[0] as Task, error: textOf(at.error), retryInMs });
    const ends = AbortSignal.any([signal, at.lost]);
    await clock.wait(retryInMs, ends);
    return !ends.aborted;
  }

  private afterThrow(task: Task, thrown: unknown): TaskResult {
    const { lane, maxAttempts, firstBackoffMs, mostBackoffMs, isAway, report } = this.options;
    const { attempts } = task;
    const error = textOf(thrown);
    if (attempts >= maxAttempts) return { kind: 'failed', error: `gave up after ${attempts} attempts: ${error}` };
    const retryInMs = backoffMs(attempts, { firstMs: firstBackoffMs, mostMs: mostBackoffMs });
    report({ kind: 'task_threw', lane, task, error, retryInMs });
    const countsAsAttempt = attempts <= maxAttempts / 2 || !(thrown instanceof Error && isAway(thrown));
    return { kind: 'retry', delayMs: retryInMs, error, countsAsAttempt };
  }

  /**
   * Records the result. When the database stays away, or the runner has ended before, the lease runs out and the task
   * comes again.
   */
  private async settle(task: Task, result: TaskResult): Promise<void> {
    const { queue, lane, report, clock, firstBackoffMs, inOrder, leaseMs } = this.options;
    // What is not settled keeps a lane that is in order waiting until the lease runs out.
    const tries = inOrder ? Math.ceil(leaseMs / firstBackoffMs) : SETTLE_TRIES;
    for (let attempt = 1; attempt <= tries && !this.over.signal.aborted; attempt += 1) {
      try {
        const held = await queue.settle(task, result);
        if (!held) report({ kind: 'lease_lost', lane, task });
        else if (result.kind === 'failed') report({ kind: 'task_failed', lane, task, error: result.error });
        return;
      } catch (error) {
        report({ kind: 'queue_unavailable', lane, error: textOf(error), retryInMs: firstBackoffMs });
        if (attempt < tries) await clock.wait(firstBackoffMs, this.over.signal);
      }
    }
  }

  private async renewLeases(): Promise<void> {
    const { queue, lane, leaseMs, report, clock } = this.options;
    const held = [...this.waiting, ...this.working.keys()];
    const heldUntilMs = clock.monotonicMs() + leaseMs;
    try {
      const kept = await queue.extendLeases(held, leaseMs);
      for (const [i, task] of held.entries()) {
        if (kept[i] === true) {
          // An answer may be overtaken by the next one.
          this.heldUntilMs.set(task, Math.max(heldUntilMs, this.heldUntilMs.get(task) ?? -Infinity));
          continue;
        }
        // A task that was settled between the question and the answer is in neither list by now.
        const place = this.waiting.indexOf(task);
        if (place >= 0) this.waiting.splice(place, 1);
        else if (this.working.has(task)) this.working.get(task)?.abort();
        else continue;
        report({ kind: 'lease_lost', lane, task });
      }
    } catch (error) {
      report({ kind: 'queue_unavailable', lane, error: textOf(error), retryInMs: leaseMs / 3 });
    }
  }

  /** Not begun means not tried: the attempt is taken back and the task keeps its place in the lane. */
  private async giveBack(tasks: Task[]): Promise<void> {
    await Promise.all(tasks.map((task) => this.settle(task, { kind: 'give_back' })));
  }

  private async finishWithin(graceMs: number): Promise<void> {
    const over = new AbortController();
    const graceEnd = this.options.clock.wait(graceMs, over.signal).then(() => {
      for (const stop of this.working.values()) stop.abort();
      return 'over' as const;
    });
    const finished = (async () => {
      while (this.running > 0) await new Promise<void>((resolve) => (this.slotFreed = resolve));
      return 'finished' as const;
    })();
    await Promise.race([graceEnd, finished]);
    over.abort();
    await graceEnd;
  }

  private async aSlotIsFree(): Promise<void> {
    const { signal } = this.options;
    await new Promise<void>((resolve) => {
      const go = () => {
        signal.removeEventListener('abort', go);
        this.slotFreed = undefined;
        resolve();
      };
      this.slotFreed = go;
      signal.addEventListener('abort', go, { once: true });
    });
  }

  private async pauseAfter(error: unknown): Promise<void> {
    const { lane, report, clock, firstBackoffMs, mostBackoffMs, signal } = this.options;
    this.failuresInRow += 1;
    const retryInMs = backoffMs(this.failuresInRow, { firstMs: firstBackoffMs, mostMs: mostBackoffMs });
    report({ kind: 'queue_unavailable', lane, error: textOf(error), retryInMs });
    await clock.wait(retryInMs, signal);
  }
}
