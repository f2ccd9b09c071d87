import { describe, expect, it } from '@jest/globals';
import { countPacks } from './count-packs.js';

describe('the packs of a list', () => {
  const lines = [
    ...Array.from({ length: 1_000 }, (_, n) => ({ item: `pack-${n}`, series: n % 10 === 0 ? '' : 'A' })),
    ...Array.from({ length: 500 }, (_, n) => ({ item: `pack-${n}`, series: n < 100 ? 'B' : '' })),
  ];
  let readings = 0;
  async function* read() {
    readings += 1;
    yield* lines;
  }
  const counted = async (mostAtOnce?: number): Promise<object> => {
    readings = 0;
    return { ...(await countPacks(read, mostAtOnce)), readings };
  };

  it('are counted once each, in one reading where they may be held at once', async () => {
    expect(await counted()).toEqual({ packs: 1_000, packsWithoutSeries: 90, readings: 1 });
    expect(await counted(1_000)).toEqual({ packs: 1_000, packsWithoutSeries: 90, readings: 1 });
  });

  it('are counted in more readings where they may not, and as right', async () => {
    expect(await counted(999)).toEqual({ packs: 1_000, packsWithoutSeries: 90, readings: 2 });
    expect(await counted(70)).toEqual({ packs: 1_000, packsWithoutSeries: 90, readings: 32 });
  });

  it('that are more than all readings can count are refused in words', async () => {
    async function* many() {
      for (let n = 0; n < 30_000; n += 1) yield { item: String(n), series: '' };
    }
    await expect(countPacks(many, 1)).rejects.toThrow('more than 4096 packs');
  });
});
