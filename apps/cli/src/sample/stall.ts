import type { Clock } from '#kernel';

/** Why nothing gets on, as far as anybody can tell. */
export interface Cause {
  /** Without a full stop. */
  sentence: string;
  /** A subscription has failed so often that a person must look. */
  isHalted: boolean;
  /** Something has a reason to wait: its time, a hold, a paused account, an answer on its way. */
  waits: boolean;
}

export interface StallLimits {
  /** Without progress for so long the cause is said, and again after twice as long each time. */
  sayAfterMs: number;
  /**
   * A run that is to end gives up after so long, when nothing has a reason to wait: where a subscription halted, and
   * else. Neither is below `sayAfterMs`.
   */
  haltedEndMs: number;
  stuckEndMs: number;
  lookEveryMs: number;
}

export const STALL_LIMITS: StallLimits = {
  sayAfterMs: 60_000,
  haltedEndMs: 60_000,
  stuckEndMs: 300_000,
  lookEveryMs: 5_000,
};

export interface StallOptions {
  /**
   * Another text whenever something got on: an event in the log, a task that was done, a subscription that came
   * further.
   */
  mark(): Promise<string>;
  /** Asked while nothing gets on. */
  cause(): Promise<Cause>;
  say(text: string): void;
  /** False: it never gives up. */
  givesUp: boolean;
  stallLimits: StallLimits;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Says why when nothing gets on, until `signal`. Resolves when it gave up, or at the signal. A look that fails is a
 * cause like another, and never thrown.
 */
export async function watchForStall(options: StallOptions): Promise<void> {
  const { clock, signal, stallLimits } = options;
  let seen = await options.mark().catch(() => '');
  let lookedAtMs = clock.monotonicMs();
  let stalledMs = 0;
  let sayAtMs = stallLimits.sayAfterMs;
  while (!signal.aborted) {
    await clock.wait(stallLimits.lookEveryMs, signal);
    if (signal.aborted) break;
    const mark = await options.mark().catch(() => seen);
    // Where this process was held up, nothing could get on in it: more than two looks' time does not count.
    stalledMs = mark === seen ? stalledMs + Math.min(clock.monotonicMs() - lookedAtMs, 2 * stallLimits.lookEveryMs) : 0;
    lookedAtMs = clock.monotonicMs();
    if (mark !== seen) sayAtMs = stallLimits.sayAfterMs;
    seen = mark;
    if (stalledMs < stallLimits.sayAfterMs) continue;
    const cause = await options.cause().catch(unreadable);
    const isOver = isHopeless(cause, stalledMs, options);
    if (isOver || stalledMs >= sayAtMs)
      options.say(
        `no progress for ${Math.round(stalledMs / 1_000)} s${isOver ? ', giving up' : ''}: ${cause.sentence}`,
      );
    if (isOver) return;
    if (stalledMs >= sayAtMs) sayAtMs *= 2;
  }
}

const unreadable = ({ message }: Error): Cause => ({
  sentence: `how it stands cannot be read: ${message}`,
  isHalted: false,
  waits: false,
});

const isHopeless = ({ waits, isHalted }: Cause, stalledMs: number, { givesUp, stallLimits }: StallOptions): boolean =>
  givesUp && !waits && stalledMs >= (isHalted ? stallLimits.haltedEndMs : stallLimits.stuckEndMs);
