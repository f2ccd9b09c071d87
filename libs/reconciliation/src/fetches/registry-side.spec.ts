import { describe, expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from '#postgres';
import { fetchRegistrySide } from './registry-side.js';

const [LOOKS_OF_72_HOURS, HOUR_MS] = [72, 3_600_000];

/** Waits for a fetch whose row changes as is said before each look. Returns the looks, and why the wait ended. */
async function waited(change: (row: Record<string, unknown>, looks: number) => void): Promise<[number, string]> {
  const row = {
    ...{ fetchId: 'f', account: 'mian', actor: '{}', phase: 'plan', calls: 0, failedPhase: null, problem: 'no' },
    ...{ requestedAt: new Date(0), resumed: 0 },
  };
  let looks = 0;
  const wait = (): Promise<void> => Promise.resolve(change(row, (looks += 1)));
  const pool = { query: () => Promise.resolve({ rows: [row], rowCount: 1 }) } as unknown as Pool;
  const about = { reason: 'spec', actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' } as const };
  const out = join(tmpdir(), 'pedigree-no-such-snapshot');
  const made = fetchRegistrySide(
    { fetchId: 'f', account: 'mian', way: 'filter', expected: null, of: {}, out, ...about },
    {
      pool,
      duck: { memoryMb: 200, threads: 1 },
      schedule: () => Promise.resolve(),
      clock: { wait },
      lookEveryMs: HOUR_MS,
    },
  );
  const why = await made.then(
    () => '',
    (error: Error) => error.message,
  );
  return [looks, why];
}

describe('the wait for a fetch', () => {
  it('ends when nobody reads on for hours, and says what may be the cause', async () => {
    const [looks, why] = await waited(() => undefined);
    expect(looks).toBe(LOOKS_OF_72_HOURS);
    expect(why).toContain('nobody has read on with the fetch f for 72 hours, in phase plan');
    expect(why).toContain('does a worker serve the account mian?');
  });

  it('goes on while calls are made, however long that takes', async () => {
    const [looks, why] = await waited((row, n) => {
      if (n % (LOOKS_OF_72_HOURS / 2) === 0) row['calls'] = n;
      if (n === 2 * LOOKS_OF_72_HOURS) row['phase'] = 'failed';
    });
    expect([looks, why]).toEqual([2 * LOOKS_OF_72_HOURS, 'the fetch f failed: no']);
  });
});
