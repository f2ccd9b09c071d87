import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { withDefaults } from '../config.js';
import { Registry } from '../registry.js';
import { findPacks } from './pack-filter.js';
import { FilterReader } from './request.js';

const GTIN = '04600000000015';

describe('a list out of very many packs', () => {
  let registry: Registry;

  beforeAll(() => {
    registry = new Registry(withDefaults({}));
    const range = (series: string, status: string) => ({
      gtin: GTIN,
      prefix: `SERIES${series}`,
      from: 0,
      count: 10_000,
      owner: 'own',
      place: '00000000100101',
      series,
      status,
    });
    registry.plant({ ranges: [range('A', 'in_circulation'), range('B', 'in_sale'), range('C', 'in_circulation')] });
  });
  afterAll(() => registry.close());

  function looks(filter: Record<string, unknown>, startFrom = 0) {
    const { index } = registry.packs;
    const state = jest.spyOn(index, 'state');
    const sgtin = jest.spyOn(index, 'sgtin');
    const found = findPacks(registry, new FilterReader(filter, registry.profile), {
      page: { startFrom, count: 100 },
      owner: 'own',
      archived: false,
    });
    const looked = state.mock.calls.length + sgtin.mock.calls.length;
    state.mockRestore();
    sgtin.mockRestore();
    return { total: found.total, found: found.numbers.length, looked };
  }

  it.each([
    [{}, 0, 30_000],
    [{ gtin: GTIN, status: ['in_circulation'] }, 0, 20_000],
    [{ gtin: GTIN, status: ['in_circulation'] }, 19_950, 20_000],
    [{ batch: 'B' }, 5000, 10_000],
    [{ sell_name: 'paracetamol' }, 0, 30_000],
  ])('counts and pages %j from %i without looking at a pack', (filter, startFrom, total) => {
    expect(looks(filter, startFrom)).toEqual({ total, found: Math.min(100, total - startFrom), looked: 0 });
  });

  it('looks at the packs of the named product alone when dates are asked for', () => {
    expect(looks({ gtin: GTIN, batch: 'B', last_tracing_op_date_from: '2020-01-01' })).toEqual({
      total: 10_000,
      found: 100,
      looked: 10_000,
    });
    expect(looks({ gtin: '04600000000022', last_tracing_op_date_from: '2020-01-01' })).toEqual({
      total: 0,
      found: 0,
      looked: 0,
    });
  });
});
