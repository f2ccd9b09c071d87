/** How far a rebuild has come. */
export interface RebuildProgress {
  position: bigint;
  /** Where the log ends. */
  head: bigint;
  /** From 0 to 1. */
  share: number;
  /** Positions per second lately; undefined until there is a figure. */
  perSecond?: number;
  /** Until the copy has caught up, at that speed. */
  secondsLeft?: number;
}

const SAMPLES_KEPT = 30;

/** Says how far a rebuild is and how long it will take, from its speed over the last reports. */
export class Estimate {
  private readonly samples: { atMs: number; position: bigint }[] = [];

  /** @param atMs of a clock that never goes back. */
  report(position: bigint, head: bigint, atMs: number): RebuildProgress {
    const first = this.samples[0];
    this.samples.push({ atMs, position });
    if (this.samples.length > SAMPLES_KEPT) this.samples.shift();
    const share = head === 0n ? 1 : Math.min(1, Number(position) / Number(head));
    const progress = { position, head, share };
    if (first === undefined || atMs <= first.atMs || position <= first.position) return progress;
    const perSecond = (Number(position - first.position) * 1_000) / (atMs - first.atMs);
    const left = head > position ? Number(head - position) : 0;
    return { ...progress, perSecond, secondsLeft: left / perSecond };
  }
}
