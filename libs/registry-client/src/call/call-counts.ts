import type { OperationName } from '../profile-names.js';
import type { Exchange } from './exchange.js';

/**
 * How a call ended on the wire: answered with 2xx (`ok`), 401, 404, 429, any other 3xx or 4xx (`refused`), 5xx
 * (`server_error`); written and not answered; or not made at all, for want of a slot, a token or a connection.
 */
export type CallResult =
  'ok' | 'unauthorised' | 'not_found' | 'rate_limited' | 'refused' | 'server_error' | 'unanswered' | 'not_sent';

export interface CallCount {
  account: string;
  method: OperationName;
  result: CallResult;
  calls: number;
}

/**
 * Counts every call of this process, sign-ins and repeats included. All but `not_sent` reached, or may have reached,
 * the registry.
 */
export class CallCounts {
  private readonly counts = new Map<string, CallCount>();

  add(account: string, method: OperationName, exchange: Exchange): void {
    const result = resultOf(exchange);
    const key = `${account} ${method} ${result}`;
    const count = this.counts.get(key);
    if (count === undefined) this.counts.set(key, { account, method, result, calls: 1 });
    else count.calls += 1;
  }

  all(): CallCount[] {
    return [...this.counts.values()].map((count) => ({ ...count }));
  }
}

function resultOf(exchange: Exchange): CallResult {
  if (exchange.kind === 'failed') return exchange.written ? 'unanswered' : 'not_sent';
  const status = exchange.raw.httpStatus;
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 500) return 'server_error';
  return status === 401 ? 'unauthorised' : status === 404 ? 'not_found' : status === 429 ? 'rate_limited' : 'refused';
}

/**
 * Calls per concluded document (issue 3): all that went out, sign-ins and reconciliation included, by what they
 * brought. Undefined before the first.
 */
export function callsPerDocument(counts: CallCount[], concluded: number): number | undefined {
  const calls = counts.filter((count) => count.result !== 'not_sent').reduce((sum, count) => sum + count.calls, 0);
  return concluded > 0 ? calls / concluded : undefined;
}
