import { NO_STREAM, WrongExpectedVersionError, type EventStoreDBClient, type RecordedEvent as ServerEvent } from '@eventstore/db-client';
import { randomUUID } from 'node:crypto';
import type { EncodedAppend } from '../encode.js';
import type { AppendResult, NewEvent } from '../port.js';
import { AT_THE_LEADER } from './connection.js';
import { readServerStream } from './read.js';
import { noteOf, positionOf, proposalOf } from './stored-event.js';

/** An append ready to go: its stored form, and the metadata that the log's own note is added to. */
export interface ReadyAppend extends EncodedAppend {
  metadata: NewEvent['metadata'][];
}

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

type Call = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * Appends by the server's rules. At an expected version the server itself recognises a repeat (same ids at the same versions), but does not say so;
 * and with `any` it promises nothing (its cache forgets). So each call leaves its own mark on its events and reads the last one back, and an append with `any` is made
 * at the version where the stream ends, after looking for its ids in that stream.
 */
export class Appender {
  private readonly known = new Map<string, KnownIds>();

  constructor(
    private readonly client: EventStoreDBClient,
    private readonly call: Call,
  ) {}

  append(append: ReadyAppend): Promise<AppendResult> {
    const { expectedVersion } = append;
    if (expectedVersion === 'any') return this.appendAnywhere(append);
    return this.appendAfter(append, { after: expectedVersion === 'none' ? -1 : expectedVersion });
  }

  private async appendAfter(append: ReadyAppend, { after, expected }: { after: number; expected?: 'any' }): Promise<AppendResult> {
    const mark = randomUUID();
    const note = { append: mark, ...(expected === undefined ? {} : { expected }) };
    const proposals = append.events.map((event, n) => proposalOf(event, append.metadata[n] as NewEvent['metadata'], note));
    const version = after + append.events.length;
    // Made again after a lost answer it is the same append under the same mark: the server recognises it, and so does the look at the mark.
    const actualVersion = await this.call(() => this.tryAppend(append.stream, proposals, after));
    if (actualVersion !== undefined) return { kind: 'conflict', actualVersion };
    const [last] = await this.call(() => readServerStream(this.client, append.stream, { fromVersion: version, limit: 1 }));
    if (last === undefined) throw new Error(`the event log took an append to ${append.stream} and does not show version ${version}`);
    return { kind: 'appended', version, position: positionOf(last), repeated: noteOf(last).append !== mark };
  }

  /** Gives the version of the stream's last event when it was not the expected one. */
  private async tryAppend(stream: string, proposals: ReturnType<typeof proposalOf>[], after: number): Promise<number | undefined> {
    try {
      const { success, nextExpectedRevision } = await this.client.appendToStream(stream, proposals, { expectedRevision: after < 0 ? NO_STREAM : BigInt(after), ...AT_THE_LEADER });
      // The connection string may ask the client not to throw.
      return success ? undefined : Number(nextExpectedRevision);
    } catch (error) {
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      return typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : -1;
    }
  }

  private async appendAnywhere(append: ReadyAppend): Promise<AppendResult> {
    const ids = append.events.map((event) => event.id.toLowerCase());
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const known = await this.readOn(append.stream);
      const versions = ids.flatMap((id) => known.versions.get(id) ?? []);
      if (versions.length > 0) return this.repeatOf(append.stream, { ids, first: Math.min(...versions), last: known.readUpTo });
      const result = await this.appendAfter(append, { after: known.readUpTo, expected: 'any' });
      if (result.kind === 'appended') return result;
    }
    throw new Error(`${MOST_CONFLICTS} conflicts in a row at ${append.stream}`);
  }

  /** Some of the ids are there: a repeat when they are there in this order without others between, else a conflict. */
  private async repeatOf(stream: string, of: { ids: string[]; first: number; last: number }): Promise<AppendResult> {
    const there = await this.call(() => readServerStream(this.client, stream, { fromVersion: of.first, limit: of.ids.length }));
    const last = there[of.ids.length - 1];
    const isRepeat = last !== undefined && of.ids.every((id, n) => there[n]?.id === id);
    if (!isRepeat) return { kind: 'conflict', actualVersion: of.last };
    return { kind: 'appended', version: Number(last.revision), position: positionOf(last), repeated: true };
  }

  /** Brings what is known of a stream up to its end. The first time it reads the whole stream, so streams that grow by `any` should not grow for ever. */
  private async readOn(stream: string): Promise<KnownIds> {
    const known = this.known.get(stream) ?? { versions: new Map<string, number>(), readUpTo: -1 };
    // Deleting first moves the stream to the end of the map: its first is the one that was not used for longest.
    this.known.delete(stream);
    this.known.set(stream, known);
    const oldest = this.known.keys().next();
    if (this.known.size > MOST_STREAMS_KNOWN && !oldest.done) this.known.delete(oldest.value);
    for (let reads = 0; reads < MOST_READS; reads += 1) {
      const events: ServerEvent[] = await this.call(() => readServerStream(this.client, stream, { fromVersion: known.readUpTo + 1, limit: READ_EVENTS }));
      for (const event of events) {
        if (noteOf(event).expected === 'any') known.versions.set(event.id, Number(event.revision));
        known.readUpTo = Number(event.revision);
      }
      if (events.length < READ_EVENTS) return known;
    }
    throw new Error(`${stream} has more than ${MOST_READS * READ_EVENTS} events: append to it at an expected version`);
  }
}
