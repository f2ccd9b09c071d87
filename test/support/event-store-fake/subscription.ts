import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { eventMessage, matcherOf, nameOf } from './messages.js';
import type { FakeLog, FakeRecord } from './log.js';

const DEFAULT_SEARCH_WINDOW = 32;
/** What the real server tells as its checkpoint while it has none: -1, without its sign. */
const NO_POSITION = 2n ** 64n - 1n;

interface Asked {
  call: ServerWritableStream<ReadReq, ReadResp>;
  options: InstanceType<typeof streams.ReadReq.Options>;
}

/**
 * A subscription to $all, or to one stream, as the real server serves it: it catches up, says so, then follows. With a
 * filter it tells a checkpoint after each stretch of looked-at events, and when it has caught up the last one that it
 * knows, which may lie before the end of the log, or -1 for none.
 */
export class Subscription {
  private next: number;
  private looked = 0;
  private checkpoint: bigint | undefined;
  private isLive = false;
  private isWriting = false;
  private readonly matches: (record: FakeRecord) => boolean;
  private readonly interval: number;
  private readonly isFromStart: boolean;

  constructor(
    private readonly log: FakeLog,
    private readonly asked: Asked,
  ) {
    const { options } = asked;
    const filter = options.getFilter();
    const stream = options.hasStream() ? nameOf(options.getStream()?.getStreamIdentifier()) : undefined;
    const wanted = matcherOf(filter);
    this.matches = (record) => (stream === undefined || record.stream === stream) && wanted(record);
    this.interval =
      filter === undefined
        ? Infinity
        : (filter.hasMax() ? filter.getMax() : DEFAULT_SEARCH_WINDOW) * filter.getCheckpointintervalmultiplier();
    this.isFromStart = options.getAll()?.hasStart() === true;
    this.next = this.firstIndex();
  }

  start(): void {
    const confirmation = new streams.ReadResp.SubscriptionConfirmation();
    confirmation.setSubscriptionId(randomUUID());
    const response = new streams.ReadResp();
    response.setConfirmation(confirmation);
    this.asked.call.write(response);
    const wake = (): void => void this.pump();
    const stop = this.log.onAppend(wake);
    for (const ending of ['cancelled', 'close', 'error']) this.asked.call.on(ending, stop);
    wake();
  }

  /** A subscription begins after its position; a revision counts within its stream. */
  private firstIndex(): number {
    const { options } = this.asked;
    const all = options.getAll();
    const position = all?.getPosition();
    if (position !== undefined) {
      const at = this.log.indexAt(BigInt(position.getCommitPosition()));
      return this.log.records[at]?.position === BigInt(position.getCommitPosition()) ? at + 1 : at;
    }
    const stream = options.getStream();
    if (all?.hasEnd() === true || stream?.hasEnd() === true) return this.log.records.length;
    if (stream?.hasRevision() !== true) return 0;
    const last = this.log.stream(nameOf(stream.getStreamIdentifier()))[Number(stream.getRevision())];
    return last === undefined ? 0 : this.log.indexAt(last.position) + 1;
  }

  /** Sends what there is, as far as the reader's window lets it. */
  private async pump(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    for (
      let record = this.log.records[this.next];
      record !== undefined && !this.asked.call.cancelled;
      record = this.log.records[this.next]
    ) {
      this.next += 1;
      this.looked += 1;
      if (this.matches(record)) {
        this.checkpoint = record.position;
        await this.write(eventMessage(record));
      }
      if (this.looked % this.interval === 0) {
        this.checkpoint = record.position;
        await this.tellCheckpoint();
      }
    }
    if (!this.isLive) {
      this.isLive = true;
      await this.tellCheckpoint();
      // The real server may say it several times.
      for (let n = 0; n < 2; n += 1)
        await this.write(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));
    }
    this.isWriting = false;
    if (this.next < this.log.records.length && !this.asked.call.cancelled) void this.pump();
  }

  private async tellCheckpoint(): Promise<void> {
    const known = this.checkpoint ?? (this.isFromStart ? NO_POSITION : undefined);
    if (this.interval === Infinity || known === undefined) return;
    const checkpoint = new streams.ReadResp.Checkpoint();
    checkpoint.setCommitPosition(String(known));
    checkpoint.setPreparePosition(String(known));
    const response = new streams.ReadResp();
    response.setCheckpoint(checkpoint);
    await this.write(response);
  }

  private async write(response: ReadResp): Promise<void> {
    const { call } = this.asked;
    if (call.cancelled || call.write(response)) return;
    const came = new AbortController();
    await Promise.race(
      ['drain', 'cancelled', 'close'].map((event) => once(call, event, { signal: came.signal }).catch(() => undefined)),
    );
    came.abort();
  }
}
