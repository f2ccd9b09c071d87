import type { Arrival } from '../clock/arrivals.js';
import type { Profile } from '../profile.js';
import { DEPRECATED_METHODS } from '../registries/deprecated.js';

/** How late the process may be in reading its sockets before a client is blamed. */
export const SLACK_MS = 5;

interface LimitVerdict {
  allowed: boolean;
  intervalMs: number;
  /** The call before this one was refused too, and this one did not wait. */
  afterRefusal: boolean;
  /** Time since the call before this one, with all doubt in the client's favour; undefined for the first. */
  sinceMs: number | undefined;
}

/**
 * The minimum interval between calls of one account to one method (registry-interface 8), by the real clock at the
 * socket. It is counted from the last request, a refused one too.
 */
export class CallLimits {
  enabled: boolean;
  /** One interval for all methods, when set. */
  intervalMs: number | undefined;
  private readonly last = new Map<string, { arrival: Arrival; refused: boolean }>();

  constructor(
    private readonly profile: Profile,
    private readonly options: { enabled: boolean; intervalMs: number | undefined; backToBack?: readonly string[] },
  ) {
    this.enabled = options.enabled;
    this.intervalMs = options.intervalMs;
  }

  intervalOf(method: string): number {
    if (this.options.backToBack?.includes(method) === true) return 0;
    const operation = DEPRECATED_METHODS[method]?.replacement ?? method;
    return this.intervalMs ?? this.profile.operations[operation]?.intervalMs ?? 0;
  }

  /** Judges a call and counts it. The doubt about when the two calls came is in the client's favour. */
  judge(account: string, method: string, arrival: Arrival): LimitVerdict {
    const key = `${account} ${method}`;
    const before = this.last.get(key);
    const intervalMs = this.intervalOf(method);
    const sinceMs = before === undefined ? undefined : arrival.latestMs - before.arrival.earliestMs;
    const soon = sinceMs !== undefined && sinceMs < intervalMs - SLACK_MS;
    const allowed = !this.enabled || !soon;
    this.last.set(key, { arrival, refused: !allowed });
    return { allowed, intervalMs, afterRefusal: !allowed && before?.refused === true, sinceMs };
  }
}
