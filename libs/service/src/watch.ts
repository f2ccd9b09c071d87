import { backoffMs, PedigreeError, systemClock, type Clock } from '#kernel';
import type { ServiceLog } from './bounded-log.js';
import { sentenceOf, type Health } from './health.js';
import type { Dependency } from './dependency.js';

/** Between two tries while a service is away. */
const BACKOFF = { firstMs: 200, mostMs: 5_000 };
/** How often it is said again that a service is still away. */
const REMIND_EVERY_MS = 60_000;

export interface WatchOptions {
  dependencies: Dependency[];
  health: Health;
  log: ServiceLog;
  signal: AbortSignal;
  clock?: Clock;
  /** From 0 to 1: the jitter of the back-off, so that many processes do not ask in step. */
  random?: () => number;
  /** How often a service that is there is looked at, where it says nothing itself. Default 1,000. */
  everyMs?: number;
  /** How long one look may take. Default 5,000. */
  timeoutMs?: number;
}

export interface NeedWatch {
  /**
   * Resolves when all that is required is up, or `signal` aborted. Rejects with `invalid_configuration` when a service
   * refuses us for good.
   */
  untilThere(): Promise<void>;
  /** From now on a refusal is an outage like any other: the program has work in flight, and waits. */
  started(): void;
  /** When all loops have ended, after `signal`. */
  ended: Promise<void>;
}

/**
 * Looks at every service that a program needs, for as long as it runs, and keeps `health` true (exponential back-off
 * with jitter).
 */
export function watchDependencies(options: WatchOptions): NeedWatch {
  let refuse: (error: PedigreeError) => void = () => undefined;
  const refused = new Promise<never>((_, reject) => (refuse = reject));
  // Nobody may be waiting when it happens.
  refused.catch(() => undefined);
  const state = { hasStarted: false };
  for (const dependency of options.dependencies) options.health.add(dependency);
  const watchers = options.dependencies.map(
    (dependency) =>
      new Watcher(dependency, options, (error) => {
        const sentence = state.hasStarted ? undefined : dependency.refusal?.(error);
        if (sentence !== undefined)
          refuse(
            new PedigreeError(
              'invalid_configuration',
              `${dependency.name} at ${dependency.where}: ${sentenceOf({ message: sentence }, dependency.secrets)}`,
              { item: dependency.name },
            ),
          );
      }),
  );
  const required = options.dependencies
    .filter((dependency) => dependency.isRequired !== false)
    .map((dependency) => dependency.name);
  return {
    untilThere: () => Promise.race([options.health.untilUp(required, options.signal), refused]),
    started: () => void (state.hasStarted = true),
    ended: Promise.all(watchers.map((watcher) => watcher.run())).then(() => undefined),
  };
}

class Watcher {
  private failures = 0;
  private saidAtMs = -Infinity;

  constructor(
    private readonly dependency: Dependency,
    private readonly options: WatchOptions,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  async run(): Promise<void> {
    const { signal, clock = systemClock, random = Math.random } = this.options;
    const everyMs = this.dependency.everyMs ?? this.options.everyMs ?? 1_000;
    while (!signal.aborted) {
      const error = await this.look();
      if (signal.aborted) break;
      if (error === undefined) this.isThere();
      else this.isAway(error.reason);
      await clock.wait(
        error === undefined ? everyMs : backoffMs(this.failures, { ...BACKOFF, jitter: random() }),
        signal,
      );
    }
    await this.dependency.close?.().catch(() => undefined);
  }

  /** Undefined when the service answered. */
  private async look(): Promise<{ reason: unknown } | undefined> {
    const { timeoutMs = 5_000, signal, clock = systemClock } = this.options;
    const patience = new AbortController();
    const late = clock.wait(timeoutMs, AbortSignal.any([patience.signal, signal])).then(() => {
      if (!patience.signal.aborted) throw new Error(`no answer in ${timeoutMs} ms`);
    });
    const stop = new AbortController();
    const check = this.dependency.check(stop.signal);
    check.catch(() => undefined);
    late.catch(() => undefined);
    try {
      await Promise.race([check, late]);
      return undefined;
    } catch (reason) {
      return { reason };
    } finally {
      patience.abort();
      stop.abort();
    }
  }

  private isThere(): void {
    const { health, log } = this.options;
    const { name, where } = this.dependency;
    const awayMs = health.up(name);
    if (awayMs !== undefined) log.info({ service: name, where, awayMs }, `${name} is there again`);
    this.failures = 0;
  }

  private isAway(error: unknown): void {
    const { health, log, clock = systemClock } = this.options;
    const { name, where, secrets } = this.dependency;
    this.failures += 1;
    const isNews = health.down(name, error);
    const nowMs = clock.monotonicMs();
    if (isNews || nowMs - this.saidAtMs >= REMIND_EVERY_MS) {
      this.saidAtMs = nowMs;
      log.warn(
        { service: name, where, error: sentenceOf(error, secrets), tries: this.failures },
        `${name} is ${isNews ? '' : 'still '}away; it is waited for`,
      );
    }
    this.onFailure(error);
  }
}
