import { setMaxListeners } from 'node:events';
import { coalesce } from '#kernel';
import type { JsonObject } from '#kernel';
import type { Pool, Queryable } from '#postgres';
import type { FailedTask, LaneState, NewTask, QueueFigures, RenewableTaskQueue, Task, TaskResult } from './port.js';
import { inOrder, leaseOf, taskOf, type ClaimRow } from './claimed-task.js';
import { LaneWatch } from './lane-watch.js';
import * as sql from './queue-sql.js';
import { checkTask, DEFAULT_PRIORITY, payloadText } from './task-limits.js';

const MOST_TASKS_PER_STATEMENT = 5_000;
const MOST_CLAIMED = 10_000;
const MOST_WAITING_CALLS = 100_000;
const LONGEST_ERROR = 4_000;
const LONGEST_LEASE_MS = 24 * 3_600_000;
const LONGEST_DELAY_MS = 366 * 24 * 3_600_000;

export interface PostgresTaskQueueOptions {
  pool: Pool;
  /**
   * Where the one LISTEN connection goes; without it, where the pool goes. Must not lead through a transaction pooler.
   */
  listenConnectionString?: string;
  /** How often a waiting lane asks while the LISTEN connection is down. Default 500. */
  fallbackMs?: number;
}

interface ClaimCall {
  lane: string;
  limit: number;
  leaseMs: number;
  holder: string;
  kinds: string | null;
}

interface Settling {
  task: Task;
  result: TaskResult;
  /** Of a retry. */
  delayMs: number | null;
}

/**
 * The least and the longest delay of a retry: what is no number of ms, or is centuries away, is a fault of the handler.
 */
function delayOf({ key }: Task, result: TaskResult): number | null {
  if (result.kind !== 'retry') return null;
  if (result.delayMs >= 0 && result.delayMs <= LONGEST_DELAY_MS) return result.delayMs;
  throw new Error(`task ${key} cannot be tried again in ${result.delayMs} ms`);
}

/** One error that the database refuses would keep all from being settled that share its statement. */
const storable = (error: string | undefined): string | null =>
  error?.slice(0, LONGEST_ERROR).replaceAll('\0', '\uFFFD') ?? null;

const kindsText = (kinds: string[] | undefined): string | null =>
  kinds === undefined ? null : [...kinds].sort().join(sql.KIND_SEPARATOR);

/**
 * The durable task table on PostgreSQL (principles 6.4, 2.2). A task is done at least once; an expired lease is
 * claimable again and says so in `leaseExpiredBefore`, for ever. Calls that are made together share statements.
 * `close()` ends the LISTEN connection; the pool stays the caller's.
 */
export class PostgresTaskQueue implements RenewableTaskQueue {
  private readonly pool: Pool;
  private readonly watch: LaneWatch;
  private readonly claimTogether = coalesce<ClaimCall, Task[]>((calls) => this.claimBatch(calls), {
    maxBatch: 200,
    maxWaiting: MOST_WAITING_CALLS,
  });
  private readonly settleTogether = coalesce<Settling, boolean>((calls) => this.settleBatch(calls), {
    maxBatch: 2_000,
    maxWaiting: MOST_WAITING_CALLS,
  });

  constructor(options: PostgresTaskQueueOptions) {
    this.pool = options.pool;
    this.watch = new LaneWatch({
      pool: this.pool,
      connectionString: options.listenConnectionString,
      fallbackMs: options.fallbackMs ?? 500,
      monotonicMs: () => performance.now(),
    });
  }

  async schedule(db: Queryable, tasks: NewTask[]): Promise<void> {
    const byKey = new Map<string, NewTask>();
    for (const task of tasks) {
      checkTask(task);
      if (!byKey.has(task.key)) byKey.set(task.key, task);
    }
    const wanted = [...byKey.values()];
    for (let from = 0; from < wanted.length; from += MOST_TASKS_PER_STATEMENT) {
      const part = wanted.slice(from, from + MOST_TASKS_PER_STATEMENT);
      await db.query({
        name: 'task-schedule',
        text: sql.SCHEDULE,
        values: [
          part.map((task) => task.key),
          part.map((task) => task.kind),
          part.map((task) => task.lane),
          part.map((task) => task.priority ?? DEFAULT_PRIORITY),
          part.map((task) => task.dueAt.getTime()),
          part.map(payloadText),
        ],
      });
    }
  }

  async claim(
    lane: string,
    options: { limit: number; leaseMs: number; holder: string; kinds?: string[]; onlyUnfinished?: boolean },
  ): Promise<Task[]> {
    if (!(options.limit >= 1 && options.limit <= MOST_CLAIMED))
      throw new Error(`a claim takes 1 to ${MOST_CLAIMED} tasks, not ${options.limit}`);
    if (!(options.leaseMs > 0 && options.leaseMs <= LONGEST_LEASE_MS))
      throw new Error(`a lease lasts up to ${LONGEST_LEASE_MS} ms, not ${options.leaseMs}`);
    this.watch.listen();
    const call = {
      lane,
      limit: options.limit,
      leaseMs: options.leaseMs,
      holder: options.holder,
      kinds: kindsText(options.kinds),
    };
    return options.onlyUnfinished === true ? this.claimUnfinished(call) : this.claimTogether(call);
  }

  async isFirstHeld(lane: string, kinds: string[]): Promise<boolean> {
    const asked = { name: 'task-first-held', text: sql.FIRST_HELD, values: [lane, kinds] };
    return (await this.pool.query<{ held: boolean }>(asked)).rows[0]?.held === true;
  }

  async inTurn(tasks: Task[], kinds: string[]): Promise<Task[]> {
    const [first] = tasks;
    if (first === undefined) return [];
    const ids = tasks.map((task) => leaseOf(task).id);
    const values = [first.lane, ids, kinds];
    const { rows } = await this.pool.query<{ id: string }>({ name: 'task-in-turn', text: sql.IN_TURN, values });
    const free = new Set(rows.map((row) => row.id));
    return tasks.filter((_, i) => free.has(ids[i] as string));
  }

  async settle(task: Task, result: TaskResult): Promise<boolean> {
    return this.settleTogether({ task, result, delayMs: delayOf(task, result) });
  }

  async extendLeases(tasks: Task[], leaseMs: number): Promise<boolean[]> {
    if (tasks.length === 0) return [];
    const leases = tasks.map(leaseOf);
    const values = [leases.map((lease) => lease.id), leases.map((lease) => lease.number), leaseMs];
    const { rows } = await this.pool.query<{ id: string }>({ name: 'task-extend', text: sql.EXTEND, values });
    const held = new Set(rows.map((row) => row.id));
    return leases.map((lease) => held.has(lease.id));
  }

  async lanes(): Promise<LaneState[]> {
    const { lanes } = await this.queueFigures();
    return lanes
      .filter((lane) => lane.ready + lane.leased > 0)
      .map(({ lane, ready, leased, failed, nextDueAt }) => ({ lane, ready, leased, failed, nextDueAt }));
  }

  /**
   * Everything that is not done, counted by lane (reads the whole live table: for people and metrics, not for loops).
   */
  async queueFigures(): Promise<QueueFigures> {
    const { rows } = await this.pool.query<
      Record<'ready' | 'leased' | 'failed' | 'overdue', number> & {
        lane: string;
        next_due_at: Date | null;
        oldest_due_at: Date | null;
      }
    >(sql.LANES);
    const lanes = rows.map((row) => ({
      lane: row.lane,
      ready: row.ready,
      leased: row.leased,
      failed: row.failed,
      overdue: row.overdue,
      nextDueAt: row.next_due_at ?? undefined,
      oldestDueAt: row.oldest_due_at ?? undefined,
    }));
    const sum = (figure: 'ready' | 'leased' | 'failed') => lanes.reduce((total, lane) => total + lane[figure], 0);
    return { ready: sum('ready'), leased: sum('leased'), failed: sum('failed'), lanes };
  }

  /**
   * How many tasks of all lanes are still to be done, those under a lease included, counted no further than `limit`.
   */
  async readyCount(limit: number): Promise<number> {
    const { rows } = await this.pool.query<{ ready: number }>({
      name: 'task-ready-count',
      text: sql.READY_COUNT,
      values: [limit],
    });
    return rows[0]?.ready ?? 0;
  }

  /** Tasks that were given up, the newest first. */
  async failedTasks(limit = 100, { key, kind }: { key?: string; kind?: string } = {}): Promise<FailedTask[]> {
    const { rows } = await this.pool.query<{
      key: string;
      kind: string;
      lane: string;
      attempts: number;
      failed_at: Date;
      last_error: string | null;
      payload: string;
    }>(sql.FAILED, [limit, key ?? null, kind ?? null]);
    return rows.map((row) => ({
      key: row.key,
      kind: row.kind,
      lane: row.lane,
      attempts: row.attempts,
      failedAt: row.failed_at,
      error: row.last_error ?? '',
      payload: JSON.parse(row.payload) as JsonObject,
    }));
  }

  /**
   * Makes failed tasks due at once, with their attempts counted anew. Returns how many of these keys are of failed
   * tasks. The caller records who asked.
   */
  async retryFailed(keys: string[], reason: string): Promise<number> {
    const { rowCount } = await this.pool.query(sql.RETRY_FAILED, [keys, reason]);
    return rowCount ?? 0;
  }

  async waitForWork(
    lanes: string[],
    options: { maxWaitMs: number; signal: AbortSignal; kinds?: string[] },
  ): Promise<void> {
    this.watch.listen();
    // Waits of many lanes listen to one signal by design: no leak to warn of.
    setMaxListeners(0, options.signal);
    const kinds = kindsText(options.kinds) ?? '';
    const endMs = performance.now() + options.maxWaitMs;
    // Each turn ends by a notice, a due time or the end of the wait, so their number is bounded by what is scheduled
    // meanwhile.
    while (!options.signal.aborted) {
      const dueMs = await this.earliestDueMs(lanes, kinds, options.kinds);
      const nowMs = performance.now();
      if (dueMs <= nowMs)
        return lanes.forEach(
          (lane) => (this.watch.dueMs(lane, kinds) ?? Infinity) <= nowMs && this.watch.forgetDue(lane, kinds),
        );
      if (nowMs >= endMs) return;
      await this.watch.pause(lanes, Math.min(dueMs, endMs), options.signal);
    }
  }

  /** Tells lanes of this process that a task may be due, for callers that know before the database's notice arrives. */
  wake(lanes: string[]): void {
    for (const lane of lanes) this.watch.notice(lane, 0);
  }

  close(): Promise<void> {
    return this.watch.close();
  }

  /** Asks the database only for lanes of which no claim told, or for all while no notices arrive. */
  private async earliestDueMs(lanes: string[], kindsKey: string, kinds: string[] | undefined): Promise<number> {
    const unknown = lanes.filter((lane) => !this.watch.hears || this.watch.dueMs(lane, kindsKey) === undefined);
    if (unknown.length > 0) {
      const mark = this.watch.mark();
      const { rows } = await this.pool.query<{ lane: string; next_ms: number | null }>({
        name: 'task-next-due',
        text: sql.NEXT_DUE,
        values: [unknown, kinds ?? null],
      });
      for (const row of rows) this.watch.learn(row.lane, { kinds: kindsKey, nextMs: row.next_ms, mark });
    }
    return Math.min(...lanes.map((lane) => this.watch.dueMs(lane, kindsKey) ?? Infinity));
  }

  /** Who holds leases that are running. */
  async holders(): Promise<string[]> {
    return (await this.pool.query<{ holder: string }>(sql.HOLDERS)).rows.map((row) => row.holder);
  }

  /** Ends the running leases of holders that surely do nothing any more, as if they had run out. Returns how many. */
  async endLeasesOf(holders: string[]): Promise<number> {
    return holders.length === 0 ? 0 : ((await this.pool.query(sql.END_LEASES, [holders])).rowCount ?? 0);
  }

  /**
   * A statement may serve each lane once, because a row lock taken in the same statement would not be skipped; holders
   * and leases that differ need statements of their own too. In one process both are rare.
   */
  private async claimBatch(calls: ClaimCall[]): Promise<Task[][]> {
    const results = calls.map((): Task[] => []);
    let left = calls.map((call, i) => ({ call, i }));
    while (left.length > 0) {
      const first = left[0] as (typeof left)[number];
      const lanes = new Set<string>();
      const now = left.filter(
        ({ call }) =>
          call.holder === first.call.holder &&
          call.leaseMs === first.call.leaseMs &&
          !lanes.has(call.lane) &&
          lanes.add(call.lane),
      );
      const byLane = await this.claimLanes(now.map(({ call }) => call));
      for (const { call, i } of now) results[i] = byLane.get(call.lane) ?? [];
      left = left.filter((one) => !now.includes(one));
    }
    return results;
  }

  private async claimUnfinished({ lane, limit, kinds, leaseMs, holder }: ClaimCall): Promise<Task[]> {
    const { rows } = await this.pool.query<ClaimRow>({
      name: 'task-claim-unfinished',
      text: sql.CLAIM_UNFINISHED,
      values: [lane, limit, kinds, leaseMs, holder],
    });
    return inOrder(rows.map(taskOf));
  }

  private async claimLanes(calls: ClaimCall[]): Promise<Map<string, Task[]>> {
    const mark = this.watch.mark();
    const values = [
      calls.map((call) => call.lane),
      calls.map((call) => call.limit),
      calls.map((call) => call.kinds),
      calls[0]?.leaseMs,
      calls[0]?.holder,
    ];
    const { rows } = await this.pool.query<ClaimRow>({ name: 'task-claim', text: sql.CLAIM, values });
    const byLane = new Map(calls.map((call) => [call.lane, [] as Task[]]));
    const nextByLane = new Map<string, number | null>();
    for (const row of rows) {
      nextByLane.set(row.lane_name, row.next_ms);
      if (row.id !== null) byLane.get(row.lane_name)?.push(taskOf(row));
    }
    for (const call of calls)
      this.watch.learn(call.lane, { kinds: call.kinds ?? '', nextMs: nextByLane.get(call.lane) ?? null, mark });
    for (const tasks of byLane.values()) inOrder(tasks);
    return byLane;
  }

  private async settleBatch(calls: Settling[]): Promise<boolean[]> {
    const settled = calls.map(({ task, ...rest }) => ({ lease: leaseOf(task), ...rest }));
    const held = new Set<string>();
    const done = settled.filter(({ result }) => result.kind === 'done').map(({ lease }) => lease);
    if (done.length > 0) {
      const values = [done.map((lease) => lease.id), done.map((lease) => lease.number)];
      const { rows } = await this.pool.query<{ id: string }>({
        name: 'task-settle-done',
        text: sql.SETTLE_DONE,
        values,
      });
      for (const row of rows) held.add(row.id);
    }
    const kept = settled.filter(({ result }) => result.kind !== 'done');
    if (kept.length > 0) for (const id of await this.settleKept(kept)) held.add(id);
    for (const { task, result } of calls) {
      if (result.kind === 'retry') this.watch.notice(task.lane, result.delayMs);
      if (result.kind === 'give_back') this.watch.notice(task.lane, 0);
    }
    return settled.map(({ lease }) => held.has(lease.id));
  }

  private async settleKept(
    kept: (Omit<Settling, 'task'> & { lease: { id: string; number: string } })[],
  ): Promise<string[]> {
    const values = [
      kept.map(({ lease }) => lease.id),
      kept.map(({ lease }) => lease.number),
      kept.map(({ result }) => result.kind),
      kept.map(({ delayMs }) => delayMs),
      kept.map(({ result }) => ('error' in result ? storable(result.error) : null)),
      kept.map(({ result }) =>
        result.kind === 'give_back' || (result.kind === 'retry' && result.countsAsAttempt === false) ? 1 : 0,
      ),
    ];
    const { rows } = await this.pool.query<{ id: string }>({ name: 'task-settle-kept', text: sql.SETTLE_KEPT, values });
    return rows.map((row) => row.id);
  }
}
