import type { JsonObject } from '#kernel';

/** Who did it: a person, this system, or the registry, and how that was authenticated. */
export interface Actor {
  kind: 'person' | 'system' | 'registry';
  name: string;
  /** For example `api-key`, `loopback`, `amqp user_id`, `database`, `process`. */
  authenticatedBy: string;
}

/** What every event carries beside its data (principles 5). */
export interface EventMetadata {
  /** The legal entity for which this installation speaks. */
  participant: string;
  actor: Actor;
  /** Why, where a person acted. */
  reason?: string;
  softwareVersion: string;
  profile: string;
  /** When the thing happened in the world, ISO 8601 with zone. */
  effectiveAt: string;
  correlationId: string;
  causationId: string;
}

/** An event to append. `data` and `metadata` must have an RFC 8785 form. */
export interface NewEvent<Type extends string = string, Data extends object = object> {
  /** UUID, derived by the caller (UUIDv5 of task key and number) so that a repeat is recognised. */
  id: string;
  type: Type;
  schemaVersion: number;
  data: Data;
  metadata: EventMetadata;
}

/** An event as it stands in the log. */
export interface RecordedEvent<Type extends string = string, Data extends object = JsonObject> extends NewEvent<
  Type,
  Data
> {
  stream: string;
  /** 0 for the first event of its stream. */
  version: number;
  /**
   * Place in the whole log, greater for what was committed later. See `EventStore.positionUnit` for what may be
   * reckoned with it.
   */
  position: bigint;
  recordedAt: Date;
}

/** Version of the last event the caller has seen; `none` for a stream that must not exist yet; `any` for no check. */
export type ExpectedVersion = number | 'none' | 'any';

export type AppendResult =
  | { kind: 'appended'; /** Version and position of the last event. */ version: number; position: bigint }
  | { kind: 'conflict'; /** Version of the last event, or -1 for an empty stream. */ actualVersion: number };

export interface EventFilter {
  /** Only events of streams whose name begins with one of these. Absent: all. */
  streamPrefixes?: string[];
  /** Only events of these types. Absent: all. */
  types?: string[];
}

export interface ReadPage {
  events: RecordedEvent[];
  /**
   * Every event up to and including this position was looked at: the place to go on from, also when nothing matched.
   */
  readUpTo: bigint;
}

/** An event of the log with its content unread: data and metadata as JSON text. */
export interface EventText extends Pick<RecordedEvent, 'id' | 'stream' | 'version' | 'type' | 'schemaVersion'> {
  position: bigint;
  /** ISO 8601 in UTC, with milliseconds. */
  recordedAt: string;
  data: string;
  metadata: string;
}

/** What was made of each event, and the position up to which every event was looked at. */
export interface TextPage<Made> {
  events: Made[];
  readUpTo: bigint;
}

export interface FollowingTexts<Made> {
  /** Most events of a page. Default 1,000. */
  limit?: number;
  /** Called once for each event in order, as soon as it is read. What it throws, the page throws. */
  each: (event: EventText) => Made;
  signal: AbortSignal;
}

/**
 * The event log. An append commits by itself and never joins a caller's transaction. Repeating an append with the same
 * stream, expected version and event ids returns the first result, and does not say that it was there before: who must
 * know gives each run ids of its own. Readers never miss and never reorder.
 */
export interface EventStore {
  /**
   * What a difference of two positions counts: events, and then positions have no gap; or bytes of the server's log.
   */
  readonly positionUnit: 'event' | 'byte';
  append(stream: string, expectedVersion: ExpectedVersion, events: NewEvent[]): Promise<AppendResult>;
  /** Events of one stream in order, from `fromVersion` (default 0), at most `limit` (default 10,000). */
  readStream(stream: string, options?: { fromVersion?: number; limit?: number }): Promise<RecordedEvent[]>;
  /**
   * Events after the position, at most `limit` (default 1,000), in order. `after` is 0, or a position that the log
   * gave.
   */
  readAll(after: bigint, options?: { filter?: EventFilter; limit?: number }): Promise<ReadPage>;
  /** The event at this very position; undefined where none is. Any number may be asked for. */
  eventAt(position: bigint): Promise<RecordedEvent | undefined>;
  /**
   * Pages as they come, for ever, until `signal` aborts; waits without polling hard when there is nothing new. Never
   * yields an empty page unless the position moved past events that the filter left out.
   */
  subscribeAll(
    after: bigint,
    options: { filter?: EventFilter; limit?: number; signal: AbortSignal },
  ): AsyncIterable<ReadPage>;
  /**
   * All events as `subscribeAll` gives them, but with their content as JSON text: as it is stored, where the log is in
   * PostgreSQL. For whoever hashes it. While a page is worked on, the next one may be read already.
   */
  subscribeTexts<Made>(after: bigint, options: FollowingTexts<Made>): AsyncIterable<TextPage<Made>>;
  /** Position of the newest event, 0 when empty. */
  head(): Promise<bigint>;
  close(): Promise<void>;
}
