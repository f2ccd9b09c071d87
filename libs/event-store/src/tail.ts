import type { EventFilter, ReadPage, RecordedEvent } from './port.js';
import type { PageRead } from './read.js';

export interface TailOptions {
  /** Reads on after a position, unfiltered, a bounded page at a time. It may wait until there is something. */
  read(after: bigint): Promise<PageRead>;
  /**
   * Most events and bytes that are kept, or the newest page where that alone is more; by default 2,000 and 8 MiB: some
   * seconds of a busy log.
   */
  maxEvents?: number;
  maxBytes?: number;
}

export interface Wanted {
  filter: EventFilter | undefined;
  limit: number;
}

/**
 * The newest stretch of the log, read and decoded once for all subscriptions of a store that are up to date; each takes
 * from it what its filter lets through. One that is further behind than what is kept reads for itself until it has come
 * that far. The events are shared between subscriptions: nobody may change them.
 */
export class Tail {
  private pages: PageRead[] = [];
  private kept = 0;
  private keptBytes = 0;
  /** What is kept are the events after `begin` up to `end`. */
  private begin = 0n;
  private end: bigint | undefined;
  private reachedHead = false;
  private advancing: Promise<void> | undefined;

  constructor(private readonly options: TailOptions) {}

  /** The page after a position; undefined for a position that lies before what is kept. Throws what reading throws. */
  async after(position: bigint, wanted: Wanted): Promise<(ReadPage & { reachedHead: boolean }) | undefined> {
    if (this.end !== undefined && position >= this.end)
      await (this.advancing ??= this.advance(this.end).finally(() => (this.advancing = undefined)));
    // Whoever is ahead of it all the same came there alone, and from there on it is worth sharing.
    if (this.end === undefined || position > this.end) this.beginAt(position);
    return position < this.begin ? undefined : this.take(position, wanted);
  }

  private beginAt(position: bigint): void {
    [this.pages, this.kept, this.keptBytes] = [[], 0, 0];
    [this.begin, this.end, this.reachedHead] = [position, position, false];
  }

  private async advance(from: bigint): Promise<void> {
    const page = await this.options.read(from);
    // It began anew elsewhere meanwhile.
    if (this.end !== from) return;
    this.reachedHead = page.reachedHead;
    if (page.events.length > 0) this.keep(page);
  }

  private keep(page: PageRead): void {
    const { maxEvents = 2_000, maxBytes = 8 * 1024 * 1024 } = this.options;
    this.pages.push(page);
    this.kept += page.events.length;
    this.keptBytes += page.bytes;
    this.end = page.readUpTo;
    while (this.pages.length > 1 && (this.kept > maxEvents || this.keptBytes > maxBytes)) {
      const oldest = this.pages.shift() as PageRead;
      this.kept -= oldest.events.length;
      this.keptBytes -= oldest.bytes;
      this.begin = oldest.readUpTo;
    }
  }

  private take(after: bigint, { filter, limit }: Wanted): ReadPage & { reachedHead: boolean } {
    const events: RecordedEvent[] = [];
    for (const page of this.pages.slice(this.pages.findLastIndex((one) => one.readUpTo <= after) + 1)) {
      for (const event of page.events) {
        if (event.position <= after || !passes(filter, event)) continue;
        events.push(event);
        if (events.length === limit) return { events, readUpTo: event.position, reachedHead: false };
      }
    }
    return { events, readUpTo: this.end as bigint, reachedHead: this.reachedHead };
  }
}

const passes = ({ types, streamPrefixes }: EventFilter = {}, { type, stream }: RecordedEvent): boolean =>
  (types === undefined || types.includes(type)) &&
  (streamPrefixes === undefined || streamPrefixes.some((prefix) => stream.startsWith(prefix)));
