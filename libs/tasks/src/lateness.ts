/** Up to this much a process wakes late on any machine: the profile's guard covers it. */
const ORDINARY_MS = 4;
const MOST_GUARD_MS = 15;
/** What one late wake-up means fades with each later one. */
const FADING = 0.98;

/**
 * How late this process wakes of late, as a sign of how late anything on this machine happens: when it is starved, so may be what stands
 * between us and the registry, and two calls that were written an interval apart are read nearer to each other. Calls then keep further apart.
 */
export class Lateness {
  private recentMs = 0;

  observe(lateMs: number): void {
    this.recentMs = Math.max(this.recentMs * FADING, lateMs);
  }

  /** What to add to the distance of two calls. */
  get guardMs(): number {
    return Math.min(MOST_GUARD_MS, Math.max(0, this.recentMs - ORDINARY_MS));
  }
}
