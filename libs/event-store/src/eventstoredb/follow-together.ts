import type { Clock } from '#kernel';
import type { ReadPage } from '../port.js';
import type { PageRead } from '../read.js';
import { Tail, type Wanted } from '../tail.js';
import { waitUntil } from './wait-until.js';

const PAGE_EVENTS = 1_000;

/** Makes a subscription at the server, which gives pages until its signal aborts. */
export type Follow = (
  after: bigint,
  wanted: Wanted & { signal: AbortSignal },
) => AsyncGenerator<ReadPage, void, undefined>;

/** A subscription at the server, and how far its events were taken. */
interface Source {
  pages: AsyncGenerator<ReadPage, void, undefined>;
  at: bigint;
  end: AbortController;
}

/**
 * The newest stretch of the log, which the subscriptions of a store that are up to date read together, by one
 * subscription at the server. It is there while there are two.
 */
export class SharedFollowing {
  private members = 0;
  private source: Source | undefined;
  private readonly tail = new Tail({ read: (after) => this.read(after) });

  constructor(
    private readonly follow: Follow,
    private readonly clock: Clock,
  ) {}

  join(): void {
    this.members += 1;
  }

  leave(): void {
    this.members -= 1;
    if (this.members < 2 && this.source !== undefined) this.forget(this.source);
  }

  /**
   * The page after a position; undefined when nothing came within `waitMs`, `behind` for a position that is not shared.
   * Throws when the server stays away.
   */
  async after(
    position: bigint,
    wanted: Wanted,
    { signal, waitMs }: { signal: AbortSignal; waitMs: number },
  ): Promise<ReadPage | 'behind' | undefined> {
    if (this.members < 2) return 'behind';
    const came = new AbortController();
    const page = this.tail.after(position, wanted).then((found) => found ?? ('behind' as const));
    try {
      return await Promise.race([page, waitUntil({ clock: this.clock, waitMs, woken: came, signal })]);
    } finally {
      came.abort();
    }
  }

  /**
   * The next events of the shared subscription; a new one where the last failed or went another way. None when nobody
   * shares any more.
   */
  private async read(after: bigint): Promise<PageRead> {
    const source = this.source?.at === after ? this.source : this.begin(after);
    const page = await this.nextOf(source);
    if (page === undefined) return { events: [], readUpTo: after, reachedHead: true, bytes: 0 };
    source.at = page.readUpTo;
    // Positions count bytes of the server's log.
    return { ...page, reachedHead: true, bytes: Number(page.readUpTo - after) };
  }

  /** Its next page with events; none when it has ended or failed, and then it does not go on. */
  private async nextOf(source: Source): Promise<ReadPage | undefined> {
    for (let page = await source.pages.next(); !page.done; page = await source.pages.next())
      if (page.value.events.length > 0) return page.value;
    this.forget(source);
    return undefined;
  }

  private forget(source: Source): void {
    source.end.abort();
    // One that is not being read does not hear of it.
    void source.pages.return().catch(() => undefined);
    if (this.source === source) this.source = undefined;
  }

  private begin(after: bigint): Source {
    if (this.source !== undefined) this.forget(this.source);
    const end = new AbortController();
    return (this.source = {
      pages: this.follow(after, { filter: undefined, limit: PAGE_EVENTS, signal: end.signal }),
      at: after,
      end,
    });
  }
}

export interface FollowTogetherOptions extends Wanted {
  follow: Follow;
  clock: Clock;
  /** A page without events, which only tells progress, comes at most this often. */
  idleLookMs: number;
  signal: AbortSignal;
}

/**
 * Pages as they come, out of what is shared where this subscription is up to date, else by one of its own at the
 * server.
 */
export async function* followTogether(
  after: bigint,
  shared: SharedFollowing,
  options: FollowTogetherOptions,
): AsyncGenerator<ReadPage, void, undefined> {
  const { follow, clock, filter, limit, signal, idleLookMs } = options;
  let alone: AsyncGenerator<ReadPage, void, undefined> | undefined;
  let [from, told, toldAtMs] = [after, after, clock.monotonicMs()];
  shared.join();
  try {
    while (!signal.aborted) {
      let page = await shared.after(from, { filter, limit }, { signal, waitMs: idleLookMs });
      if (page === 'behind') {
        alone ??= follow(from, { filter, limit, signal });
        page = (await alone.next()).value as ReadPage | undefined;
      } else if (alone !== undefined) {
        await alone.return();
        alone = undefined;
      }
      if (signal.aborted) return;
      const { events, readUpTo } = page ?? { events: [], readUpTo: from };
      from = readUpTo;
      const isDue = from > told && (alone !== undefined || clock.monotonicMs() - toldAtMs >= idleLookMs);
      if (events.length === 0 && !isDue) continue;
      yield { events, readUpTo: from };
      [told, toldAtMs] = [from, clock.monotonicMs()];
    }
  } finally {
    shared.leave();
    await alone?.return();
  }
}
