import { systemClock } from '#kernel';
import type { Pool } from '#postgres';
import type { CampaignLog } from './campaign-log.js';
import { findOrphans, type Orphan } from './subjects/orphans/find-orphans.js';

/** Longer than a task and the event that follows from it can be apart. */
const EVERY_MS = 5_000;

/**
 * Looks again and again for documents that nothing will move on. One that is found twice running, at the same event, is
 * stuck.
 */
export class OrphanWatch {
  private readonly confirmed = new Map<string, Orphan>();
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private seen = new Map<string, Orphan>();

  constructor(private readonly find: () => Promise<Orphan[]>) {}

  static over(pool: Pool, log: CampaignLog): OrphanWatch {
    return new OrphanWatch(() => findOrphans(pool, log));
  }

  start(): void {
    this.running = this.watch();
  }

  /** All that were stuck at any time, also now. */
  async finish(): Promise<Orphan[]> {
    await this.stop();
    await this.look();
    if ([...this.seen.keys()].some((requestId) => !this.confirmed.has(requestId))) {
      await systemClock.wait(EVERY_MS);
      await this.look();
    }
    return [...this.confirmed.values()];
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Once. Throws when the database or the log is away; what was seen before counts no more then. */
  async look(): Promise<void> {
    const before = this.seen;
    this.seen = new Map();
    const found = await this.find();
    this.seen = new Map(found.map((one) => [one.requestId, one]));
    for (const one of found)
      if (before.get(one.requestId)?.position === one.position) this.confirmed.set(one.requestId, one);
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.look().catch(() => undefined);
      await systemClock.wait(EVERY_MS, signal);
    }
  }
}
