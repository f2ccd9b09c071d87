import { setImmediate as nextTurn } from 'node:timers/promises';
import { PedigreeError, systemClock } from '#kernel';
import type { Clock } from '#kernel';
import type { Pool } from '#postgres';
import { BudgetLine } from './budget-line.js';
import * as sql from './budget-sql.js';
import { DatabaseClock } from './database-clock.js';
import type { CallBudgets } from './port.js';
import { Lateness } from './lateness.js';
import { waitUntil } from './precise-wait.js';

/** So often a caller may come too late for its slot in a row; a process that manages none of them is in no state to call. */
const MOST_DROPS = 50;
/** The end of a slot that begins at once is held open until the answer is surely back: twice the slowest recent round trip, within these bounds. */
const LEAST_LEAD_MS = 2;
const MOST_LEAD_MS = 50;
/** Above this the offset to the database's clock is measured again. */
const WANTED_UNCERTAINTY_MS = 1;
const MOST_PROBES = 3;

export interface CallBudgetsOptions {
  pool: Pool;
  clock?: Clock;
  /** The profile's interval of a method, ms; 0 for none. Asked once per (account, method). */
  intervalsMs: (method: string) => number;
  /** Added to every interval (profile). */
  guardMs: number;
  /** A caller later than this after its slot drops it (profile). */
  slotSlackMs: number;
  /** A told interval or Retry-After above this is cut to it, and back-off ends there. */
  maxIntervalMs: number;
  /** Most that 429s add to the guard. Default 50. */
  mostExtraGuardMs?: number;
  /** Default 100 (interface 7.1). */
  firstBackoffMs?: number;
  /** How often a process that reserves nothing looks what others have learnt. Default 1,000. */
  refreshMs?: number;
  /** Most callers that may wait for one (account, method). Default 1,000. */
  mostWaiting?: number;
}

interface Answer {
  reservation: bigint;
  learnt_interval_ms: number | null;
  now_ms: number;
  next_ms: number;
}

/** In Unix ms of the database: the call may go out from `fromMs` to `untilMs`, and the row counts on `stepMs` after `untilMs`. */
interface Slot {
  fromMs: number;
  untilMs: number;
  stepMs: number;
}

/**
 * The minimum interval per (account, method) over all processes, by one row each (interface 8; DESIGN section 6, Budgets; promise 4). Callers of
 * one process queue in memory and one of them at a time holds a reservation, so that a crash or a 429 loses one slot at most. A
 * process that comes too late for its slot reserves anew, which costs nothing while nobody queued behind it.
 */
export class PostgresCallBudgets implements CallBudgets {
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly lines = new Map<string, BudgetLine>();
  private readonly databaseClock = new DatabaseClock();
  private readonly lateness = new Lateness();
  private slowestTripMs = 1;
  private refreshedAtMs = -Infinity;
  private lessons = 0;
  private refreshing: Promise<void> | undefined;

  constructor(private readonly options: CallBudgetsOptions) {
    this.pool = options.pool;
    this.clock = options.clock ?? systemClock;
  }

  /**
   * Resolves when the call may go out, and it should go out in the same turn. Rejects with the signal's reason on abort, with PedigreeError
   * `unavailable` when too many wait or the process is too slow to hit any slot, and with the database's error.
   */
  async takeSlot(account: string, method: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const line = this.line(account, method);
    if (line.options.profileIntervalMs === 0) {
      const firstLook = this.lookWhatOthersLearnt();
      if (firstLook !== undefined) await firstLook;
      if (line.intervalMs === 0 && line.waiting === 0 && line.blockedUntilMs <= this.clock.monotonicMs()) return line.count(this.clock.monotonicMs());
    }
    const turn = line.join(signal);
    if (!line.serving) void this.serve(line);
    return turn;
  }

  called(account: string, method: string): void {
    const line = this.line(account, method);
    line.lastCallMs = Math.max(line.lastCallMs, this.clock.monotonicMs());
  }

  answered(account: string, method: string, roundTripMs: number): void {
    this.line(account, method).arrival.observe(roundTripMs);
  }

  async learnFrom429(account: string, method: string, told: { intervalMs?: number; retryAfterMs?: number }): Promise<void> {
    const line = this.line(account, method);
    line.rateLimited += 1;
    const { maxIntervalMs, guardMs, mostExtraGuardMs = 50, firstBackoffMs = 100 } = this.options;
    const cut = (ms: number | undefined) => (ms === undefined || !(ms >= 0) ? null : Math.min(ms, maxIntervalMs));
    const lastCallAgoMs = Math.min(this.clock.monotonicMs() - line.lastCallMs, maxIntervalMs);
    await this.pool.query(sql.ENSURE, [account, method]);
    const answer = await this.ask<Answer>(sql.LEARN, [
      ...[account, method, line.options.profileIntervalMs, guardMs, cut(told.intervalMs), cut(told.retryAfterMs)],
      ...[lastCallAgoMs, firstBackoffMs, maxIntervalMs, mostExtraGuardMs],
    ]);
    this.note(line, answer[0]);
    this.lessons += 1;
    // A slot that was reserved before this 429 may lie too early.
    line.interruption.abort();
  }

  figures(): (ReturnType<CallBudgets['figures']>[number] & { droppedSlots: number })[] {
    return [...this.lines.values()].map((line) => ({
      ...{ account: line.account, method: line.method, calls: line.calls, rateLimited: line.rateLimited, intervalMs: line.intervalMs },
      ...{ firstCallMonotonicMs: line.firstCallMs, lastCallMonotonicMs: line.lastCallMs, droppedSlots: line.droppedSlots },
    }));
  }

  /** Grants slots while anybody waits. Never rejects: an error goes to those who wait. */
  private async serve(line: BudgetLine): Promise<void> {
    line.serving = true;
    let drops = 0;
    try {
      while (line.waiting > 0) {
        line.interruption = new AbortController();
        const slot = await this.reserve(line, drops > 0);
        if (await this.reach(line, slot)) {
          this.callNow(line, slot);
          drops = 0;
          // The call goes out before this process asks for its next slot.
          await nextTurn();
        } else if (line.waiting === 0) {
          await this.pool.query(sql.GIVE_BACK, [line.account, line.method, line.mine.reservation]);
        } else {
          line.droppedSlots += 1;
          drops += 1;
          if (drops >= MOST_DROPS) throw new PedigreeError('unavailable', `${line.account}/${line.method}: ${drops} slots in a row were missed by more than ${this.options.slotSlackMs} ms`);
        }
      }
    } catch (error) {
      line.refuseAll(error);
    } finally {
      line.serving = false;
    }
  }

  private async reserve(line: BudgetLine, again: boolean): Promise<Slot> {
    for (let probes = 0; this.databaseClock.uncertaintyMs > WANTED_UNCERTAINTY_MS && probes < MOST_PROBES; probes += 1) await this.ask(sql.NOW, []);
    const leadMs = Math.min(MOST_LEAD_MS, Math.max(LEAST_LEAD_MS, 2 * this.slowestTripMs));
    const sentMs = this.clock.monotonicMs();
    const rows = await this.ask<Answer & { slot_ms: number }>(sql.RESERVE, [
      ...[line.account, line.method, line.options.profileIntervalMs, this.options.guardMs, leadMs],
      ...[line.mine.reservation, line.mine.freeAtMs, again ? 0 : 1],
    ]);
    this.slowestTripMs = Math.max(this.slowestTripMs * 0.9, this.clock.monotonicMs() - sentMs);
    const row = rows[0];
    if (row === undefined) throw new Error('a reservation was not answered');
    line.learntIntervalMs = row.learnt_interval_ms ?? 0;
    line.mine = { reservation: row.reservation, freeAtMs: row.slot_ms };
    const untilMs = Math.max(row.slot_ms, row.now_ms + leadMs);
    return { fromMs: row.slot_ms, untilMs, stepMs: row.next_ms - untilMs };
  }

  /**
   * Waits for the slot and says whether the call may go out now: not before the slot by any reading of the database's clock, not before this
   * process's own last call plus the interval and its guards, and not later than the slack after its end, because the next slot counts on that.
   */
  private async reach(line: BudgetLine, slot: Slot): Promise<boolean> {
    const distanceMs = line.intervalMs > 0 ? line.intervalMs + this.options.guardMs + this.lateness.guardMs : 0;
    const fromMs = (): number => Math.max(this.databaseClock.surelyAt(slot.fromMs), line.lastCallMs + distanceMs + (distanceMs > 0 ? line.arrival.lastMs : 0));
    const endMs = Math.max(this.databaseClock.perhapsAt(slot.untilMs), this.databaseClock.surelyAt(slot.untilMs) - WANTED_UNCERTAINTY_MS);
    await waitUntil(this.clock, fromMs(), line.interruption.signal);
    // The call before may have been written only while this one waited.
    await waitUntil(this.clock, fromMs(), line.interruption.signal);
    this.lateness.observe(this.clock.monotonicMs() - fromMs());
    return !line.interruption.signal.aborted && this.clock.monotonicMs() <= endMs + this.options.slotSlackMs;
  }

  /** Lets the first caller go. What was held open and not needed is free again for this process's next reservation. */
  private callNow(line: BudgetLine, slot: Slot): void {
    const nowMs = this.clock.monotonicMs();
    const calledAtMs = Math.min(slot.untilMs, Math.max(slot.fromMs, this.databaseClock.latestAt(nowMs)));
    line.mine.freeAtMs = calledAtMs + slot.stepMs;
    line.grant(nowMs);
  }

  /** Asks at most every `refreshMs`, in the background; a promise only for the first answer, without which a restart would forget all. */
  private lookWhatOthersLearnt(): Promise<void> | undefined {
    const nowMs = this.clock.monotonicMs();
    const first = this.refreshedAtMs === -Infinity;
    if (this.refreshing === undefined && nowMs - this.refreshedAtMs >= (this.options.refreshMs ?? 1_000)) {
      this.refreshing = this.refresh().finally(() => (this.refreshing = undefined));
      // In the background a failure only means that the next call asks again.
      this.refreshing.catch(() => undefined);
    }
    return first ? this.refreshing : undefined;
  }

  private async refresh(): Promise<void> {
    const before = this.lessons;
    const rows = await this.ask<Answer & { account: string; method: string }>(sql.LEARNT, []);
    this.refreshedAtMs = this.clock.monotonicMs();
    // An answer that may be older than a 429 of our own would make us forget it.
    if (before !== this.lessons) return;
    const learnt = new Map(rows.map((row) => [keyOf(row.account, row.method), row]));
    for (const [key, line] of this.lines) this.note(line, learnt.get(key));
  }

  private note(line: BudgetLine, row: Answer | undefined): void {
    line.learntIntervalMs = row?.learnt_interval_ms ?? 0;
    if (row !== undefined) line.blockedUntilMs = this.databaseClock.surelyAt(row.next_ms);
  }

  /** Every answer with the database's time in it makes its clock better known. */
  private async ask<Row extends { now_ms: number }>(text: string, values: unknown[]): Promise<Row[]> {
    const sentMs = this.clock.monotonicMs();
    const { rows } = await this.pool.query<Row>({ name: NAMES.get(text) ?? 'budget-other', text, values });
    const answered = rows[0];
    if (answered !== undefined) this.databaseClock.observe(sentMs, this.clock.monotonicMs(), answered.now_ms);
    return rows;
  }

  private line(account: string, method: string): BudgetLine {
    const key = keyOf(account, method);
    const known = this.lines.get(key);
    if (known !== undefined) return known;
    const line = new BudgetLine(account, method, { profileIntervalMs: this.options.intervalsMs(method), mostWaiting: this.options.mostWaiting ?? 1_000 });
    this.lines.set(key, line);
    return line;
  }
}

const NAMES = new Map([
  [sql.RESERVE, 'budget-reserve'],
  [sql.LEARN, 'budget-learn'],
  [sql.LEARNT, 'budget-learnt'],
  [sql.NOW, 'budget-now'],
]);

const keyOf = (account: string, method: string): string => `${account}\n${method}`;
