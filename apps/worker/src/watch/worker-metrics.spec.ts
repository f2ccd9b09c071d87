import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { UndiciRegistryClient } from '#registry-client';
import { Metrics } from '#telemetry';
import { collectWorkerMetrics, type WorkerFigures } from './worker-metrics.js';

type CallCount = ReturnType<UndiciRegistryClient['callCounts']>[number];

/** What a worker tells of its sign-ins, as it has counted them. */
async function signIns(counts: Omit<CallCount, 'account'>[]): Promise<string[]> {
  const clock = new VirtualClock();
  const metrics = new Metrics({ program: 'worker', version: '1', profile: '', clock });
  const session = { account: 'main', signedInAt: undefined, certificateExpiresAt: undefined };
  const registry = { callCounts: () => counts.map((one) => ({ account: 'main', ...one })), sessions: () => [session] };
  // The other figures are away: each collector fails alone.
  collectWorkerMetrics(metrics, { registry, documents: { concluded: 0 }, clock } as unknown as WorkerFigures);
  const { body } = await metrics.text();
  const told = body.matchAll(/^pedigree_registry_calls_total\{.*method="(sign_in_\w+)",result="(\w+)".*\} (\d+)$/gm);
  return [...told].map(([, method, result, calls]) => `${method} ${result} ${calls}`).sort();
}

it('a first sign-in that goes well is a rise, so that the alert for those that failed before it ends', async () => {
  const failed = { method: 'sign_in_code', result: 'server_error', calls: 7 } as const;
  expect(await signIns([failed])).toEqual(['sign_in_code server_error 7', 'sign_in_token ok 0']);
  const well = { method: 'sign_in_token', result: 'ok', calls: 1 } as const;
  expect(await signIns([failed, well])).toEqual(['sign_in_code server_error 7', 'sign_in_token ok 1']);
});
