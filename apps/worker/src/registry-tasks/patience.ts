/**
 * Longest time from an intent to the first byte of its call. Less than a lease: whoever takes the task over after that
 * may believe that nothing of this attempt is still to come, even when this process had only been asleep.
 */
export const WRITE_WITHIN_MS = 20_000;

/** How long a document that was surely not taken rests before it goes again: doubled with each attempt, to a minute. */
const RETRY_AFTER_MS = 500;
const MAX_RETRY_AFTER_MS = 60_000;

export const retryAfterMs = (attempt: number): number =>
  Math.min(MAX_RETRY_AFTER_MS, RETRY_AFTER_MS * 2 ** Math.min(attempt - 1, 10));
