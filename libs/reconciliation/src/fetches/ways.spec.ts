import { describe, expect, it } from '@jest/globals';
import { filterPages, wayCosts } from './ways.js';

const V1 = { filter: { pageSize: 100, intervalMs: 100 }, list: { pageSize: 500, intervalMs: 100 } };
const MDLP = { filter: { pageSize: 100, intervalMs: 500 }, list: { pageSize: 500, intervalMs: 10_000 } };

describe('the ways of reading packs', () => {
  const EXPORT = { export: [60_000, 10_000, 60_000] };

  it('are priced by calls and the interval of their method, the cheapest first', () => {
    expect(wayCosts({ items: 1_000_000, expected: 1_000_000, ...MDLP, ...EXPORT })).toEqual([
      { way: 'export', calls: 3 + 20, ms: 130_000 + 200_000 },
      { way: 'filter', calls: 10_101, ms: 5_050_500 },
    ]);
    expect(wayCosts({ items: 100, expected: 1_000, ...V1, ...EXPORT }).map(({ way }) => way)).toEqual([
      'filter',
      'export',
    ]);
  });

  it('are never a list, however few packs are known: it shows none that the registry alone has', () => {
    expect(wayCosts({ items: 400, expected: 1_000_000, ...MDLP })).toEqual([
      { way: 'filter', calls: 10_101, ms: 5_050_500 },
    ]);
    expect(wayCosts({ items: 10, expected: null, ...MDLP }).map(({ way }) => way)).toEqual(['filter']);
  });

  it('count what a filter will not show as asked by list', () => {
    expect(wayCosts({ items: 1_500, expected: 500, ...V1 })).toEqual([{ way: 'filter', calls: 6 + 2, ms: 800 }]);
  });

  it('leave out an export that cannot be priced', () => {
    expect(wayCosts({ items: 0, expected: null, ...V1, ...EXPORT }).map(({ way }) => way)).toEqual(['filter']);
  });

  it.each([
    [0, 1],
    [1, 1],
    [100, 1],
    [101, 2],
    [199, 2],
    [200, 3],
  ])('read %i packs in %i pages, each beginning with the last pack of the one before', (total, pages) => {
    expect(filterPages(total, 100)).toBe(pages);
  });
});
