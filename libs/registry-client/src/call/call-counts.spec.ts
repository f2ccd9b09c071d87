import { describe, expect, it } from '@jest/globals';
import { answer } from '../../test/scripted-caller.js';
import { CallCounts, callsPerDocument, type CallResult } from './call-counts.js';
import type { Exchange } from './exchange.js';

const answered = (status: number): Exchange => ({ kind: 'answered', raw: answer('', status), retryAfter: undefined });
const RESULTS: [Exchange, CallResult][] = [
  [answered(200), 'ok'],
  [answered(302), 'refused'],
  [answered(400), 'refused'],
  [answered(401), 'unauthorised'],
  [answered(404), 'not_found'],
  [answered(429), 'rate_limited'],
  [answered(503), 'server_error'],
  [{ kind: 'failed', written: true, reason: 'reset' }, 'unanswered'],
  [{ kind: 'failed', written: false, reason: 'refused' }, 'not_sent'],
];

describe('calls', () => {
  it('are counted by account, method and result', () => {
    const counts = new CallCounts();
    for (const [exchange] of RESULTS) counts.add('a', 'send', exchange);
    counts.add('a', 'send', answered(201));
    counts.add('b', 'status', answered(200));
    const expected = new Map<CallResult, number>();
    for (const [, result] of [...RESULTS, RESULTS[0] as (typeof RESULTS)[number]])
      expected.set(result, (expected.get(result) ?? 0) + 1);
    const lines = [...expected].map(([result, calls]) => ({ account: 'a', method: 'send', result, calls }));
    expect(counts.all()).toEqual([...lines, { account: 'b', method: 'status', result: 'ok', calls: 1 }]);
  });

  it('per document leave out those that never went', () => {
    const counts = new CallCounts();
    for (const [exchange] of RESULTS) counts.add('a', 'send', exchange);
    expect(callsPerDocument(counts.all(), 4)).toBe(2);
    expect(callsPerDocument(counts.all(), 0)).toBeUndefined();
  });
});
