interface Backoff {
  /** After the first failure. It doubles with each further one. */
  firstMs: number;
  /** Longest wait. Absent: the caller limits the attempts instead. */
  mostMs?: number;
  /** From 0 to 1: where in the upper half of the wait it ends, so that those who failed together return apart. */
  jitter?: number;
}

/** More than any wait needs, and still a number: 0 ms stays 0 ms, however often it doubles. */
const MOST_DOUBLINGS = 40;

/** How long to wait before another try, after so many failures in a row (from 1). */
export function backoffMs(failures: number, { firstMs, mostMs = Infinity, jitter = 1 }: Backoff): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS)) * (0.5 + jitter / 2);
}
