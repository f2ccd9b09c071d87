import { bucketOf, countIn, streamKey, type ProvenEvent } from '#proofs';
import { Contradiction } from './contradiction.js';
import type { BucketProof } from './count-table.js';
import type { Placed, StreamPart } from './stream-span.js';

/** What the counts say of every stream: the event that has their note, and the buckets of the streams. */
export interface CountsProven {
  /** So many leaves are counted. */
  leaves: number;
  statement: ProvenEvent;
  buckets: Map<number, BucketProof>;
}

/**
 * The events of a stream, as they are read: versions from 0 on without a gap, and as many as the counts say. A verifier
 * demands the same, so a proof without an event that somebody took away is not begun, or not ended. Of a part of a
 * stream nothing is said.
 */
export class WholeStream {
  private next = 0;
  private counted = 0;

  constructor(
    private readonly part: StreamPart,
    private readonly counts: CountsProven | undefined,
  ) {}

  /** Throws Contradiction where one is missing before these. */
  take(events: Placed[]): void {
    if (this.part.only !== undefined) return;
    for (const { event, leaf } of events) {
      if (event.version !== this.next)
        throw new Contradiction(
          `version ${this.next} of ${event.stream} is not in the log, and version ${event.version} is: ` +
            'it was taken away',
          leaf,
        );
      this.next += 1;
      if (leaf !== undefined && leaf < (this.counts?.leaves ?? 0)) this.counted += 1;
    }
  }

  /** Throws Contradiction where the stream had more events, or fewer. */
  end(): void {
    const { part, counts, counted } = this;
    if (part.only !== undefined || counts === undefined) return;
    const key = streamKey(part.stream);
    const signed = countIn((counts.buckets.get(bucketOf(key)) as BucketProof).entries, key);
    if (signed === counted) return;
    throw new Contradiction(
      `${signed} events of ${part.stream} before leaf ${counts.leaves} were counted and signed, ` +
        `and ${counted} are there`,
    );
  }
}
