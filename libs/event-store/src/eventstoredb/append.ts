import {
  UnavailableError,
  WrongExpectedVersionError,
  type EventStoreDBClient,
  type RecordedEvent as ServerEvent,
} from '@eventstore/db-client';
import type { BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { Clock } from '#kernel';
import type { EncodedAppend } from '../encode.js';
import type { AppendResult } from '../port.js';
import { AppendCall, errorOf } from './append-call.js';
import { appendParts } from './append-request.js';
import { openAppendCall } from './connection.js';
import { readServerStream } from './read.js';
import { noteOf, positionOf } from './stored-event.js';

/** The ids that came to a stream with `any`, as far as the stream was read. */
interface KnownIds {
  versions: Map<string, number>;
  /** Version of the last event that was read, -1 for none. */
  readUpTo: number;
}

const MOST_STREAMS_KNOWN = 200;
const READ_EVENTS = 1_000;
const MOST_READS = 10_000;
const MOST_CONFLICTS = 1_000;

export interface AppenderOptions {
  clock: Clock;
  /** Longest time that the server may take over one append, in milliseconds. */
  answerWithinMs: number;
  /** Makes a call, and again while the server is away. */
  patiently: <T>(call: () => Promise<T>) => Promise<T>;
}

const endCall = (call: AppendCall): void => call.cancel(new UnavailableError(undefined, 'the event log was closed'));

/**
 * Appends by the server's rules. At an expected version the server itself recognises a repeat (same ids at the same
 * versions) and answers as it did the first time. With `any` it promises nothing (its cache forgets), so such an append
 * is made at the version where the stream ends, after looking for its ids there.
 */
export class Appender {
  private readonly known = new Map<string, KnownIds>();
  private current: Promise<AppendCall> | undefined;
  private isClosed = false;

  constructor(
    private readonly client: EventStoreDBClient,
    private readonly options: AppenderOptions,
  ) {}

  append(append: EncodedAppend): Promise<AppendResult> {
    const { expectedVersion } = append;
    if (expectedVersion === 'any') return this.appendAnywhere(append);
    return this.appendAfter(append, expectedVersion === 'none' ? -1 : expectedVersion);
  }

  /** Ends the call that appends go by. Whoever waits is rejected. */
  close(): void {
    this.isClosed = true;
    // One that is still looking for a server is not waited for, and ended when it has found one.
    void this.current?.then(endCall, () => undefined);
  }

  private async appendAfter(append: EncodedAppend, after: number): Promise<AppendResult> {
    const parts = appendParts(append, after);
    const version = after + append.events.length;
    // Made again after a lost answer it is the same append under the same ids: the server knows it.
    const answer = await this.options.patiently(() => this.tryAppend(parts));
    if ('actualVersion' in answer) return { kind: 'conflict', actualVersion: answer.actualVersion };
    return { kind: 'appended', version, position: answer.position ?? (await this.positionAt(append.stream, version)) };
  }

  private async tryAppend(
    parts: BatchAppendReq[],
  ): Promise<{ position: bigint | undefined } | { actualVersion: number }> {
    const call = await this.openCall();
    const response = await call.append(parts);
    const error = errorOf(response);
    if (error instanceof WrongExpectedVersionError)
      return { actualVersion: typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : -1 };
    if (error !== undefined) throw error;
    const position = response.getSuccess()?.getPosition()?.getCommitPosition();
    return { position: position === undefined ? undefined : BigInt(position) };
  }

  /** The call under way, or a new one. */
  private openCall(): Promise<AppendCall> {
    return (this.current ??= this.newCall());
  }

  private newCall(): Promise<AppendCall> {
    const { clock, answerWithinMs } = this.options;
    const opened = openAppendCall(this.client).then(
      (call) => new AppendCall(call, { clock, answerWithinMs, onLost: () => forget() }),
    );
    const forget = (): void => {
      if (this.current === opened) this.current = undefined;
    };
    opened.then((call) => this.isClosed && endCall(call), forget);
    return opened;
  }

  private async positionAt(stream: string, version: number): Promise<bigint> {
    const [event] = await this.options.patiently(() =>
      readServerStream(this.client, stream, { fromVersion: version, limit: 1 }),
    );
    if (event === undefined)
      throw new Error(`the event log took an append to ${stream} and does not show version ${version}`);
    return positionOf(event);
  }

  private async appendAnywhere(append: EncodedAppend): Promise<AppendResult> {
    const ids = append.events.map((event) => event.id.toLowerCase());
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const known = await this.readOn(append.stream);
      const versions = ids.flatMap((id) => known.versions.get(id) ?? []);
      if (versions.length > 0)
        return this.repeatOf(append.stream, { ids, first: Math.min(...versions), last: known.readUpTo });
      const result = await this.appendAfter(append, known.readUpTo);
      if (result.kind === 'appended') return result;
    }
    throw new Error(`${MOST_CONFLICTS} conflicts in a row at ${append.stream}`);
  }

  /** Some of the ids are there: a repeat when they are there in this order without others between, else a conflict. */
  private async repeatOf(stream: string, of: { ids: string[]; first: number; last: number }): Promise<AppendResult> {
    const there = await this.options.patiently(() =>
      readServerStream(this.client, stream, { fromVersion: of.first, limit: of.ids.length }),
    );
    const last = there[of.ids.length - 1];
    const isRepeat = last !== undefined && of.ids.every((id, n) => there[n]?.id === id);
    if (!isRepeat) return { kind: 'conflict', actualVersion: of.last };
    return { kind: 'appended', version: Number(last.revision), position: positionOf(last) };
  }

  /**
   * Brings what is known of a stream up to its end. The first time it reads the whole stream, so streams that grow by
   * `any` should not grow for ever.
   */
  private async readOn(stream: string): Promise<KnownIds> {
    const known = this.known.get(stream) ?? { versions: new Map<string, number>(), readUpTo: -1 };
    // Deleting first moves the stream to the end of the map: its first is the one that was not used for longest.
    this.known.delete(stream);
    this.known.set(stream, known);
    const oldest = this.known.keys().next();
    if (this.known.size > MOST_STREAMS_KNOWN && !oldest.done) this.known.delete(oldest.value);
    for (let reads = 0; reads < MOST_READS; reads += 1) {
      const events: ServerEvent[] = await this.options.patiently(() =>
        readServerStream(this.client, stream, { fromVersion: known.readUpTo + 1, limit: READ_EVENTS }),
      );
      for (const event of events) {
        if (noteOf(event).expected === 'any') known.versions.set(event.id, Number(event.revision));
        known.readUpTo = Number(event.revision);
      }
      if (events.length < READ_EVENTS) return known;
    }
    throw new Error(`${stream} has more than ${MOST_READS * READ_EVENTS} events: append to it at an expected version`);
  }
}
