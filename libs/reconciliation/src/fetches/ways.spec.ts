import { describe, expect, it } from '@jest/globals';
import { filterPages, wayCosts } from './ways.js';

const V1 = { filter: { pageSize: 100, intervalMs: 100 }, list: { pageSize: 500, intervalMs: 100 } };
const MDLP = { filter: { pageSize: 100, intervalMs: 500 }, list: { pageSize: 500, intervalMs: 10_000 } };

describe('the ways of reading packs', () => {
  it('are priced by calls and the interval of their method, the cheapest first', () => {
    expect(wayCosts({ items: 1_000_000, expected: 1_000_000, ...MDLP })).toEqual([
      { way: 'filter', calls: 10_101, ms: 5_050_500 },
      { way: 'list', calls: 2_000, ms: 20_000_000 },
    ]);
    expect(wayCosts({ items: 1_000_000, expected: 1_000_000, ...V1 }).map(({ way }) => way)).toEqual([
      'list',
      'filter',
    ]);
  });

  it('take few packs of a large registry by list', () => {
    expect(wayCosts({ items: 400, expected: 1_000_000, ...MDLP })[0]).toEqual({ way: 'list', calls: 1, ms: 10_000 });
  });

  it('count what a filter will not show as asked by list', () => {
    const [, filter] = wayCosts({ items: 1_500, expected: 500, ...V1 });
    expect(filter).toEqual({ way: 'filter', calls: 6 + 2, ms: 800 });
  });

  it('leave out what cannot be priced or finds nothing', () => {
    expect(wayCosts({ items: 0, expected: null, ...V1 }).map(({ way }) => way)).toEqual(['filter']);
    expect(wayCosts({ items: 10, expected: null, ...MDLP }).map(({ way }) => way)).toEqual(['list']);
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
