import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from './catalogue.js';
import { isStandKnown, obstaclesTo, sequenceRowOf, sequenceRuleOf } from './sequence.js';

const HERE = '00000000000464';
const THERE = '00000000000465';
const BOX = '460700177000000019';

const against = (docType: number, status: string, more: { place?: string; container?: string } = {}) =>
  obstaclesTo({ docType, subjectId: HERE }, { status, place: HERE, ...more }).join(' ');

describe('the table of what may come next', () => {
  it('has a row for each of the 106 types, and for nothing else', () => {
    expect(CATALOGUE).toHaveLength(106);
    expect(CATALOGUE.filter(({ docType }) => sequenceRowOf(docType) === undefined)).toEqual([]);
    expect(sequenceRowOf(999)).toBeUndefined();
  });

  it('has rules only for what participants send', () => {
    const ruled = CATALOGUE.filter(({ docType }) => sequenceRuleOf(docType) !== undefined);
    expect(ruled.every(({ direction }) => direction === 'outgoing')).toBe(true);
    const others = CATALOGUE.filter(({ direction }) => direction === 'notification' || direction === 'answer');
    expect(new Set(others.map(({ docType }) => sequenceRowOf(docType)))).toEqual(new Set(['not ours to send']));
  });

  it('takes every status that a type itself may leave behind as known', () => {
    const statuses = CATALOGUE.flatMap(({ effect }) =>
      typeof effect === 'string'
        ? []
        : [effect.partStatus, typeof effect.status === 'string' ? effect.status : undefined],
    ).filter((one) => one !== undefined);
    expect(statuses.filter((one) => !isStandKnown(one))).toEqual([]);
  });

  it.each([
    [415, 'in_circulation', ''],
    [415, 'in_sale', 'not_in_trade'],
    [415, 'in_realization', 'awaits_other_side'],
    [415, 'waiting_confirmation', 'awaits_other_side'],
    [415, 'in_arbitration', 'in_arbitration'],
    [415, 'paused_circulation', 'suspended'],
    [415, 'marked', 'not_in_trade'],
    [417, 'paused_circulation', ''],
    [441, 'in_sale', 'not_in_trade'],
    [461, 'moved_to_eeu', 'not_in_trade'],
    [472, 'in_realization', 'awaits_other_side'],
    [431, 'marked', ''],
    [431, 'out_of_circulation', 'not_in_trade'],
    [511, 'in_partial_sale', ''],
    [511, 'in_sale', 'not_in_trade'],
    [521, 'in_circulation', ''],
    [531, 'disposed', 'not_in_trade'],
    [552, 'paused_circulation', ''],
    [552, 'out_of_circulation', 'not_in_trade'],
    [541, 'in_realization', 'awaits_other_side'],
    [542, 'moved_for_disposal', ''],
    [542, 'in_circulation', 'not_in_trade'],
    [911, 'in_sale', 'not_in_trade'],
    [913, 'paused_circulation', ''],
    [701, 'in_sale', ''],
    [391, 'in_sale', ''],
  ])('%s of a pack that is %s: %s', (docType, status, reasons) => {
    expect(against(docType, status)).toBe(reasons);
  });

  it('names all that forbids it', () => {
    expect(against(415, 'in_sale', { place: THERE, container: BOX })).toBe('not_in_trade not_at_place in_container');
    expect(against(415, 'in_circulation', { place: '' })).toBe('not_at_place');
  });

  it('counts no container that the type dissolves by itself', () => {
    expect(against(912, 'in_circulation', { container: BOX })).toBe('');
    expect(against(552, 'in_circulation', { container: BOX })).toBe('in_container');
    for (const unpack of ['true', '1', '\n true\n']) {
      const unpacking = { docType: 552, subjectId: HERE, fields: { unpack } };
      expect(obstaclesTo(unpacking, { status: 'in_circulation', place: HERE, container: BOX })).toEqual([]);
    }
  });

  it('lets nothing follow from what is not known', () => {
    expect(obstaclesTo({ docType: 415, subjectId: HERE }, {})).toEqual([]);
    expect(obstaclesTo({ docType: 415, subjectId: HERE }, { status: null, place: null, container: null })).toEqual([]);
    expect(obstaclesTo({ docType: 415, subjectId: HERE }, { status: 'a_new_status', place: HERE })).toEqual([]);
    const system = '5a7c1d9e-0000-4000-8000-000000000001';
    expect(obstaclesTo({ docType: 415, subjectId: system }, { status: 'in_circulation', place: HERE })).toEqual([]);
  });
});
