import { describe, expect, it } from '@jest/globals';
import { SAID, saidOf } from './saying.js';

const shelf = { s_state: 'sellable', s_place: 'P1', answer: 'found', g_status: 'in_circulation', g_place: 'P1' };
const said = (code: string, row: object): string[] => {
  const sides = saidOf({ ...shelf, code, ...row });
  return SAID.map(([side]) => sides[side]);
};

describe('what the sides say of a finding', () => {
  it.each([
    ['attribute_mismatch', { s_series: 'B2', g_series: 'A1' }, ['series B2', '', 'series A1', '', '']],
    [
      'attribute_mismatch',
      { s_expiry: '2027-01-01', g_expiry: '2028-01-01', s_series: 'A1', g_series: 'A1' },
      ['expires 2027-01-01', '', 'expires 2028-01-01', '', ''],
    ],
    [
      'expired_in_stock',
      { s_expiry: '2026-01-01', g_expiry: '2026-01-01' },
      ['expires 2026-01-01', '', 'expires 2026-01-01', '', ''],
    ],
    ['duplicate_locally', { copies: 2 }, ['rows 2', '', '', '', '']],
    ['funding_mismatch', { s_funding: 'own', g_funding: 'budget' }, ['paid by own', '', 'paid by budget', '', '']],
    ['part_mismatch', { s_part: '1/2', r_part: '1/3' }, ['part 1/2', 'part 1/3', '', '', '']],
    ['held_for_others', { g_owner: '7700000000' }, ['', '', 'owner 7700000000', '', '']],
    ['container_mismatch', { r_container: '1', g_container: '2' }, ['', 'in 1', 'in 2', '', '']],
    ['hung_stock', { moved_at: '2026-01-01' }, ['', '', 'moved 2026-01-01', '', '']],
    ['sold_here_open_in_registry', { d_receipt: '17' }, ['', '', '', '17', '']],
    ['rejected_document', { x_standing: 'refused', x_document: 'd' }, ['', '', '', '', 'refused, d']],
    ['missing_locally', { x_standing: 'refused', x_document: 'd', copies: 1 }, ['', '', '', '', '']],
  ])('of %s %j', (code, row, more) => {
    const plain = ['sellable, P1', '', 'found, in_circulation, P1', '', ''];
    const wanted = plain.map((text, n) => [text, more[n]].filter((one) => one !== '').join(', '));
    expect(said(code, row)).toEqual(wanted);
  });

  it('of a pack that is only in a container of the stock names that in place of a row', () => {
    const stockOf = (row: object) => saidOf({ ...shelf, code: 'suspended_in_stock', ...row }).stock;
    const none = { s_state: null, s_place: null, copies: null };
    expect(stockOf({ ...none, held: true })).toBe('in a container of the stock');
    expect(stockOf({ ...none, held: false })).toBe('');
    expect(stockOf({ copies: 1, held: true })).toBe('sellable, P1');
  });
});
