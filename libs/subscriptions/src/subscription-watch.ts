import { systemClock, wordsOf, type Clock } from '#kernel';
import type { SubscriptionOptions, SubscriptionRole, SubscriptionTrouble } from './runner.js';

/** A subscription of this process that failed, and has handled nothing since. */
export interface FailingSubscription {
  name: string;
  /** It failed so often in a row that a person must look. It is still tried. */
  isHalted: boolean;
  /** When the first of these failures was. */
  since: Date;
  /** How often, at which events, and the words of the last error. */
  reason: string;
}

/** How a subscription of this process stands: it works, another process does, or it stands at an event. */
export interface Standing {
  name: string;
  state: 'running' | 'standing_by' | 'halted';
  /** Of one that halted: since when (ISO 8601), where and why. */
  since?: string;
  reason?: string;
}

export interface SubscriptionWatchOptions {
  log: { error(fields: object, message: string): void };
  clock?: Clock;
}

/**
 * An attempt ends within so long (a transaction after 30 s, a read of the log sooner): what has not failed again by
 * then reads well, and waits for events.
 */
const LONGEST_ATTEMPT_MS = 60_000;

/**
 * Logs what fails in a program's subscriptions, and keeps how each stands and why it fails, for its health and for
 * whoever waits for its work: a log cannot be asked. `callbacks` go to each subscription.
 */
export class SubscriptionWatch {
  private readonly clock: Clock;
  private readonly roles = new Map<string, SubscriptionRole>();
  private readonly failures = new Map<string, FailingSubscription & { overAtMs: number }>();

  constructor(private readonly options: SubscriptionWatchOptions) {
    this.clock = options.clock ?? systemClock;
  }

  private readonly onError = (error: unknown, trouble: SubscriptionTrouble): void => {
    const { kind, ...rest } = trouble;
    const { name, attempt, retryInMs, from, to } = rest;
    this.options.log.error({ err: error, ...rest, from: from?.toString(), to: to?.toString() }, kind);
    const where = from === undefined ? '' : ` at ${from === to ? `position ${from}` : `positions ${from} to ${to}`}`;
    const reason = `failed ${attempt} ${attempt === 1 ? 'time' : 'times in a row'}, last${where}: ${wordsOf(error)}`;
    const since = this.current(name)?.since ?? this.clock.now();
    this.failures.set(name, {
      name,
      isHalted: kind === 'subscription_halted',
      since,
      reason,
      overAtMs: this.clock.monotonicMs() + retryInMs + LONGEST_ATTEMPT_MS,
    });
  };

  readonly callbacks: Required<Pick<SubscriptionOptions, 'onError' | 'onBatch' | 'onRole'>> = {
    onError: this.onError,
    onBatch: ({ name }) => void this.failures.delete(name),
    onRole: ({ name, role }) => void this.roles.set(name, role),
  };

  /** What has failed longest first. */
  failing(): FailingSubscription[] {
    const current = [...this.failures.keys()].flatMap((name) => this.current(name) ?? []);
    return current.map(({ overAtMs: _, ...one }) => one).sort((a, b) => a.since.getTime() - b.since.getTime());
  }

  /** What health shows: one that has failed a few times may go on by itself. */
  troubles(): { name: string; since: string; reason: string }[] {
    return this.failing().flatMap(({ name, isHalted, since, reason }) =>
      isHalted ? [{ name: `subscription ${name}`, since: since.toISOString(), reason }] : [],
    );
  }

  /** Every subscription of this process. */
  standings(): Standing[] {
    return [...this.roles].map(([name, role]) => {
      const failed = this.current(name);
      return failed?.isHalted === true
        ? { name, state: 'halted', since: failed.since.toISOString(), reason: failed.reason }
        : { name, state: role };
    });
  }

  private current(name: string): (FailingSubscription & { overAtMs: number }) | undefined {
    const found = this.failures.get(name);
    return found === undefined || found.overAtMs < this.clock.monotonicMs() ? undefined : found;
  }
}
