import { describe, expect, it } from '@jest/globals';
import type { Tile } from '#merkle';
import { cachedTiles } from './cached-tiles.js';

describe('tiles that are read for one proof after the other', () => {
  it('are read once each, and given in the order in which they are asked for', async () => {
    const asked: Tile[] = [];
    const read = cachedTiles((tiles) => {
      asked.push(...tiles);
      return Promise.resolve(tiles.map(({ level, index }) => Buffer.from([level, index])));
    });
    const [one, two, three] = [
      { level: 0, index: 1 },
      { level: 0, index: 2 },
      { level: 1, index: 1 },
    ];
    await read([one, two]);
    expect(await read([three, two, one])).toEqual([Buffer.from([1, 1]), Buffer.from([0, 2]), Buffer.from([0, 1])]);
    expect(asked).toEqual([one, two, three]);
  });

  it('are forgotten, the least recently read first, where there are many', async () => {
    let reads = 0;
    const read = cachedTiles((tiles) => {
      reads += tiles.length;
      return Promise.resolve(tiles.map(() => Buffer.alloc(32)));
    });
    for (let index = 0; index < 1_025; index += 1) await read([{ level: 0, index }]);
    await read([{ level: 0, index: 1_024 }]);
    expect(reads).toBe(1_025);
    await read([{ level: 0, index: 0 }]);
    expect(reads).toBe(1_026);
  });
});
