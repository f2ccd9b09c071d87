import { Listener, type Pool } from '#postgres';
import { TASK_CHANNEL } from './queue-sql.js';

/** setTimeout counts in 32 bits; longer waits are cut and looked at again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Lane {
  /** When the next task is due, on this process's monotonic clock, by the set of kinds of the claim that learnt it. */
  nextDueMs: Map<string, number>;
  /** The latest notice of this lane, and the earliest due time that notices told since the last claim began. */
  noticeNumber: number;
  noticedDueMs: number;
}

/**
 * Knows, without asking the database, when each lane is worth a claim. Every claim tells when its lane's next task is
 * due, and one shared LISTEN connection tells what is scheduled meanwhile; so a waiting lane costs no query at all.
 * While the connection is down, waits are cut to `fallbackMs`.
 */
export class LaneWatch {
  private readonly lanes = new Map<string, Lane>();
  private readonly waiting = new Set<{ lanes: readonly string[]; wake: () => void }>();
  private notices = 0;
  private connected = false;
  private closed = false;
  private readonly listener: Listener;

  constructor(
    private readonly options: {
      pool: Pool;
      connectionString?: string | undefined;
      fallbackMs: number;
      monotonicMs: () => number;
    },
  ) {
    const { pool, connectionString } = options;
    this.listener = new Listener({
      pool,
      connectionString,
      applicationName: 'pedigree-tasks-listen',
      channel: TASK_CHANNEL,
      heard: (payload) => this.heard(payload),
      connected: () => this.turned(true),
      lost: () => this.turned(false),
    });
  }

  /** Taken before a claim and given to `learn`: notices that came in between are not forgotten. */
  mark(): number {
    return this.notices;
  }

  /** What a claim saw: the ms to the lane's next due task, or null when there is none. */
  learn(lane: string, seen: { kinds: string; nextMs: number | null; mark: number }): void {
    const state = this.lane(lane);
    if (state.noticeNumber <= seen.mark) state.noticedDueMs = Infinity;
    const dueMs = seen.nextMs === null ? Infinity : this.options.monotonicMs() + seen.nextMs;
    state.nextDueMs.set(seen.kinds, Math.min(dueMs, state.noticedDueMs));
  }

  /** A task of this lane falls due in `delayMs`. */
  notice(lane: string, delayMs: number): void {
    const state = this.lane(lane);
    const dueMs = this.options.monotonicMs() + delayMs;
    state.noticeNumber = this.notices += 1;
    state.noticedDueMs = Math.min(state.noticedDueMs, dueMs);
    for (const [kinds, known] of state.nextDueMs) state.nextDueMs.set(kinds, Math.min(known, dueMs));
    for (const waiter of [...this.waiting]) if (waiter.lanes.includes(lane)) waiter.wake();
  }

  /** The monotonic moment at which the lane is worth a claim, or undefined when no claim has told. */
  dueMs(lane: string, kinds: string): number | undefined {
    return this.lanes.get(lane)?.nextDueMs.get(kinds);
  }

  /**
   * A wait that ended because a lane was due leaves no knowledge behind: the claim that should follow learns it anew.
   */
  forgetDue(lane: string, kinds: string): void {
    this.lanes.get(lane)?.nextDueMs.delete(kinds);
  }

  /** Resolves at `untilMs` (monotonic), or when a notice of one of the lanes came, or on abort. */
  pause(lanes: readonly string[], untilMs: number, signal: AbortSignal): Promise<void> {
    const mostMs = this.connected ? LONGEST_TIMER_MS : this.options.fallbackMs;
    return new Promise((resolve) => {
      if (signal.aborted || this.closed) return resolve();
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(waiter);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(0, Math.ceil(untilMs - this.options.monotonicMs())), mostMs));
      const waiter = { lanes, wake };
      this.waiting.add(waiter);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  /** Whether notices arrive. Without them a pause is short and the lane is worth a claim after it. */
  get hears(): boolean {
    return this.connected;
  }

  /** Connects the listener, once. Never rejects: while there is no connection it tries again, and waits are short. */
  listen(): void {
    this.listener.listen();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.connected = false;
    this.wakeAll();
    await this.listener.close();
  }

  private heard(payload: string): void {
    const space = payload.indexOf(' ');
    this.notice(payload.slice(space + 1), Number(payload.slice(0, space)));
  }

  /** What was scheduled while nobody listened is found by the next claim of each lane. */
  private turned(connected: boolean): void {
    this.connected = connected;
    this.lanes.clear();
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const waiter of [...this.waiting]) waiter.wake();
  }

  private lane(name: string): Lane {
    const known = this.lanes.get(name);
    if (known !== undefined) return known;
    const lane: Lane = { nextDueMs: new Map(), noticeNumber: 0, noticedDueMs: Infinity };
    this.lanes.set(name, lane);
    return lane;
  }
}
