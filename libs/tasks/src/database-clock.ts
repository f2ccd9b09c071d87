/** Both clocks may drift apart by so much; NTP slews at 0.5 ms per second at most, crystals at a tenth of it. */
const DRIFT = 0.000_2;

/**
 * Where the database's clock stands on this process's monotonic one. Every answer that carries the database's time
 * bounds the offset: the server read its clock after the question left and before the answer came. The bounds of all
 * answers are intersected, and widened by the drift as time goes, so that one quick answer helps for seconds while a
 * slow one (a commit that waited for the disk) does no harm. A step of the database's clock empties the intersection:
 * then the newest answer alone counts.
 */
export class DatabaseClock {
  private leastMs = -Infinity;
  private mostMs = Infinity;
  private observedAtMs = 0;

  /** All in ms: monotonic before the question and after the answer, and the database's Unix time in it. */
  observe(sentMs: number, receivedMs: number, databaseMs: number): void {
    const widenedMs = Math.max(0, receivedMs - this.observedAtMs) * DRIFT;
    const least = Math.max(this.leastMs - widenedMs, sentMs - databaseMs);
    const most = Math.min(this.mostMs + widenedMs, receivedMs - databaseMs);
    this.observedAtMs = receivedMs;
    [this.leastMs, this.mostMs] = least <= most ? [least, most] : [sentMs - databaseMs, receivedMs - databaseMs];
  }

  /** How wide the bounds are: the moment of a slot is known to within this. */
  get uncertaintyMs(): number {
    return this.mostMs - this.leastMs;
  }

  /** The monotonic moment at which the database's clock surely shows this. */
  surelyAt(databaseMs: number): number {
    return databaseMs + this.mostMs;
  }

  /** The earliest monotonic moment at which it may show this. */
  perhapsAt(databaseMs: number): number {
    return databaseMs + this.leastMs;
  }

  /** What the database's clock shows at this monotonic moment at the latest. */
  latestAt(monotonicMs: number): number {
    return monotonicMs - this.leastMs;
  }
}
