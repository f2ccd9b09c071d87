import type { PackState } from '../packs/pack.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import type { PackIndex } from '../registries/pack-index.js';

/** How long after its final status a record stays live (registry-interface 3.3 and 8). */
const ARCHIVE_AFTER_MS = 60 * 24 * 3_600_000;
const MAX_SPENT = 1 << 16;

/**
 * Moves packs into the archive 60 days after their final status. Packs come in the order of the virtual clock, so a
 * plain queue does. One that was brought back meanwhile (391) does not go: its days count anew from the next final
 * status.
 */
export class Archive {
  private numbers: number[] = [];
  private sinceMs: number[] = [];
  private head = 0;

  constructor(private readonly index: PackIndex) {}

  /** To be told of every status that a pack takes. */
  noted(number: number, state: PackState): void {
    if (!FINAL_STATUSES.has(state.status) || state.trail === undefined) return;
    this.numbers.push(number);
    this.sinceMs.push(state.trail.sinceMs);
  }

  /** Archives what is due by the virtual moment. */
  sweep(virtualMs: number): void {
    for (; this.head < this.numbers.length; this.head += 1) {
      const since = this.sinceMs[this.head] as number;
      if (since + ARCHIVE_AFTER_MS > virtualMs) break;
      const number = this.numbers[this.head] as number;
      const state = this.index.state(number);
      if (FINAL_STATUSES.has(state.status) && state.trail?.sinceMs === since) this.index.archive(number);
    }
    if (this.head < MAX_SPENT) return;
    this.numbers = this.numbers.slice(this.head);
    this.sinceMs = this.sinceMs.slice(this.head);
    this.head = 0;
  }
}
