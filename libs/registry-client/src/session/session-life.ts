import { backoffMs } from '#kernel';
import type { Profile } from '../profile.js';
import type { Session } from './session-store.js';

type Rules = Profile['rules'];
type Times = Pick<Session, 'obtainedAt' | 'expiresAt' | 'lastUsedAt'>;

const RENEW_AHEAD_MS = 5 * 60_000;
/** More than the minute for which a use may go unwritten. */
const IDLE_AHEAD_MS = 2 * 60_000;
/** A token with less than this to live may die on the way. */
const LAST_MOMENT_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/**
 * A registry that is only away must be found soon after it is back: until then everything of the account stands still.
 */
const LONGEST_PAUSE_AWAY_MS = 5_000;

/** When the registry drops the token: at its end, or sooner when it stays unused (registry-interface 5). */
export function idleUntil(session: Times, rules: Rules): Date {
  const lastUse = (session.lastUsedAt ?? session.obtainedAt).getTime();
  return new Date(Math.min(session.expiresAt.getTime(), lastUse + rules.tokenIdleMs));
}

/**
 * `fresh`: use it. `alive`: the registry still takes it, but it is time for another. `dead`: not to be used.
 * The lead is 5 minutes before the end and 2 before the idle limit, or a tenth of the span where that is less.
 */
export function fitnessOf(session: Times, rules: Rules, now: Date): 'fresh' | 'alive' | 'dead' {
  const lifeMs = session.expiresAt.getTime() - session.obtainedAt.getTime();
  const toEndMs = session.expiresAt.getTime() - now.getTime();
  const toIdleMs = (session.lastUsedAt ?? session.obtainedAt).getTime() + rules.tokenIdleMs - now.getTime();
  if (Math.min(toEndMs, toIdleMs) <= Math.min(LAST_MOMENT_MS, lifeMs / 100)) return 'dead';
  const renew =
    toEndMs <= Math.min(RENEW_AHEAD_MS, lifeMs / 10) || toIdleMs <= Math.min(IDLE_AHEAD_MS, rules.tokenIdleMs / 10);
  return renew ? 'alive' : 'fresh';
}

/**
 * No sign-in before this moment, after so many failures in a row: 1 s, then twice as long each time, at most a minute;
 * at most 5 s where the last one was that the registry was away. What may have cost a token, and what was refused,
 * waits the longer time: ten tokens are all there are.
 */
export function pauseAfterFailures(failures: number, now: Date, away = false): Date {
  const mostMs = away ? LONGEST_PAUSE_AWAY_MS : LONGEST_PAUSE_MS;
  return new Date(now.getTime() + backoffMs(failures, { firstMs: FIRST_PAUSE_MS, mostMs }));
}

/**
 * Whether that pause still holds. One that ends later than any pause could was set by a clock that is ahead, or that
 * was: it would keep everybody from signing in until ours has come so far.
 */
export function isPausedBy(until: Date, now: Date): boolean {
  const leftMs = until.getTime() - now.getTime();
  return leftMs > 0 && leftMs <= LONGEST_PAUSE_MS;
}
