import { coalesce, PedigreeError, systemClock, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import { encodeAppend, procedureArguments, type EncodedAppend } from './encode.js';
import { GroupCommit } from './group-commit.js';
import { checkAppend, checkRead, isPosition, limitsOf, type EventStoreLimits } from './limits.js';
import { Notices } from './notices.js';
import type {
  AppendResult,
  EventFilter,
  EventStore,
  ExpectedVersion,
  FollowingTexts,
  NewEvent,
  ReadPage,
  RecordedEvent,
  TextPage,
} from './port.js';
import { readAllRows, readHead, readStreamRows, type PageRead, type StreamRange, type Upcast } from './read.js';
import { Tail } from './tail.js';
import { readingAhead, readTextPage, type TextRead } from './texts.js';

export interface PostgresEventStoreOptions extends Partial<EventStoreLimits> {
  pool: Pool;
  /**
   * Where the listening connection goes. Default: where the pool goes. A connection pooler in between must be passed
   * by.
   */
  listenConnectionString?: string;
  /** Applied to every event read: brings older schema versions to the newest. */
  upcast?: Upcast;
  /**
   * Least time between the starts of two calls that append. Default 3: a lone append waits for nothing, a stream of
   * them shares calls.
   */
  minCallIntervalMs?: number;
  /** Longest time that a subscription waits without looking, should notices be lost. Default 1,000. */
  fallbackPollMs?: number;
  /**
   * Least time between two reads of one subscription that is up to date, so that a busy log is read in pages. Default
   * 10.
   */
  minReadIntervalMs?: number;
  /** An empty page, which only tells progress past events of others, comes at most this often. Default 1,000. */
  emptyPageIntervalMs?: number;
  /** Most positions that one filtered read looks at. Default 20,000. */
  maxScan?: number;
  clock?: Clock;
}

const CALL =
  'CALL append_events($1::text[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::uuid[], $8::text[], ' +
  '$9::int[], $10::int[], $11::int[], $12::int[], $13::bytea, NULL, NULL, NULL)';
const DEFAULT_PAGE_EVENTS = 1_000;

/**
 * Reads of streams that are made together share a statement. A long stream holds up those that share its statement, and
 * no others.
 */
const MOST_STREAMS_PER_READ = 20;
const MOST_READS_AT_ONCE = 4;
const MOST_WAITING_READS = 10_000;

/** What the procedure answers: one entry per append. A conflict has no position. */
interface ProcedureResults {
  versions: number[];
  positions: (string | null)[];
}

interface Following {
  filter?: EventFilter;
  limit?: number;
}

/**
 * The event log in PostgreSQL (principles 5). The pool stays the caller's; `close` ends what the store itself opened.
 */
export class PostgresEventStore implements EventStore {
  readonly positionUnit = 'event';
  private readonly limits: EventStoreLimits;
  private readonly notices: Notices;
  /** Subscriptions under way; what they read is shared as soon as there are two, and forgotten when there is none. */
  private following = 0;
  private tail = this.newTail();
  private readonly closing = new AbortController();
  private readonly commits: GroupCommit;
  private readonly clock: Clock;
  private readonly readTogether = coalesce<StreamRange, RecordedEvent[]>(
    (asked) => readStreamRows(this.options.pool, asked, this.options.upcast),
    {
      maxBatch: MOST_STREAMS_PER_READ,
      maxWaiting: MOST_WAITING_READS,
      maxRuns: MOST_READS_AT_ONCE,
    },
  );

  constructor(private readonly options: PostgresEventStoreOptions) {
    this.limits = limitsOf(options);
    this.notices = new Notices(options.pool, options.listenConnectionString);
    this.clock = options.clock ?? systemClock;
    const { limits, clock } = this;
    this.commits = new GroupCommit({
      limits,
      clock,
      minCallIntervalMs: options.minCallIntervalMs ?? 3,
      call: (appends) => this.callServer(appends),
    });
  }

  /**
   * Throws PedigreeError `invalid_parameter`, `body_too_large`, or `unavailable` when too many appends wait. Other
   * errors: the outcome is unknown; repeat it.
   */
  async append(stream: string, expectedVersion: ExpectedVersion, events: NewEvent[]): Promise<AppendResult> {
    const asked = { stream, expectedVersion, events };
    checkAppend(asked, this.limits);
    const encoded = encodeAppend(asked, this.limits);
    const { length } = this.commits;
    if (length >= this.limits.maxWaitingAppends)
      throw new PedigreeError('unavailable', `${length} appends already wait for the event log`);
    return this.commits.append(encoded);
  }

  async readStream(stream: string, options: { fromVersion?: number; limit?: number } = {}): Promise<RecordedEvent[]> {
    const { fromVersion = 0, limit = this.limits.maxReadLimit } = options;
    checkRead(limit, undefined, this.limits);
    return this.readTogether({ stream, fromVersion, limit });
  }

  async readAll(after: bigint, options: { filter?: EventFilter; limit?: number } = {}): Promise<ReadPage> {
    const { events, readUpTo } = await this.read(after, options);
    return { events, readUpTo };
  }

  async eventAt(position: bigint): Promise<RecordedEvent | undefined> {
    if (!isPosition(position)) return undefined;
    const { events } = await this.read(position - 1n, { limit: 1 });
    return events[0]?.position === position ? events[0] : undefined;
  }

  head(): Promise<bigint> {
    return readHead(this.options.pool);
  }

  /**
   * Pages for ever, until `signal` aborts or the store closes. Between pages it holds no connection and no transaction,
   * so a consumer may take its time. A read that fails throws; the caller goes on from its last `readUpTo`.
   */
  async *subscribeAll(
    after: bigint,
    options: Following & { signal: AbortSignal },
  ): AsyncGenerator<ReadPage, void, undefined> {
    checkRead(options.limit ?? DEFAULT_PAGE_EVENTS, options.filter, this.limits);
    this.following += 1;
    try {
      yield* this.pagesAfter(after, options.signal, (from) => this.readOn(from, options));
    } finally {
      this.following -= 1;
      if (this.following === 0) this.tail = this.newTail();
    }
  }

  async *subscribeTexts<Made>(
    after: bigint,
    { limit = DEFAULT_PAGE_EVENTS, each, signal }: FollowingTexts<Made>,
  ): AsyncGenerator<TextPage<Made>, void, undefined> {
    checkRead(limit, undefined, this.limits);
    const read = readingAhead((from) => readTextPage(this.options.pool, from, { limit, each }));
    yield* this.pagesAfter(after, signal, read);
  }

  private async *pagesAfter<Event>(
    after: bigint,
    ended: AbortSignal,
    read: (after: bigint) => Promise<TextRead<Event>>,
  ): AsyncGenerator<TextPage<Event>, void, undefined> {
    const { fallbackPollMs = 1_000, minReadIntervalMs = 10, emptyPageIntervalMs = 1_000 } = this.options;
    const signal = AbortSignal.any([ended, this.closing.signal]);
    let from = after;
    let told = after;
    let toldAtMs = this.clock.monotonicMs();
    while (!signal.aborted) {
      const readAtMs = this.clock.monotonicMs();
      const { events, readUpTo, reachedHead } = await read(from);
      if (signal.aborted) return;
      from = readUpTo;
      const emptyIsDue = readUpTo > told && this.clock.monotonicMs() - toldAtMs >= emptyPageIntervalMs;
      if (events.length > 0 || emptyIsDue) {
        yield { events, readUpTo };
        told = readUpTo;
        toldAtMs = this.clock.monotonicMs();
      }
      if (!reachedHead) continue;
      await this.notices.waitBeyond(from, fallbackPollMs, signal);
      const restMs = minReadIntervalMs - (this.clock.monotonicMs() - readAtMs);
      if (restMs > 0) await this.clock.wait(restMs, signal);
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.notices.close();
  }

  /** What one subscription reads next: out of what they share, where it is up to date. */
  private async readOn(
    after: bigint,
    options: { filter?: EventFilter; limit?: number },
  ): Promise<ReadPage & { reachedHead: boolean }> {
    const { filter, limit = DEFAULT_PAGE_EVENTS } = options;
    const shared = this.following > 1 ? await this.tail.after(after, { filter, limit }) : undefined;
    return shared ?? this.read(after, options);
  }

  private newTail(): Tail {
    return new Tail({ read: (after) => this.read(after, {}) });
  }

  private read(after: bigint, options: { filter?: EventFilter; limit?: number }): Promise<PageRead> {
    const { filter, limit = DEFAULT_PAGE_EVENTS } = options;
    checkRead(limit, filter, this.limits);
    return readAllRows(this.options.pool, after, {
      filter,
      limit,
      maxScan: this.options.maxScan ?? 20_000,
      upcast: this.options.upcast,
    });
  }

  private async callServer(appends: EncodedAppend[]): Promise<AppendResult[]> {
    const { rows } = await this.options.pool.query<ProcedureResults>({
      name: 'append-events',
      text: CALL,
      values: procedureArguments(appends),
    });
    return appends.map((append, n) => resultOf(append, rows[0], n));
  }
}

function resultOf(append: EncodedAppend, results: ProcedureResults | undefined, n: number): AppendResult {
  const version = results?.versions[n];
  const position = results?.positions[n];
  if (version === undefined) throw new Error(`the database gave no result for the append to ${append.stream}`);
  if (position === undefined || position === null) return { kind: 'conflict', actualVersion: version };
  return { kind: 'appended', version, position: BigInt(position) };
}
