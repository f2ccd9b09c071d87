import { setImmediate as nextTurn } from 'node:timers/promises';
import { PedigreeError, systemClock } from '#kernel';
import type { Clock } from '#kernel';
import { Listener, type Pool } from '#postgres';
import { BudgetLine, type Run } from './budget-line.js';
import type { CallBudgetsOptions } from './budget-options.js';
import * as sql from './budget-sql.js';
import { DatabaseClock } from './database-clock.js';
import type { CallBudgets } from './port.js';
import { Lateness } from './lateness.js';
import { waitUntil } from './precise-wait.js';

/**
 * So often a caller may come too late for its slot in a row; a process that manages none of them is in no state to
 * call.
 */
const MOST_DROPS = 50;
/**
 * The end of a slot that begins at once is held open until the answer is surely back: twice the slowest recent round
 * trip, within these bounds.
 */
const LEAST_LEAD_MS = 2;
const MOST_LEAD_MS = 50;
/** Above this the offset to the database's clock is measured again. */
const WANTED_UNCERTAINTY_MS = 1;
const MOST_PROBES = 3;
/**
 * Where several callers wait, slots are reserved as a run: within it the process keeps the distance by its own clock,
 * which is exact, and hands over to another process once per run instead of once per call. A crash leaves at most a run
 * unused; a 429 elsewhere is heard of.
 */
const RUN_SLOTS = 16;
const WAITING_FOR_A_RUN = 3;
/**
 * Calls are late now and then; a run is made longer when it is behind by more than this, as long as nobody queued
 * behind it.
 */
const BEHIND_MS = 2;
/** A write that comes this much after its slot was granted is told to the others: the guard covers less. */
const LATE_WRITE_MS = 5;
/**
 * How long before a run ends the next one may be reserved, at the least and in intervals; and how often those who wait
 * longer look.
 */
const LEAST_HORIZON_MS = 50;
const HORIZON_STEPS = 1.5;
const LOOK_EVERY_MS = 250;

/**
 * The minimum interval per (account, method) over all processes, by one row each (registry-interface 8; principles 6.3,
 * 2.4). Callers of one process queue in memory and one of them at a time holds a reservation: of one slot, or of a
 * short run of them where many wait. A process that comes too late for its slot reserves anew, which costs nothing
 * while nobody queued behind it.
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
  private readonly listener: Listener;
  private isListening = false;

  constructor(private readonly options: CallBudgetsOptions) {
    this.pool = options.pool;
    this.clock = options.clock ?? systemClock;
    this.listener = new Listener({
      pool: options.pool,
      applicationName: 'pedigree-budgets-listen',
      channel: sql.BUDGET_CHANNEL,
      heard: (payload) => this.heard(payload),
      connected: () => (this.isListening = true),
      lost: () => (this.isListening = false),
    });
    if (options.listens === true) this.listener.listen();
  }

  /** Whether a 429 of another process would be heard of now. What was missed is met as a 429 of this one's own. */
  get hears(): boolean {
    return this.isListening;
  }

  /**
   * Refuses those who still wait (PedigreeError `unavailable`) and ends what listens. Resolves when what was left of
   * runs is given back; the pool stays the caller's.
   */
  async close(): Promise<void> {
    for (const line of this.lines.values()) {
      line.refuseAll(new PedigreeError('unavailable', `${line.account}/${line.method}: this process is stopping`));
      line.interruption.abort();
    }
    await Promise.all([this.listener.close(), ...[...this.lines.values()].map(({ served }) => served)]);
  }

  private heard(payload: string): void {
    const [reservation = '', freeAtMs = ''] = payload.split(' ', 2);
    this.lines
      .get(payload.slice(reservation.length + freeAtMs.length + 2))
      ?.learn({ reservation: BigInt(reservation), freeAtMs: Number(freeAtMs) });
  }

  /**
   * Resolves when the call may go out, and it should go out in the same turn. Rejects with the signal's reason on
   * abort, with PedigreeError `unavailable` when too many wait or the process is too slow to hit any slot, and with the
   * database's error.
   */
  async takeSlot(account: string, method: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const line = this.line(account, method);
    if (line.options.profileIntervalMs === 0) {
      const firstLook = this.lookWhatOthersLearnt();
      if (firstLook !== undefined) await firstLook;
      signal?.throwIfAborted();
      if (line.intervalMs === 0 && line.waiting === 0 && line.blockedUntilMs <= this.clock.monotonicMs())
        return line.count(this.clock.monotonicMs());
    }
    const turn = line.join(signal);
    if (!line.serving) line.served = this.serve(line);
    return turn;
  }

  writing(account: string, method: string): () => void {
    return this.line(account, method).unwritten.add();
  }

  called(account: string, method: string): void {
    const line = this.line(account, method);
    const nowMs = this.clock.monotonicMs();
    const lateMs = nowMs - line.lastCallMs;
    line.lastCallMs = Math.max(line.lastCallMs, nowMs);
    if (lateMs > LATE_WRITE_MS && line.mine.stepMs > 0) this.tellLateWrite(line, nowMs);
  }

  /**
   * Moves the row on for a call that was written long after its slot was granted, so that other processes keep their
   * distance from it too.
   */
  private tellLateWrite(line: BudgetLine, writtenMs: number): void {
    const { reservation, stepMs } = line.mine;
    const freeAtMs = this.databaseClock.latestAt(writtenMs) + stepMs;
    line.mine.freeAtMs = Math.max(line.mine.freeAtMs, freeAtMs);
    // In the background, and only while nobody queued behind: who did will keep its own slot.
    this.pool.query(sql.EXTEND, [line.account, line.method, reservation, freeAtMs]).catch(() => undefined);
  }

  answered(account: string, method: string, roundTripMs: number): void {
    this.line(account, method).arrival.observe(roundTripMs);
  }

  async learnFrom429(
    account: string,
    method: string,
    told: { intervalMs?: number; retryAfterMs?: number },
  ): Promise<void> {
    const line = this.line(account, method);
    line.rateLimited += 1;
    const { maxIntervalMs, guardMs, mostExtraGuardMs = 50, firstBackoffMs = 100 } = this.options;
    const cut = (ms: number | undefined) => (ms === undefined || !(ms >= 0) ? null : Math.min(ms, maxIntervalMs));
    const lastCallAgoMs = Math.min(this.clock.monotonicMs() - line.lastCallMs, maxIntervalMs);
    await this.pool.query(sql.ENSURE, [account, method]);
    const answer = await this.ask<sql.Answer>(sql.LEARN, [
      ...[account, method, line.options.profileIntervalMs, guardMs, cut(told.intervalMs), cut(told.retryAfterMs)],
      ...[lastCallAgoMs, firstBackoffMs, maxIntervalMs, mostExtraGuardMs, line.mine.reservation, line.mine.freeAtMs],
    ]);
    this.note(line, answer[0]);
    this.lessons += 1;
    // A slot that was reserved before this 429 may lie too early.
    line.interruption.abort();
  }

  figures(): (ReturnType<CallBudgets['figures']>[number] & { droppedSlots: number })[] {
    return [...this.lines.values()].map((line) => line.figures);
  }

  /** Grants slots while anybody waits. Never rejects: an error goes to those who wait. */
  private async serve(line: BudgetLine): Promise<void> {
    line.serving = true;
    let drops = 0;
    try {
      while (line.waiting > 0) {
        line.interruption = new AbortController();
        const run = await this.reserve(line, drops > 0);
        if (run === undefined) continue;
        if (line.isOutdated) {
          // Somebody's 429 was heard of while the answer was under way.
          line.giveUp();
          continue;
        }
        line.interruption = new AbortController();
        await this.use(line, run);
        if (run.calls > 0) drops = 0;
        if (line.waiting === 0) await this.giveBack(line, run);
        else if (run.calls === 0) {
          line.droppedSlots += 1;
          drops += 1;
          if (drops >= MOST_DROPS)
            throw new PedigreeError(
              'unavailable',
              `${line.account}/${line.method}: ${drops} slots in a row were missed by more than ` +
                `${this.options.slotSlackMs} ms`,
            );
        }
      }
    } catch (error) {
      line.refuseAll(error);
    } finally {
      line.serving = false;
    }
  }

  /** Lets callers go, one after the other, until the run is over, interrupted, or wanted by nobody. */
  private async use(line: BudgetLine, run: Run): Promise<void> {
    while (line.waiting > 0 && run.calls < run.slots) {
      const lastMs = await this.reach(line, run);
      if (!this.callNow(line, run, lastMs)) return;
      // The call goes out before this process asks for anything else.
      await nextTurn();
      await this.keepRoom(line, run);
    }
  }

  /**
   * Makes a run that is behind longer, so that its last call still fits. Not where another process has queued behind
   * it: that one counts on the end.
   */
  private async keepRoom(line: BudgetLine, run: Run): Promise<void> {
    const left = run.slots - run.calls;
    const behindMs = line.mine.freeAtMs + (left - 1) * run.stepMs + left * this.lateness.guardMs - run.untilMs;
    if (left === 0 || line.waiting === 0 || behindMs <= BEHIND_MS) return;
    const { rowCount } = await this.pool.query(sql.EXTEND, [
      line.account,
      line.method,
      line.mine.reservation,
      run.untilMs + behindMs + run.stepMs,
    ]);
    if (rowCount === 1) run.untilMs += behindMs;
  }

  /**
   * What nobody wants any more. What a lone call leaves over is not worth a statement: this process's next reservation
   * takes it into account.
   */
  private async giveBack(line: BudgetLine, run: Run): Promise<void> {
    const unused = run.slots - run.calls;
    if (run.calls > 0 && unused <= 1) return;
    await this.pool.query(sql.GIVE_BACK, [
      line.account,
      line.method,
      line.mine.reservation,
      line.mine.freeAtMs,
      unused,
    ]);
  }

  /** Undefined when the row is not free for long yet: by then it was waited for a while. */
  private async reserve(line: BudgetLine, again: boolean): Promise<Run | undefined> {
    for (let probes = 0; this.databaseClock.uncertaintyMs > WANTED_UNCERTAINTY_MS && probes < MOST_PROBES; probes += 1)
      await this.ask(sql.NOW, []);
    const leadMs = Math.min(MOST_LEAD_MS, Math.max(LEAST_LEAD_MS, 2 * this.slowestTripMs));
    const sentMs = this.clock.monotonicMs();
    const slots = line.waiting >= WAITING_FOR_A_RUN ? RUN_SLOTS : Math.max(1, line.waiting);
    const horizonMs =
      this.options.horizonMs ?? Math.max(LEAST_HORIZON_MS, HORIZON_STEPS * (line.intervalMs + this.options.guardMs));
    // By as much as the database's clock is not known, the last call of this run may be late for those who come after.
    const guardMs = this.options.guardMs + Math.max(0, this.databaseClock.uncertaintyMs - WANTED_UNCERTAINTY_MS);
    const rows = await this.ask<sql.Answer & { slot_ms: number; step_ms: number }>(sql.RESERVE, [
      ...[line.account, line.method, line.options.profileIntervalMs, guardMs, leadMs],
      ...[line.mine.reservation, line.mine.freeAtMs, again ? 0 : slots, slots, horizonMs],
    ]);
    this.slowestTripMs = Math.max(this.slowestTripMs * 0.9, this.clock.monotonicMs() - sentMs);
    const row = rows[0];
    if (row === undefined) return this.waitUntilNearlyFree(line, horizonMs);
    line.learntIntervalMs = row.learnt_interval_ms ?? 0;
    line.mine = { reservation: row.reservation, freeAtMs: row.slot_ms, stepMs: row.step_ms };
    return { fromMs: row.slot_ms, untilMs: row.next_ms - row.step_ms, stepMs: row.step_ms, slots, calls: 0 };
  }

  private async waitUntilNearlyFree(line: BudgetLine, horizonMs: number): Promise<undefined> {
    const [row] = await this.ask<{ now_ms: number; free_in_ms: number }>(sql.FREE_IN, [line.account, line.method]);
    const waitMs = Math.min((row?.free_in_ms ?? 0) - horizonMs, LOOK_EVERY_MS);
    if (waitMs > 0) await this.clock.wait(Math.ceil(waitMs), line.interruption.signal);
  }

  /**
   * Waits for the next slot of a run: not before the run by any reading of the database's clock, and not before this
   * process's own last call plus the interval and its guards. Returns the last moment at which the call may go out: the
   * slack after the end of the run, because the next run counts on that.
   */
  private async reach(line: BudgetLine, slot: Run): Promise<number> {
    const distanceMs =
      line.intervalMs > 0 ? Math.max(line.intervalMs + this.options.guardMs, slot.stepMs) + this.lateness.guardMs : 0;
    const fromMs = (): number =>
      Math.max(
        this.databaseClock.surelyAt(slot.fromMs),
        line.lastCallMs + distanceMs + (distanceMs > 0 ? line.arrival.lastMs : 0),
      );
    const endMs = Math.max(
      this.databaseClock.perhapsAt(slot.untilMs),
      this.databaseClock.surelyAt(slot.untilMs) - WANTED_UNCERTAINTY_MS,
    );
    await waitUntil(this.clock, fromMs(), line.interruption.signal);
    await line.unwritten.allWritten(this.clock, line.interruption.signal);
    // The call before may have been written only while this one waited.
    await waitUntil(this.clock, fromMs(), line.interruption.signal);
    this.lateness.observe(this.clock.monotonicMs() - fromMs());
    return endMs + this.options.slotSlackMs;
  }

  /**
   * Lets the first caller go, unless it is too late for that: looked at in the same turn, for other work may have come
   * in between. What was held open and not needed is free again for this process's next reservation.
   */
  private callNow(line: BudgetLine, slot: Run, lastMs: number): boolean {
    const nowMs = this.clock.monotonicMs();
    if (line.interruption.signal.aborted || nowMs > lastMs) return false;
    const calledAtMs = Math.min(slot.untilMs, Math.max(slot.fromMs, this.databaseClock.latestAt(nowMs)));
    line.mine.freeAtMs = calledAtMs + slot.stepMs;
    slot.calls += 1;
    line.grant(nowMs);
    return true;
  }

  /**
   * Asks at most every `refreshMs`, in the background; a promise only for the first answer, without which a restart
   * would forget all.
   */
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
    const rows = await this.ask<sql.Answer & { account: string; method: string }>(sql.LEARNT, []);
    this.refreshedAtMs = this.clock.monotonicMs();
    // An answer that may be older than a 429 of our own would make us forget it.
    if (before !== this.lessons) return;
    const learnt = new Map(rows.map((row) => [keyOf(row.account, row.method), row]));
    for (const [key, line] of this.lines) this.note(line, learnt.get(key));
  }

  private note(line: BudgetLine, row: sql.Answer | undefined): void {
    line.learntIntervalMs = row?.learnt_interval_ms ?? 0;
    if (row !== undefined) line.blockedUntilMs = this.databaseClock.surelyAt(row.next_ms);
  }

  /** Every answer with the database's time in it makes its clock better known. */
  private async ask<Row extends { now_ms: number }>(text: string, values: unknown[]): Promise<Row[]> {
    const sentMs = this.clock.monotonicMs();
    const { rows } = await this.pool.query<Row>({ name: sql.NAMES.get(text) ?? 'budget-other', text, values });
    const answered = rows[0];
    if (answered !== undefined) this.databaseClock.observe(sentMs, this.clock.monotonicMs(), answered.now_ms);
    return rows;
  }

  private line(account: string, method: string): BudgetLine {
    const key = keyOf(account, method);
    const known = this.lines.get(key);
    if (known !== undefined) return known;
    const line = new BudgetLine(account, method, {
      profileIntervalMs: this.options.intervalsMs(method),
      mostWaiting: this.options.mostWaiting ?? 1_000,
    });
    this.lines.set(key, line);
    return line;
  }
}

const keyOf = (account: string, method: string): string => `${account}\n${method}`;
