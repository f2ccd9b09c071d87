import { systemClock, type Clock } from '#kernel';
import type { SubscriptionTrouble } from './runner.js';

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

export interface FailingSubscriptionsOptions {
  log: { error(fields: object, message: string): void };
  clock?: Clock;
}

/** An attempt ends within so long (a transaction after 30 s, a read of the log sooner): what has not failed again by then reads well, and waits for events. */
const LONGEST_ATTEMPT_MS = 60_000;

/**
 * Logs what fails in a program's subscriptions, and keeps which of them fail now and why, for its health and for whoever waits for its work: a log cannot be
 * asked. `onError` and `onBatch` go to each subscription.
 */
export class FailingSubscriptions {
  private readonly clock: Clock;
  private readonly failing = new Map<string, FailingSubscription & { overAtMs: number }>();

  constructor(private readonly options: FailingSubscriptionsOptions) {
    this.clock = options.clock ?? systemClock;
  }

  readonly onError = (error: unknown, trouble: SubscriptionTrouble): void => {
    const { kind, ...rest } = trouble;
    const { name, attempt, retryInMs, from, to } = rest;
    this.options.log.error({ err: error, ...rest, from: from?.toString(), to: to?.toString() }, kind);
    const where = from === undefined ? '' : ` at ${from === to ? `position ${from}` : `positions ${from} to ${to}`}`;
    const reason = `failed ${attempt} ${attempt === 1 ? 'time' : 'times in a row'}, last${where}: ${wordsOf(error)}`;
    const since = this.current(name)?.since ?? this.clock.now();
    this.failing.set(name, { name, isHalted: kind === 'subscription_halted', since, reason, overAtMs: this.clock.monotonicMs() + retryInMs + LONGEST_ATTEMPT_MS });
  };

  readonly onBatch = ({ name }: { name: string }): void => void this.failing.delete(name);

  /** What has failed longest first. */
  list(): FailingSubscription[] {
    const current = [...this.failing.keys()].flatMap((name) => this.current(name) ?? []);
    return current.map(({ overAtMs: _, ...one }) => one).sort((a, b) => a.since.getTime() - b.since.getTime());
  }

  /** What health shows: one that has failed a few times may go on by itself. */
  troubles(): { name: string; since: string; reason: string }[] {
    return this.list().flatMap(({ name, isHalted, since, reason }) => (isHalted ? [{ name: `subscription ${name}`, since: since.toISOString(), reason }] : []));
  }

  private current(name: string): (FailingSubscription & { overAtMs: number }) | undefined {
    const found = this.failing.get(name);
    return found === undefined || found.overAtMs < this.clock.monotonicMs() ? undefined : found;
  }
}

function wordsOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return typeof message === 'string' && message !== '' ? message : String(code ?? error);
}
