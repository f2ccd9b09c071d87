import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';

/** An event as the fake keeps it. */
export interface FakeRecord {
  /** Byte offset of the record in the log: it grows, with gaps, as a real server's does. */
  position: bigint;
  stream: string;
  revision: number;
  id: string;
  type: string;
  isJson: boolean;
  data: Uint8Array;
  metadata: Uint8Array;
  createdAt: Date;
}

export type FakeProposal = Pick<FakeRecord, 'id' | 'type' | 'isJson' | 'data' | 'metadata'>;
export type FakeExpectation = number | 'none' | 'any' | 'exists';
export type FakeAppended = { kind: 'done'; revision: number; position: bigint } | { kind: 'wrong'; current: number };

/** What a record takes beside its bytes. */
const RECORD_BYTES = 137;
/** A system event stands between the others now and then, as statistics and settings do on a real server. */
const SYSTEM_EVENT_EVERY = 10;
const MOST_RECORDS = 200_000;

/**
 * The log of the fake, in memory. It outlives its server, so that one can be stopped and started again with its data.
 */
export class FakeLog {
  readonly records: FakeRecord[] = [];
  private readonly streams = new Map<string, FakeRecord[]>();
  private readonly added = new EventEmitter().setMaxListeners(0);
  private end = 0n;
  private clientEvents = 0;

  constructor(private readonly now: () => Date = () => new Date()) {
    this.write('$settings', {
      id: randomUUID(),
      type: '$metadata',
      isJson: true,
      data: Buffer.from('{}'),
      metadata: new Uint8Array(),
    });
  }

  stream(name: string): FakeRecord[] {
    return this.streams.get(name) ?? [];
  }

  /** Calls back after each append until the returned function is called. */
  onAppend(listener: () => void): () => void {
    this.added.on('append', listener);
    return () => void this.added.off('append', listener);
  }

  get listeners(): number {
    return this.added.listenerCount('append');
  }

  muteListeners(): void {
    this.added.removeAllListeners('append');
  }

  /**
   * What the real server decides (its documentation, "Optimistic concurrency and idempotence"): at the current revision
   * it appends; at an older one exactly the same ids at the same places are a repeat and anything else is wrong; `any`
   * knows a repeat by ids that it has seen in that stream.
   */
  append(stream: string, expected: FakeExpectation, proposals: FakeProposal[]): FakeAppended {
    const there = this.stream(stream);
    const current = there.length - 1;
    const repeat = (from: number): FakeAppended | undefined => {
      const same = proposals.every((proposal, n) => there[from + n]?.id === proposal.id);
      const last = there[from + proposals.length - 1];
      return same && last !== undefined
        ? { kind: 'done', revision: last.revision, position: last.position }
        : undefined;
    };
    if (expected === 'any' || expected === 'exists') {
      const first = there.findIndex((record) => record.id === proposals[0]?.id);
      return (first === -1 ? undefined : repeat(first)) ?? this.writeAll(stream, proposals);
    }
    const revision = expected === 'none' ? -1 : expected;
    if (revision === current) return this.writeAll(stream, proposals);
    return (revision < current ? repeat(revision + 1) : undefined) ?? { kind: 'wrong', current };
  }

  private writeAll(stream: string, proposals: FakeProposal[]): FakeAppended {
    for (const proposal of proposals) this.write(stream, proposal);
    this.clientEvents += proposals.length;
    const last = this.stream(stream).at(-1) as FakeRecord;
    if (this.clientEvents >= SYSTEM_EVENT_EVERY) {
      this.clientEvents = 0;
      this.write('$stats-fake', {
        id: randomUUID(),
        type: '$statsCollected',
        isJson: true,
        data: Buffer.from('{}'),
        metadata: new Uint8Array(),
      });
    }
    this.added.emit('append');
    return { kind: 'done', revision: last.revision, position: last.position };
  }

  private write(stream: string, proposal: FakeProposal): void {
    if (this.records.length >= MOST_RECORDS)
      throw new Error(`the fake event store keeps at most ${MOST_RECORDS} events`);
    const there = this.stream(stream);
    const record = { ...proposal, position: this.end, stream, revision: there.length, createdAt: this.now() };
    this.records.push(record);
    this.streams.set(stream, there);
    there.push(record);
    this.end += BigInt(RECORD_BYTES + proposal.data.length + proposal.metadata.length);
  }

  /** Place in `records` of the first record at or after a position. */
  indexAt(position: bigint): number {
    let low = 0;
    let high = this.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.records[middle] as FakeRecord).position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A real server refuses to read from the middle of a record. */
  isBoundary(position: bigint): boolean {
    return position === this.end || this.records[this.indexAt(position)]?.position === position;
  }
}
