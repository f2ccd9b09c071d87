import { describe, expect, it } from '@jest/globals';
import { ItemWarnings } from './item-warnings.js';

const GS = '\u001d';
const PACK = '04600000000015AbCdEf0123456';
const SCAN = `01${PACK.slice(0, 14)}21${PACK.slice(14)}${GS}91EE06${GS}92AA=`;
const TYPED = `01${PACK.slice(0, 14)}21ФиСвУа0123456`;
const SSCC = '046000000000000015';
const document = (rows: object) => ({ action_id: 415, order_details: rows }) as never;
const at = (field: string, item = PACK) => ({ field: `/document/order_details${field}`, item });

describe('items of a JSON document', () => {
  it('are read in every row, and each mending is told with its places', () => {
    const warnings = new ItemWarnings();
    const given = {
      union: [{ sgtin: SCAN, cost: '1' }, { sgtin: { value: TYPED, sold_part: '1/2' } }, { sscc: `00${SSCC}` }],
    };
    expect(warnings.readItems(document({ ...given, sgtin: [PACK, SCAN] }), '/document')).toEqual({
      action_id: 415,
      order_details: {
        union: [{ sgtin: PACK, cost: '1' }, { sgtin: { value: PACK, sold_part: '1/2' } }, { sscc: SSCC }],
        sgtin: [PACK, PACK],
      },
    });
    expect(warnings.list).toEqual([
      { code: 'elements_cut', count: 2, places: [at('/union/0/sgtin'), at('/sgtin/1')] },
      { code: 'keyboard_layout', count: 1, places: [at('/union/1/sgtin/value')] },
    ]);
  });

  it('stay as they are where there is nothing to read, and nothing is told', () => {
    const warnings = new ItemWarnings();
    const plain = document({ sgtin: [PACK], sscc: SSCC, doc_num: SCAN, sgtin_count: 5, subject: null, flag: true });
    expect(warnings.readItems(plain, '/document')).toEqual(plain);
    expect(warnings.list).toBeUndefined();
  });

  it('with a wrong check digit are taken, and each number is told once', () => {
    const [first, second] = ['50754041398744AbCdEf0123456', '50754041398744AbCdEf0123457'];
    const warnings = new ItemWarnings();
    warnings.readItems(document({ sgtin: [first, second], sscc: '507540413987451236' }), '/document');
    expect(warnings.list).toEqual([
      { code: 'wrong_check_digit', count: 2, places: [at('/sgtin/0', first), at('/sscc', '507540413987451236')] },
    ]);
    const inXml = new ItemWarnings();
    inXml.checkItems(
      [
        { kind: 'sgtin', id: first },
        { kind: 'sgtin', id: second },
        { kind: 'sgtin', id: PACK },
      ],
      '/xml',
    );
    expect(inXml.list).toEqual([{ code: 'wrong_check_digit', count: 1, places: [{ field: '/xml', item: first }] }]);
  });

  it('are all counted, and the first of them named', () => {
    const warnings = new ItemWarnings();
    warnings.readItems(document({ sgtin: Array.from({ length: 25 }, () => SCAN) }), '/document');
    expect(warnings.list).toMatchObject([{ count: 25 }]);
    expect(warnings.list?.[0]?.places).toHaveLength(20);
  });

  it.each([
    [
      'a serial that the registry does not take',
      { sgtin: [PACK, `${SCAN.slice(0, 20)}!${SCAN.slice(21)}`] },
      '/sgtin/1',
      /letters and digits/,
    ],
    ['a container for a pack', { union: [{ sgtin: `00${SSCC}` }] }, '/union/0/sgtin', /is an SSCC; an SGTIN is needed/],
    ['a pack for a container', { sscc: SCAN }, '/sscc', /is an SGTIN; an SSCC is needed/],
    ['letters of both layouts', { sgtin: { value: `${TYPED.slice(0, -1)}A` } }, '/sgtin/value', /Latin and Cyrillic/],
    ['what is not an item', { 'a/b': { sgtin: ['0460'] } }, '/a~1b/sgtin/0', /"0460" is no SGTIN/],
  ])('are refused with %s, at its place', (_, rows, field, why) => {
    const read = (): unknown => new ItemWarnings().readItems(document(rows), '/document');
    expect(read).toThrow(why);
    expect(read).toThrow(
      expect.objectContaining({
        code: 'invalid_identifier',
        place: expect.objectContaining({ field: at(field).field }),
      }),
    );
  });
});
