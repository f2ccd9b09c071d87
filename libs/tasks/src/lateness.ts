/** Up to this much a process wakes late on any machine: the profile's guard covers it. */
const ORDINARY_MS = 4;
const MOST_GUARD_MS = 15;
/** What one late wake-up means fades with each later one. */
const FADING = 0.98;

/**
 * How late this process wakes of late, as a sign of how late anything on this machine happens: when it is starved, so
 * may be what stands between us and the registry, and two calls that were written an interval apart are read nearer to
 * each other. Calls then keep further apart.
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

/** A round trip this much over the usual is ordinary work at the other end. */
const ORDINARY_TRIP_MS = 6;
/** The usual trip is the least one seen, which is forgotten slowly: by a fiftieth with each call. */
const FORGETTING = 1.02;

/**
 * How late the last call of a line may have been read. A call cannot have been on its way for longer than its answer
 * took, so what the round trip took beyond the usual is the most by which it was late; the next call, on a warm
 * connection, may overtake that.
 */
export class ArrivalDoubt {
  private usualMs = Infinity;
  /** For the last call that was answered. */
  lastMs = 0;

  observe(roundTripMs: number): void {
    this.usualMs = Math.min(roundTripMs, this.usualMs * FORGETTING);
    this.lastMs = Math.min(MOST_GUARD_MS, Math.max(0, roundTripMs - this.usualMs - ORDINARY_TRIP_MS));
  }
}
