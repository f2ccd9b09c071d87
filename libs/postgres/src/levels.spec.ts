import { describe, expect, it } from '@jest/globals';
import { reachByLevels } from './levels.js';

const EDGES: Record<string, string[]> = { a: ['c'], b: ['c', 'c'], c: ['d'], d: ['a', 'e'] };

describe('what is reached by levels', () => {
  it('has each once, and ends in a ring', async () => {
    const levels: string[][] = [];
    const reached = await reachByLevels(['a', 'b', 'a'], async (level) => {
      levels.push(level);
      return level.flatMap((one) => EDGES[one] ?? []);
    });
    expect([...reached]).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(levels).toEqual([['a', 'b'], ['c'], ['d'], ['e']]);
  });

  it('ends after a thousand levels', async () => {
    const reached = await reachByLevels(['0'], async ([one]) => [String(Number(one) + 1)]);
    expect(reached.size).toBe(1_001);
  });

  it('asks nothing from nothing', async () => {
    expect(await reachByLevels([], () => Promise.reject(new Error('asked')))).toEqual(new Set());
  });
});
