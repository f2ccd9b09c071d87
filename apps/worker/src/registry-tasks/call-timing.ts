import { backoffMs } from '#kernel';

/**
 * Longest time from an intent to the first byte of its call. Less than a lease: whoever takes the task over after that
 * may believe that nothing of this attempt is still to come, even when this process had only been asleep.
 */
export const WRITE_WITHIN_MS = 20_000;

/** The pause before a document that was surely not taken is sent again: doubled with each attempt, to a minute. */
export const retryAfterMs = (attempt: number): number => backoffMs(attempt, { firstMs: 500, mostMs: 60_000 });
