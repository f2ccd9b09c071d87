/**
 * The virtual clock: processing, the archive and token life are judged by it. It runs at `speed` times the real one and
 * only goes forward. Intervals, 3 s and 5 s are never judged by it.
 */
export class VirtualTime {
  private anchorVirtualMs: number;
  private anchorRealMs: number;
  private rate: number;

  constructor(
    options: { startMs: number; speed: number },
    private readonly monotonicMs: () => number,
  ) {
    this.anchorVirtualMs = options.startMs;
    this.anchorRealMs = monotonicMs();
    this.rate = options.speed;
  }

  get speed(): number {
    return this.rate;
  }

  /** Virtual Unix time in whole ms. */
  nowMs(): number {
    return Math.floor(this.exactMs());
  }

  setSpeed(speed: number): void {
    if (!(speed > 0)) throw new Error(`speed must be above 0, not ${speed}`);
    this.anchor(this.exactMs());
    this.rate = speed;
  }

  /** Jumps to a later virtual moment. Throws when it lies in the past. */
  moveTo(virtualMs: number): void {
    const now = this.exactMs();
    if (!Number.isFinite(virtualMs) || virtualMs < Math.floor(now))
      throw new Error('the virtual clock only goes forward');
    this.anchor(Math.max(now, virtualMs));
  }

  /** Real ms until the virtual moment; 0 when it is past. */
  realDelayMs(virtualMs: number): number {
    return Math.max(0, (virtualMs - this.exactMs()) / this.rate);
  }

  private exactMs(): number {
    return this.anchorVirtualMs + (this.monotonicMs() - this.anchorRealMs) * this.rate;
  }

  private anchor(virtualMs: number): void {
    this.anchorVirtualMs = virtualMs;
    this.anchorRealMs = this.monotonicMs();
  }
}

/** The monotonic moment of a time of day. */
export const realOf = (wallMs: number): number => performance.now() - (Date.now() - wallMs);
