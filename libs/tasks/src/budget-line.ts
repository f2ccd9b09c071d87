import { setMaxListeners } from 'node:events';
import { PedigreeError } from '#kernel';
import { ArrivalDoubt } from './lateness.js';
import { UnwrittenCalls } from './unwritten-calls.js';

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * In Unix ms of the database: calls may go out from `fromMs` to `untilMs`, `stepMs` apart, and the row counts on
 * `stepMs` after `untilMs`.
 */
export interface Run {
  fromMs: number;
  untilMs: number;
  stepMs: number;
  slots: number;
  /** Calls that went out in it. */
  calls: number;
}

/** The callers of one (account, method) in this process, in order, and what this process knows of its budget. */
export class BudgetLine {
  calls = 0;
  rateLimited = 0;
  droppedSlots = 0;
  firstCallMs = NaN;
  lastCallMs = -Infinity;
  readonly arrival = new ArrivalDoubt();
  readonly unwritten = new UnwrittenCalls();
  learntIntervalMs = 0;
  /** No call before this monotonic moment, even where no interval is in force: a 429 said so. */
  blockedUntilMs = -Infinity;
  serving = false;
  /** Resolves when nobody waited any more and what was left of the run is given back. */
  served = Promise.resolve();
  /**
   * This process's last reservation, and the moment of the database (Unix ms) from which the row is free if nobody
   * reserved after it.
   */
  mine = { reservation: 0n, freeAtMs: 0, stepMs: 0 };
  /**
   * The newest 429 of which any process told: it counts as a reservation, and what was reserved before it is given up.
   */
  lesson = { reservation: 0n, freeAtMs: 0 };
  /** Aborted when the slot that is waited for is of no more use: a 429 came, or nobody waits. */
  interruption = new AbortController();
  private readonly waiters: Waiter[] = [];

  constructor(
    readonly account: string,
    readonly method: string,
    readonly options: { profileIntervalMs: number; mostWaiting: number },
  ) {}

  get intervalMs(): number {
    return Math.max(this.options.profileIntervalMs, this.learntIntervalMs);
  }

  get figures() {
    const { account, method, calls, rateLimited, intervalMs, droppedSlots } = this;
    const [firstCallMonotonicMs, lastCallMonotonicMs] = [this.firstCallMs, this.lastCallMs];
    return { account, method, calls, rateLimited, intervalMs, firstCallMonotonicMs, lastCallMonotonicMs, droppedSlots };
  }

  get waiting(): number {
    return this.waiters.length;
  }

  /** Whether what is reserved was reserved before the newest 429. */
  get isOutdated(): boolean {
    return this.mine.reservation < this.lesson.reservation;
  }

  /** A 429, here or in another process: calls that were reserved before it go no more. */
  learn(lesson: BudgetLine['lesson']): void {
    if (lesson.reservation <= this.lesson.reservation) return;
    this.lesson = lesson;
    if (!this.isOutdated) return;
    this.giveUp();
    this.interruption.abort();
  }

  /**
   * Where nobody had queued behind this process's run, what was left of it is free to whoever has the lesson's own
   * number: from its moment on.
   */
  giveUp(): void {
    const { reservation, freeAtMs } = this.lesson;
    if (this.mine.reservation + 1n === reservation)
      this.mine = { ...this.mine, reservation, freeAtMs: Math.max(this.mine.freeAtMs, freeAtMs) };
  }

  /** Joins the queue. Leaves it by a slot, by an error, or by `signal`, whose reason is then thrown. */
  join(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.waiters.length >= this.options.mostWaiting) {
        return reject(
          new PedigreeError(
            'unavailable',
            `more than ${this.options.mostWaiting} calls wait for ${this.account}/${this.method}`,
          ),
        );
      }
      const leave = () => {
        const place = this.waiters.indexOf(waiter);
        if (place < 0) return;
        this.waiters.splice(place, 1);
        if (this.waiters.length === 0) this.interruption.abort();
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        resolve: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        reject: (error) => {
          signal?.removeEventListener('abort', leave);
          reject(error);
        },
      };
      this.waiters.push(waiter);
      if (signal !== undefined) setMaxListeners(0, signal);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** The first in the queue may call now. */
  grant(nowMs: number): void {
    this.count(nowMs);
    this.waiters.shift()?.resolve();
  }

  refuseAll(error: unknown): void {
    for (const waiter of this.waiters.splice(0)) waiter.reject(error);
  }

  count(nowMs: number): void {
    if (this.calls === 0) this.firstCallMs = nowMs;
    this.calls += 1;
    this.lastCallMs = nowMs;
  }
}
