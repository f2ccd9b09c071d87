import { describe, expect, it } from '@jest/globals';
import { entryBundle, parseTilePath, tilePath, tileWidth } from './tile-files.js';

describe('the name of a tile', () => {
  it.each([
    [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
    [{ level: 0, index: 1_234_067, width: 256 }, 'tile/0/x001/x234/067'],
    [{ level: 1, index: 999, width: 1 }, 'tile/1/999.p/1'],
    [{ level: 2, index: 1_000, width: 255 }, 'tile/2/x001/000.p/255'],
    [{ level: 'entries', index: 67, width: 112 }, 'tile/entries/067.p/112'],
    [{ level: 63, index: 0, width: 256 }, 'tile/63/000'],
  ] as const)('of %j is %s, both ways', (file, path) => {
    expect(tilePath(file)).toBe(path);
    expect(parseTilePath(path)).toEqual(file);
  });

  it.each([
    ...['', 'tile', 'tile/0/', 'tile/0/0', 'tile/0/00', 'tile/0/0000', 'tile/00/000', 'tile/64/000', 'tile/-1/000'],
    ...['tile/0/x000/000', 'tile/0/001/234', 'tile/0/x001', 'tile/0/000.p/0', 'tile/0/000.p/01', 'tile/0/000.p/256'],
    ...[
      'tile/0/000.p/257',
      'tile/0/000.p/',
      'tile/0/000/',
      '/tile/0/000',
      'tile/0/000?',
      'tile/0/../000',
      'tile/e/000',
    ],
    'tile/0/x999/x999/x999/x999/x999/999',
  ])('is none for another text: %s', (path) => expect(parseTilePath(path)).toBeUndefined());
});

describe('the tiles of a tree', () => {
  it('are those of the example in the specification: 70,000 leaves', () => {
    const widths = (level: number | 'entries', indexes: number[]): number[] =>
      indexes.map((index) => tileWidth({ level, index }, 70_000));
    expect(widths(0, [0, 272, 273, 274])).toEqual([256, 256, 112, 0]);
    expect(widths('entries', [0, 272, 273, 274])).toEqual([256, 256, 112, 0]);
    expect(widths(1, [0, 1, 2])).toEqual([256, 17, 0]);
    expect(widths(2, [0, 1])).toEqual([1, 0]);
    expect(widths(3, [0])).toEqual([0]);
    expect([tileWidth({ level: 0, index: 0 }, 256), tileWidth({ level: 1, index: 0 }, 256)]).toEqual([256, 1]);
    expect(tileWidth({ level: 0, index: 1 }, 256)).toBe(0);
  });
});

describe('an entry bundle', () => {
  it('has each entry behind its length, and takes none that is longer than two bytes tell', () => {
    const bundle = entryBundle([Buffer.from('ab'), Buffer.alloc(0), Buffer.alloc(65_535, 1)]);
    expect(bundle.subarray(0, 8)).toEqual(Buffer.from([0, 2, 0x61, 0x62, 0, 0, 0xff, 0xff]));
    expect(bundle.length).toBe(2 + 2 + 2 + 2 + 65_535);
    expect(() => entryBundle([Buffer.alloc(65_536)])).toThrow(RangeError);
  });
});
