import { defined, backoffMs, systemClock, type Clock } from '#kernel';
import type { EventFilter, EventStore, RecordedEvent, TextPage } from '#event-store';
import type { Pool } from '#postgres';
import { randomUUID } from 'node:crypto';
import { openCheckpoint, releaseCheckpoint } from './checkpoint.js';
import { handlePage, type Handle, type Page, type PageOutcome, type Placed, type Work } from './page.js';

/** What a runner says of itself when something failed. It goes on trying in every case. */
export interface SubscriptionTrouble {
  /**
   * `subscription_halted`: these events failed so often that a person must look; they are not dropped and are still
   * tried.
   */
  kind: 'subscription_failed' | 'subscription_halted';
  name: string;
  /** Attempts on these events so far. */
  attempt: number;
  retryInMs: number;
  /** Position of the first and last event of the failed part; absent when reading failed. */
  from?: bigint;
  to?: bigint;
}

/** `running`: this process takes the next event. `standing_by`: another has the subscription. */
export type SubscriptionRole = 'running' | 'standing_by';

/** A log, or what is made of its events, one for each. */
export interface Followed<Event> {
  subscribeAll(
    after: bigint,
    options: { filter?: EventFilter; limit?: number; signal: AbortSignal },
  ): AsyncIterable<TextPage<Event>>;
}

export interface SubscriptionOptions<Event extends Placed = RecordedEvent> {
  store: Followed<Event>;
  pool: Pool;
  /** Name of the checkpoint. Several processes may run the same name: one works, the others stand by. */
  name: string;
  filter?: EventFilter;
  /** Most events of a page. Default 500. */
  batchSize?: number;
  handle: Handle<Event>;
  signal: AbortSignal;
  /** After each commit. */
  onBatch?: (batch: { name: string; events: number; position: bigint }) => void;
  /** At once, and whenever it may have changed. */
  onRole?: (news: { name: string; role: SubscriptionRole }) => void;
  onError?: (error: unknown, trouble: SubscriptionTrouble) => void;
  /**
   * Least time between the starts of two pages while they are not full. A busy log is then worked in pages, not event
   * by event; the first event after a pause goes at once. Default 50.
   */
  minPageIntervalMs?: number;
  retryFirstDelayMs?: number;
  retryMaxDelayMs?: number;
  /** Attempts after which `subscription_halted` is said. Default 8. */
  haltedAfterAttempts?: number;
  /**
   * After a failure the events are read from the log again, and not taken from memory: for whoever must not work with
   * events that a person has changed or removed meanwhile. Default false.
   */
  readsAnew?: boolean;
  /** How long the subscription stays with a process that fell silent. Default 5,000. */
  leaseMs?: number;
  /** How often a process that stands by looks. Default 1,000. */
  standbyPollMs?: number;
  clock?: Clock;
}

/**
 * After each failure a smaller part is tried, so that the events before a bad one still pass and the report names the
 * bad one. After each success a larger one, step by step: where a page is too much for one transaction, the rest of it
 * is, too.
 */
const SHRINK_BY = 8;
const GROW_BY = 2;

/**
 * Runs until `signal` aborts, then resolves; errors are reported, never thrown. Each event is handled once, in order
 * (principles 3.2).
 */
export async function runSubscription<Event extends Placed>(options: SubscriptionOptions<Event>): Promise<void> {
  await new Runner(options).run();
}

class Runner<Event extends Placed> {
  private readonly clock: Clock;
  private readonly work: Work<Event>;
  private failures = 0;
  /** Most events of the next part. */
  private most = Infinity;

  constructor(private readonly options: SubscriptionOptions<Event>) {
    this.clock = options.clock ?? systemClock;
    const { pool, name, handle, leaseMs = 5_000 } = options;
    this.work = { pool, name, handle, leaseMs, holder: randomUUID(), takesOver: false };
  }

  async run(): Promise<void> {
    const { pool, name, signal, standbyPollMs = 1_000, onRole } = this.options;
    onRole?.({ name, role: 'standing_by' });
    while (!signal.aborted) {
      try {
        const { position, heldByOtherMs } = await openCheckpoint(pool, name, this.work.holder);
        onRole?.({ name, role: heldByOtherMs === 0 ? 'running' : 'standing_by' });
        if (heldByOtherMs === 0 && (await this.follow(position)) === 'anew') continue;
        // Another has the subscription, or had it a moment ago: it is looked at now and then, never waited for on a
        // lock.
        await this.clock.wait(heldByOtherMs > 0 ? Math.min(heldByOtherMs + 1, standbyPollMs) : standbyPollMs, signal);
      } catch (error) {
        await this.failed(error);
      }
    }
    // Were it to fail, the lease runs out by itself.
    await releaseCheckpoint(pool, name, this.work.holder).catch(() => undefined);
  }

  /**
   * Works page after page from where the checkpoint stands, until it turns out to stand elsewhere, or the page is to be
   * read anew.
   */
  private async follow(position: bigint): Promise<'anew' | undefined> {
    const { store, filter, batchSize = 500, signal, minPageIntervalMs = 50 } = this.options;
    let from = position;
    for await (const page of store.subscribeAll(from, {
      limit: batchSize,
      signal,
      ...defined({ filter }),
    })) {
      const beganAtMs = this.clock.monotonicMs();
      const ended = await this.workThrough(from, page);
      if (ended !== 'worked') return ended;
      from = page.readUpTo;
      const restMs = minPageIntervalMs - (this.clock.monotonicMs() - beganAtMs);
      if (page.events.length < batchSize && restMs > 0) await this.clock.wait(restMs, signal);
    }
    return undefined;
  }

  /**
   * Handles a page, in smaller parts after a failure. Undefined when the checkpoint is not ours any more or we are to
   * end.
   */
  private async workThrough(start: bigint, page: TextPage<Event>): Promise<'worked' | 'anew' | undefined> {
    let from = start;
    let rest = page.events;
    while (!this.options.signal.aborted) {
      const part = rest.slice(0, this.most);
      const upTo = part.length === rest.length ? page.readUpTo : (part.at(-1)?.position ?? page.readUpTo);
      let outcome: PageOutcome;
      try {
        outcome = await handlePage(this.work, { from, events: part, upTo });
      } catch (error) {
        this.most = Math.max(1, Math.ceil(part.length / SHRINK_BY));
        await this.failed(error, part);
        if (this.options.readsAnew === true) return 'anew';
        continue;
      }
      if (outcome === 'elsewhere') return undefined;
      this.failures = 0;
      this.most *= GROW_BY;
      this.options.onBatch?.({ name: this.options.name, events: outcome.handled, position: outcome.upTo });
      from = outcome.upTo;
      if (from === page.readUpTo) return 'worked';
      rest = rest.slice(outcome.handled);
    }
    return undefined;
  }

  /** Says what failed and waits longer each time, within a limit. */
  private async failed(error: unknown, part: Placed[] = []): Promise<void> {
    const { name, signal, retryFirstDelayMs = 100, retryMaxDelayMs = 30_000, haltedAfterAttempts = 8 } = this.options;
    if (signal.aborted) return;
    this.failures += 1;
    const retryInMs = backoffMs(this.failures, { firstMs: retryFirstDelayMs, mostMs: retryMaxDelayMs });
    const kind = this.failures >= haltedAfterAttempts ? 'subscription_halted' : 'subscription_failed';
    const [first, last] = [part[0], part.at(-1)];
    const where = first === undefined || last === undefined ? {} : { from: first.position, to: last.position };
    this.options.onError?.(error, { kind, name, attempt: this.failures, retryInMs, ...where });
    await this.clock.wait(retryInMs, signal);
  }
}

/** What catching up needs. An error ends it and is thrown; the checkpoint stays at the last page that was handled. */
export type CatchUpOptions = Pick<
  SubscriptionOptions,
  'pool' | 'name' | 'filter' | 'batchSize' | 'handle' | 'onBatch'
> & {
  store: EventStore;
  signal?: AbortSignal;
  /** Told of the events of the next page while this one is handled, so that what they name can be read meanwhile. */
  readAhead?: (events: RecordedEvent[]) => void;
};

/**
 * Works up to where the log ended at the time of the call, then returns the checkpoint's position. A runner of the same
 * name that is under way stands by meanwhile; still each event is handled once.
 */
export async function catchUp(options: CatchUpOptions): Promise<bigint> {
  const { store, pool, name, handle, filter, batchSize = 500, signal, readAhead } = options;
  const work: Work = { pool, name, handle, holder: randomUUID(), leaseMs: 5_000, takesOver: true };
  const target = await store.head();
  const read = (from: bigint): Promise<TextPage<RecordedEvent>> =>
    store.readAll(from, { limit: batchSize, ...defined({ filter }) });
  try {
    let { position } = await openCheckpoint(pool, name, work.holder);
    let ahead: { from: bigint; page: Promise<TextPage<RecordedEvent>> } | undefined;
    while (position < target && !signal?.aborted) {
      const { events, readUpTo } = await (ahead?.from === position ? ahead.page : read(position));
      if (readUpTo <= position) throw new Error(`the log ends at ${position}, before its head ${target}`);
      ahead = readUpTo < target ? { from: readUpTo, page: read(readUpTo) } : undefined;
      // A failure shows when the page is worked.
      ahead?.page.then((page) => readAhead?.(page.events)).catch(() => undefined);
      position = await catchUpPage(options, work, { from: position, events, upTo: readUpTo });
    }
    return position;
  } finally {
    await releaseCheckpoint(pool, name, work.holder).catch(() => undefined);
  }
}

/** Works one page that was read, in as many transactions as it takes; returns where the checkpoint stands then. */
export async function catchUpPage(
  { pool, name, onBatch, signal }: Pick<CatchUpOptions, 'pool' | 'name' | 'onBatch' | 'signal'>,
  work: Work,
  page: Page,
): Promise<bigint> {
  let { from, events } = page;
  while (from < page.upTo && !signal?.aborted) {
    const outcome = await handlePage(work, { from, events, upTo: page.upTo });
    if (outcome === 'elsewhere') return (await openCheckpoint(pool, name, work.holder)).position;
    onBatch?.({ name, events: outcome.handled, position: outcome.upTo });
    from = outcome.upTo;
    events = events.slice(outcome.handled);
  }
  return from;
}
