import { describe, expect, it } from '@jest/globals';
import { runTogether } from './in-process.mjs';

describe('jobs run together', () => {
  it('give results in their own order, never more at once than allowed', async () => {
    let running = 0;
    let most = 0;
    const job = (name: string, turns: number) => async (): Promise<string> => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      running -= 1;
      return name;
    };
    const names = await runTogether([job('slow', 50), job('quick', 1), job('last', 5)], 2);
    expect(names).toEqual(['slow', 'quick', 'last']);
    expect(most).toBe(2);
  });
});
