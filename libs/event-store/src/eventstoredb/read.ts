import {
  BACKWARDS,
  END,
  FORWARDS,
  START,
  StreamNotFoundError,
  type EventStoreDBClient,
  type RecordedEvent as ServerEvent,
  type ResolvedEvent,
} from '@eventstore/db-client';
import { isPosition } from '../limits.js';
import type { EventFilter, ReadPage, RecordedEvent } from '../port.js';
import type { Upcast } from '../read.js';
import { AT_THE_LEADER } from './connection.js';
import { matches } from './filter.js';
import { isSystemStream, positionOf, recordedEvent } from './stored-event.js';

/**
 * Everything that a read of the server gives. An event whose record was deleted behind a link has no body; links are
 * not followed here.
 */
async function collect(events: AsyncIterable<ResolvedEvent>): Promise<ServerEvent[]> {
  const all: ServerEvent[] = [];
  for await (const { event } of events) if (event !== undefined) all.push(event as ServerEvent);
  return all;
}

/** Events of one stream; none when there is no such stream. */
export async function readServerStream(
  client: EventStoreDBClient,
  stream: string,
  range: { fromVersion: number; limit: number },
): Promise<ServerEvent[]> {
  try {
    return await collect(
      client.readStream(stream, {
        fromRevision: BigInt(range.fromVersion),
        maxCount: range.limit,
        direction: FORWARDS,
        ...AT_THE_LEADER,
      }),
    );
  } catch (error) {
    if (error instanceof StreamNotFoundError) return [];
    throw error;
  }
}

/**
 * The server reads from its place on, this event included, and takes only places where an event begins: those that it
 * gave.
 */
const placeOf = (after: bigint): typeof START | { commit: bigint; prepare: bigint } =>
  after === 0n ? START : { commit: after, prepare: after };

interface Scan {
  filter: EventFilter | undefined;
  limit: number;
  /** Most events that are looked at. */
  maxScan: number;
  upcast: Upcast | undefined;
}

const CHUNK_EVENTS = 1_000;

/**
 * Events after a position, in order. This client can hand a filter to a subscription but not to a read, so a read looks
 * at every event itself; it says how far it came, and never looks at more than `maxScan`.
 */
export async function scanAll(client: EventStoreDBClient, after: bigint, scan: Scan): Promise<ReadPage> {
  const page: ReadPage = { events: [], readUpTo: after };
  // What a first read does not bring lies behind events of the server's own, and there may be many of them.
  let most = scan.filter === undefined ? scan.limit : CHUNK_EVENTS;
  for (let looked = 0; looked < scan.maxScan; most = CHUNK_EVENTS) {
    // One more than wanted, for the event at which the read begins was seen before.
    const wanted = Math.min(scan.maxScan - looked, most) + (page.readUpTo === 0n ? 0 : 1);
    const chunk = await collect(
      client.readAll({ fromPosition: placeOf(page.readUpTo), maxCount: wanted, direction: FORWARDS, ...AT_THE_LEADER }),
    );
    for (const event of chunk) {
      const position = positionOf(event);
      if (position <= page.readUpTo && page.readUpTo !== 0n) continue;
      looked += 1;
      page.readUpTo = position;
      if (matches(scan.filter, event)) page.events.push(recordedEvent(event, scan.upcast));
      if (page.events.length === scan.limit) return page;
    }
    if (chunk.length < wanted) return page;
  }
  return page;
}

/** Where no event begins the server refuses to read. */
const isNoPlace = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('ReadAllResult: InvalidPosition');

/** The event of ours that begins at this place; undefined where none does. */
export async function eventAtPlace(
  client: EventStoreDBClient,
  position: bigint,
  upcast: Upcast | undefined,
): Promise<RecordedEvent | undefined> {
  if (!isPosition(position)) return undefined;
  try {
    const [event] = await collect(
      client.readAll({ fromPosition: placeOf(position), maxCount: 1, direction: FORWARDS, ...AT_THE_LEADER }),
    );
    const isThere = event !== undefined && positionOf(event) === position && !isSystemStream(event.streamId);
    return isThere ? recordedEvent(event, upcast) : undefined;
  } catch (error) {
    if (isNoPlace(error)) return undefined;
    throw error;
  }
}

/**
 * Position of the newest event that is not the system's, 0 when there is none. Looks back over at most `maxScan` events
 * of the system.
 */
export async function newestPosition(client: EventStoreDBClient, maxScan: number): Promise<bigint> {
  for (let count = 32; ; count = Math.min(count * 16, maxScan)) {
    const events = await collect(
      client.readAll({ fromPosition: END, maxCount: count, direction: BACKWARDS, ...AT_THE_LEADER }),
    );
    const newest = events.find((event) => !isSystemStream(event.streamId));
    if (newest !== undefined) return positionOf(newest);
    if (events.length < count) return 0n;
    // So much of the system's alone: whatever is ours lies before it.
    if (count >= maxScan) return positionOf(events.at(-1) as ServerEvent);
  }
}
