import type { EventStoreDBClient } from '@eventstore/db-client';
import { setMaxListeners } from 'node:events';
import { PedigreeError, systemClock, type Clock } from '#kernel';
import { encodeAppend } from '../encode.js';
import { checkAppend, checkRead, limitsOf, type EventStoreLimits } from '../limits.js';
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
} from '../port.js';
import type { Upcast } from '../read.js';
import { textOf } from '../texts.js';
import { Appender } from './append.js';
import { answerWithinMs, closeClient, openClient, patiently } from './connection.js';
import { followTogether, SharedFollowing, type Follow } from './follow-together.js';
import { followAll } from './follow.js';
import {
  describePersistentSubscription,
  offerPersistentSubscription,
  withdrawPersistentSubscription,
  type PersistentSubscriptionOffer,
  type PersistentSubscriptionState,
} from './persistent-subscriptions.js';
import { eventAtPlace, newestPosition, readServerStream, scanAll } from './read.js';
import { isSystemStream, recordedEvent, type LogNote } from './stored-event.js';

export interface EventStoreDbOptions extends Partial<EventStoreLimits> {
  /** Connection string of EventStoreDB or KurrentDB, 22.10 or newer. */
  url: string;
  /** Applied to every event read: brings older schema versions to the newest. */
  upcast?: Upcast;
  /**
   * A page without events, which only tells progress past events of others, comes at most this often. Default 1,000.
   */
  emptyPageIntervalMs?: number;
  /** Most events that one read looks at. Default 20,000. */
  maxScan?: number;
  clock?: Clock;
}

/**
 * The event log in EventStoreDB or KurrentDB (principles 5). A position is where an event's record begins in the
 * server's log, so positions grow with gaps. A call waits about three seconds for a server that is away, then throws
 * PedigreeError `unavailable`: the outcome of an append is then unknown, and it is repeated.
 */
export class EventStoreDbEventStore implements EventStore {
  readonly positionUnit = 'byte';
  private readonly client: EventStoreDBClient;
  private readonly limits: EventStoreLimits;
  private readonly closing = new AbortController();
  private readonly clock: Clock;
  private readonly appender: Appender;
  private readonly shared: SharedFollowing;
  /** The last append to each stream that is under way: those to one stream keep their order. */
  private readonly underWay = new Map<string, Promise<unknown>>();
  private waiting = 0;

  constructor(private readonly options: EventStoreDbOptions) {
    this.limits = limitsOf(options);
    this.clock = options.clock ?? systemClock;
    this.client = openClient(options.url);
    // Each call under way listens for it.
    setMaxListeners(0, this.closing.signal);
    this.appender = new Appender(this.client, {
      clock: this.clock,
      answerWithinMs: answerWithinMs(this.client),
      patiently: (call) => this.call(call),
    });
    this.shared = new SharedFollowing(this.follow, this.clock);
  }

  /**
   * Throws PedigreeError `invalid_parameter`, `body_too_large` or `unavailable`. After `unavailable` the outcome is
   * unknown; repeat it.
   */
  async append(stream: string, expectedVersion: ExpectedVersion, events: NewEvent[]): Promise<AppendResult> {
    const asked = { stream, expectedVersion, events };
    checkAppend(asked, this.limits);
    if (isSystemStream(stream))
      throw new PedigreeError('invalid_parameter', `stream names that begin with $ belong to the server: ${stream}`, {
        field: '/stream',
      });
    const note = expectedVersion === 'any' ? { expected: expectedVersion } : {};
    const encoded = encodeAppend(asked, this.limits, ({ metadata, schemaVersion }) => ({
      ...metadata,
      log: { schemaVersion, ...note } satisfies LogNote,
    }));
    if (this.waiting >= this.limits.maxWaitingAppends)
      throw new PedigreeError('unavailable', `${this.waiting} appends already wait for the event log`);
    return this.inTurn(stream, () => this.appender.append(encoded));
  }

  async readStream(stream: string, options: { fromVersion?: number; limit?: number } = {}): Promise<RecordedEvent[]> {
    const { fromVersion = 0, limit = this.limits.maxReadLimit } = options;
    checkRead(limit, undefined, this.limits);
    if (isSystemStream(stream)) return [];
    const events = await this.call(() => readServerStream(this.client, stream, { fromVersion, limit }));
    return events.map((event) => recordedEvent(event, this.options.upcast));
  }

  readAll(after: bigint, options: { filter?: EventFilter; limit?: number } = {}): Promise<ReadPage> {
    const { filter, limit = 1_000 } = options;
    return this.call(() => {
      checkRead(limit, filter, this.limits);
      return scanAll(this.client, after, { filter, limit, maxScan: this.maxScan, upcast: this.options.upcast });
    });
  }

  eventAt(position: bigint): Promise<RecordedEvent | undefined> {
    return this.call(() => eventAtPlace(this.client, position, this.options.upcast));
  }

  async *subscribeAll(
    after: bigint,
    options: { filter?: EventFilter; limit?: number; signal: AbortSignal },
  ): AsyncGenerator<ReadPage, void, undefined> {
    const { filter, limit = 1_000 } = options;
    checkRead(limit, filter, this.limits);
    const signal = AbortSignal.any([options.signal, this.closing.signal]);
    yield* followTogether(after, this.shared, {
      follow: this.follow,
      clock: this.clock,
      idleLookMs: this.idleLookMs,
      filter,
      limit,
      signal,
    });
  }

  async *subscribeTexts<Made>(
    after: bigint,
    { each, ...options }: FollowingTexts<Made>,
  ): AsyncGenerator<TextPage<Made>, void, undefined> {
    for await (const { events, readUpTo } of this.subscribeAll(after, options))
      yield { events: events.map((event) => each(textOf(event))), readUpTo };
  }

  head(): Promise<bigint> {
    return this.call(() => newestPosition(this.client, this.maxScan));
  }

  /**
   * Offers a persistent subscription to consumers outside Pedigree, which take events by name with any client of the
   * server. It may hand out an event twice and out of order (a redelivery comes after younger events), so nothing of
   * ours reads by it. Throws PedigreeError.
   */
  offerPersistentSubscription(name: string, offer: PersistentSubscriptionOffer = {}): Promise<void> {
    checkRead(1, offer.filter, this.limits);
    return this.call(() => offerPersistentSubscription(this.client, name, offer));
  }

  describePersistentSubscription(name: string): Promise<PersistentSubscriptionState> {
    return this.call(() => describePersistentSubscription(this.client, name));
  }

  withdrawPersistentSubscription(name: string): Promise<void> {
    return this.call(() => withdrawPersistentSubscription(this.client, name));
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.appender.close();
    await closeClient(this.client);
  }

  private readonly follow: Follow = (after, wanted) => {
    const { client, clock, idleLookMs } = this;
    return followAll(after, { client, clock, idleLookMs, upcast: this.options.upcast, ...wanted });
  };

  private get idleLookMs(): number {
    return this.options.emptyPageIntervalMs ?? 1_000;
  }

  private get maxScan(): number {
    return this.options.maxScan ?? 20_000;
  }

  private call<T>(call: () => Promise<T>): Promise<T> {
    return patiently({ url: this.options.url, clock: this.clock, signal: this.closing.signal }, call);
  }

  private async inTurn<T>(stream: string, run: () => Promise<T>): Promise<T> {
    const before = this.underWay.get(stream);
    const mine = before === undefined ? run() : before.then(run, run);
    this.underWay.set(stream, mine);
    this.waiting += 1;
    try {
      return await mine;
    } finally {
      this.waiting -= 1;
      if (this.underWay.get(stream) === mine) this.underWay.delete(stream);
    }
  }
}
