/** Calls of one account to one method. */
interface CallCount {
  account: string;
  method: string;
  calls: number;
  rateLimited: number;
  /** Monotonic real ms of the first and the last call, as they reached the socket, and the same as time of day. */
  firstMs: number;
  lastMs: number;
  firstAt: string;
  lastAt: string;
}

/** Counts calls by account and method. */
export class CallLedger {
  private readonly counts = new Map<string, CallCount>();
  rateLimited = 0;
  total = 0;

  record(call: { account: string; method: string; arrivalMs: number; limited: boolean }): void {
    const { account, method, arrivalMs, limited } = call;
    const key = `${account} ${method}`;
    const at = performance.timeOrigin + arrivalMs;
    let count = this.counts.get(key);
    if (count === undefined) {
      count = {
        account,
        method,
        calls: 0,
        rateLimited: 0,
        firstMs: arrivalMs,
        lastMs: arrivalMs,
        firstAt: iso(at),
        lastAt: '',
      };
      this.counts.set(key, count);
    }
    count.calls += 1;
    count.lastMs = arrivalMs;
    this.total += 1;
    if (!limited) return;
    count.rateLimited += 1;
    this.rateLimited += 1;
  }

  clear(): void {
    this.counts.clear();
    this.rateLimited = 0;
    this.total = 0;
  }

  report(): CallCount[] {
    return [...this.counts.values()].map((count) => ({ ...count, lastAt: iso(performance.timeOrigin + count.lastMs) }));
  }
}

const iso = (unixMs: number): string => new Date(unixMs).toISOString();
