import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '#kernel';
import { loadProfile } from '../profile.js';
import { amount, asList, day, flag, instant, key, number, readRecord, readRecords, text } from './shape.js';

const profile = loadProfile('mdlp', { fields: { sgtin: 'code' } });
const SHAPE = {
  id: key('sgtin'),
  status: text('sgtin_status'),
  count: number('total_income'),
  on: flag('is_admin'),
  at: instant('op_date'),
  name: text('prod_sell_name', 'prod_desc_label'),
  price: amount('price'),
  decidedOn: day('pause_decision_date'),
};
const read = (value: JsonValue, options = {}): unknown => readRecord(value, SHAPE, profile, options);

describe('a record', () => {
  it.each([
    ['text as it came, known or not', { status: ' Odd\\" ' }, { status: ' Odd\\" ' }],
    ['no NUL in a text, which no database keeps', { status: 'a\0b' }, { status: 'a\uFFFDb' }],
    ['a number as text', { status: 7 }, { status: '7' }],
    ['no text in an object', { status: { x: 1 } }, {}],
    ['nothing in null', { status: null, is_admin: null, op_date: null }, {}],
    ['nothing in empty text', { status: '' }, {}],
    ['a number in quotes', { total_income: '12.5' }, { count: 12.5 }],
    ['no number in words', { total_income: '12 packs' }, {}],
    ['flags in every dress', { is_admin: 'false' }, { on: false }],
    ['no flag in anything else', { is_admin: 'yes' }, {}],
    [
      'a time without a zone as the profile means it',
      { op_date: '2020-04-07 07:55:33' },
      { at: '2020-04-07T04:55:33.000Z' },
    ],
    ['a time with a zone', { op_date: '2020-04-07T07:55:33Z' }, { at: '2020-04-07T07:55:33.000Z' }],
    ['a time of a database', { op_date: { $date: '2020-04-07T07:55:33.5Z' } }, { at: '2020-04-07T07:55:33.500Z' }],
    [
      'a time of a database in milliseconds',
      { op_date: { $date: 1_534_809_600_000 } },
      { at: '2018-08-21T00:00:00.000Z' },
    ],
    ['no time in a beginning of time', { op_date: { $date: 0 } }, {}],
    ['no time in 31 February', { op_date: '2020-02-31' }, {}],
    ['the old name where there is no new one', { prod_desc_label: 'old' }, { name: 'old' }],
    ['the new name before the old one', { prod_desc_label: 'old', prod_sell_name: 'new' }, { name: 'new' }],
    ['money as text', { price: '120.50' }, { price: '120.50' }],
    ['money as a number', { price: 120.5 }, { price: '120.50' }],
    ['money without a fraction', { price: 120 }, { price: '120.00' }],
    ['a day', { date: '2018-08-21' }, { decidedOn: '2018-08-21' }],
    ['no day in 31 February', { date: '2018-02-31' }, {}],
    ['no day in what stands for none', { date: '0001-01-01T00:00:00' }, {}],
    ['a day of a moment', { date: '2018-08-21T00:00:00Z' }, { decidedOn: '2018-08-21' }],
    ['no day in a number', { date: 1534809600000 }, {}],
    ['nothing of a prototype', { toString: 'x' }, {}],
  ] as [string, Record<string, JsonValue>, object][])('reads %s, and keeps every field', (_name, fields, expected) => {
    const all = { code: 'a', ...fields };
    expect(read(all)).toEqual({ value: { id: 'a', ...expected, fields: all } });
  });

  it('is not understood without its key, by the name of the installation', () => {
    expect(read({ sgtin: 'a' })).toEqual({ problem: 'a record without "code"' });
    expect(read({ code: null })).toEqual({ problem: 'a record without "code"' });
    expect(read('a')).toEqual({ problem: 'it is not an object' });
    expect(readRecords([{ code: 'a' }, []], SHAPE, profile)).toEqual({ problem: '[1]: it is not an object' });
  });

  it('is read in capitals only where the registry writes so', () => {
    expect(read({ CODE: 'a' })).toHaveProperty('problem');
    expect(read({ CODE: 'a', Status: 'x' }, { anyCase: true })).toEqual({
      value: { id: 'a', status: 'x', fields: { CODE: 'a', Status: 'x' } },
    });
  });
});

describe('a list', () => {
  it.each([
    [
      [1, 2],
      [1, 2],
    ],
    [{ a: 1 }, [{ a: 1 }]],
    ['one', ['one']],
    [null, []],
    [undefined, []],
  ] as [JsonValue | undefined, JsonValue[]][])('of %j', (value, expected) => expect(asList(value)).toEqual(expected));
});
