import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs, PedigreeError, type Clock } from '#kernel';
import type { EventFilter, ReadPage } from '../port.js';
import type { Upcast } from '../read.js';
import { isAway, whileOpen } from './connection.js';
import { Feed, SubscriptionLost } from './feed.js';
import { scanAll } from './read.js';
import { recordedEvent } from './stored-event.js';

export interface FollowOptions {
  client: EventStoreDBClient;
  clock: Clock;
  filter: EventFilter | undefined;
  limit: number;
  upcast: Upcast | undefined;
  /**
   * A page without events, which only tells progress, comes at most this often; as often the end of the log is looked
   * at.
   */
  idleLookMs: number;
  signal: AbortSignal;
}

const RECONNECT = { firstMs: 100, mostMs: 2_000 };
/**
 * About ten seconds: a restart of the server passes unnoticed; whoever follows is told of anything longer, and goes on
 * from its last page.
 */
const MOST_RECONNECTS = 8;
const LOOK_EVENTS = 1_000;
/** Least time between two pages: the server brings them one by one, and a busy log is taken in pages. */
const PAGE_INTERVAL_MS = 10;

/**
 * Pages for ever. The server's subscription brings the events that pass the filter. How far it has looked past others
 * it tells only now and then, so that while nothing comes the end of the log is looked at from here; a look that finds
 * an event which the subscription owes us twice in a row means that it is dead.
 */
export async function* followAll(after: bigint, options: FollowOptions): AsyncGenerator<ReadPage, void, undefined> {
  const { client, clock, filter, signal } = options;
  const place = { from: after };
  let failures = 0;
  while (!signal.aborted) {
    const feed = new Feed(client, place.from, filter);
    try {
      for await (const page of pagesOf(feed, place, options)) {
        failures = 0;
        yield page;
      }
    } catch (error) {
      if (signal.aborted) return;
      // An event that cannot be understood stays so, however often it is asked for.
      if (!(error instanceof SubscriptionLost) && !isAway(error)) throw error;
      failures += 1;
      if (failures > MOST_RECONNECTS)
        throw new PedigreeError(
          'unavailable',
          `the subscription to the event log was lost ${failures} times in a row: ${(error as Error).message}`,
        );
      await clock.wait(backoffMs(failures, RECONNECT), signal);
    } finally {
      await feed.close();
    }
  }
}

/** Pages of one subscription until it is lost, which throws, or the signal aborts. */
async function* pagesOf(
  feed: Feed,
  place: { from: bigint },
  options: FollowOptions,
): AsyncGenerator<ReadPage, void, undefined> {
  const { clock, limit, signal, idleLookMs, upcast } = options;
  let toldAtMs = clock.monotonicMs();
  let told = place.from;
  let owed = 0n;
  let pageAtMs = -Infinity;
  while (!signal.aborted) {
    const restMs = PAGE_INTERVAL_MS - (clock.monotonicMs() - pageAtMs);
    if (restMs > 0) await clock.wait(restMs, signal);
    const taken = await feed.take(limit, { waitMs: idleLookMs, clock, signal });
    if (signal.aborted) return;
    if (taken.readUpTo > place.from) place.from = taken.readUpTo;
    const isIdle = taken.events.length === 0 && clock.monotonicMs() - toldAtMs >= idleLookMs;
    if (isIdle) {
      owed = await lookOn(place, owed, options);
      toldAtMs = clock.monotonicMs();
    }
    if (taken.events.length === 0 && !(isIdle && place.from > told)) continue;
    // Changed only after the page was taken: a consumer that fails begins again from its own place anyway.
    told = place.from;
    // More than a page lies there already.
    pageAtMs = taken.events.length === limit ? -Infinity : clock.monotonicMs();
    yield { events: taken.events.map((event) => recordedEvent(event, upcast)), readUpTo: place.from };
    toldAtMs = clock.monotonicMs();
  }
}

/**
 * Moves the place past events that the filter leaves out. Gives the position of the first one that it does not, which
 * the subscription owes us, or 0. Throws where it still owes the one of the last look.
 */
async function lookOn(
  place: { from: bigint },
  owed: bigint,
  { client, filter, signal }: FollowOptions,
): Promise<bigint> {
  const { events, readUpTo } = await whileOpen(
    signal,
    scanAll(client, place.from, { filter, limit: 1, maxScan: LOOK_EVENTS, upcast: undefined }),
  );
  const [found] = events;
  if (found === undefined) place.from = readUpTo;
  else if (found.position === owed) throw new SubscriptionLost(`the subscription does not bring the event at ${owed}`);
  return found?.position ?? 0n;
}
