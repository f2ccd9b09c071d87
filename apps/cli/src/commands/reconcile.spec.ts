import { afterEach, expect, it, jest } from '@jest/globals';
import type { GatewayClient } from '../gateway-client.js';
import { reconcile } from './reconcile.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('prints counts by the names of the docs, and tells of the cases that a run opens', async () => {
  let printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const result = {
    asOf: 'now',
    findings: 7,
    findingsLeftOut: 2,
    counts: { heldTwice: 0, staleStatus: 1 },
    notOurs: {},
    digest: 'd',
  };
  const gateway = {
    change: () => Promise.resolve({ id: 'r' }),
    get: () => Promise.resolve({ id: 'r', result, findings: [] }),
  } as unknown as GatewayClient;
  expect(await reconcile(gateway, { reason: 'why', wait: '1' })).toBe(1);
  expect(printed).toContain('held_twice');
  expect(printed).toContain('stale_status');
  expect(printed).toContain('documents that ended badly and were not sent again become cases too: pedigree cases');
  expect(printed).toContain('and 5 more: GET /v1/reconciliations/r');
  expect(printed).toContain('and 2 that were counted and not kept');
});
