import { describe, expect, it } from '@jest/globals';
import { readItemCode, wrongCheckDigitOf, type ItemMending } from './index.js';

const GS = '\u001d';
const GTIN = '04600000000015';
const SERIAL = 'AbCdEf0123456';
const PACK = `${GTIN}${SERIAL}`;
const SSCC = '046000000000000012';
const TAIL = `91EE06${GS}92abcdefghijklmnopqrstuvwxyz0123456789+/ABCDE=`;

describe('a scanned item', () => {
  it.each<[string, string, string, ItemMending[]]>([
    ['a plain SGTIN', PACK, PACK, []],
    ['a plain SSCC', SSCC, SSCC, []],
    ['two elements', `01${GTIN}21${SERIAL}`, PACK, []],
    ['a whole DataMatrix', `]d201${GTIN}21${SERIAL}${GS}${TAIL}`, PACK, ['elements_cut']],
    ['without separators', `01${GTIN}21${SERIAL}${TAIL.replace(GS, '')}`, PACK, ['elements_cut']],
    ['with the longest signature', `01${GTIN}21${SERIAL}91EE0692${'A'.repeat(88)}`, PACK, ['elements_cut']],
    ['expiry and batch before the serial', `01${GTIN}1727123110B${GS}21${SERIAL}`, PACK, ['elements_cut']],
    ['separators as escapes', `01${GTIN}21${SERIAL}\\u001d91EE06\\u001d92AA`, PACK, ['elements_cut']],
    ['in brackets', `(01)${GTIN}(21)${SERIAL}`, PACK, []],
    ['in brackets, with blanks', `(01) ${GTIN} (21) ${SERIAL}`, PACK, ['blanks_cut']],
    ['a line end of the scanner', `01${GTIN}21${SERIAL}\r\n`, PACK, ['blanks_cut']],
    ['a container', `00${SSCC}`, SSCC, []],
    ['a container of GS1-128', `]C100${SSCC}`, SSCC, []],
    ['a container with a content', `]C100${SSCC}02${GTIN}3712`, SSCC, ['elements_cut']],
    ['a Russian layout', `ъв201${GTIN}21ФиСвУа0123456`, PACK, ['keyboard_layout']],
    ['a plain SGTIN under a Russian layout', `${GTIN}ФиСвУа0123456`, PACK, ['keyboard_layout']],
    ['letters that look alike', `${GTIN}АС00000000001`, `${GTIN}FC00000000001`, ['look_alike_letters']],
    ['all at once', ` 01${GTIN}21ФиСвУа0123456${GS}91УУ06 `, PACK, ['blanks_cut', 'keyboard_layout', 'elements_cut']],
  ])('%s', (_, text, id, mended) => {
    expect(readItemCode(text)).toEqual({ kind: id === SSCC ? 'sscc' : 'sgtin', id, mended });
  });

  it.each([
    ['nothing', '', /is no SGTIN/],
    ['a shorter text', PACK.slice(1), /is no SGTIN/],
    ['a short container', SSCC.slice(1), /is no SGTIN/],
    ['the batch alone', '10ABC', /is no SGTIN/],
    ['the GTIN alone', `01${GTIN}`, /no serial number \(21\)/],
    ['a batch that swallows the serial', `01${GTIN}10B21${SERIAL}`, /no serial number/],
    ['a serial with a sign', `01${GTIN}21AbC!Ef0123456`, /"AbC!Ef0123456" with "!" at place 4: .*letters and digits/],
    ['a short serial', `01${GTIN}21ABC${GS}91EE06`, /serial number of 3 characters/],
    ['a long serial', `(01)${GTIN}(21)${SERIAL}7`, /serial number of 14 characters/],
    ['what is no element behind it', `01${GTIN}21${SERIAL}XY`, /"XY" behind element 21/],
    ['a GTIN of 13 digits', `(01)${GTIN.slice(1)}(21)${SERIAL}`, /as element 01: 14 digits/],
    ['a date with a letter', `01${GTIN}21${SERIAL}17ABCDEF`, /as element 17: 6 digits/],
    ['two packs', `01${GTIN}21${SERIAL}01${GTIN}21${SERIAL}`, /behind element 21/],
    ['two packs in brackets', `(01)${GTIN}(21)${SERIAL}(01)${GTIN}(21)${SERIAL}`, /\(01\) twice/],
    ['a pack and a container', `00${SSCC}01${GTIN}21${SERIAL}`, /a pack and a container/],
    ['an open bracket', `(01)${GTIN}(21)${SERIAL}(91`, /is no SGTIN/],
    ['letters of both layouts', `01${GTIN}21ФbСвУа0123456`, /Latin and Cyrillic/],
    ['letters of another layout', `01${GTIN}21іі00000000001`, /serial number/],
    ['a cell that Excel has spoilt', '1.23E+17', /is no SGTIN/],
    ['a flood', '0'.repeat(1_001), /longer than 1000/],
  ])('is not %s', (_, text, why) => {
    expect(readItemCode(text)).toEqual({ kind: 'none', why: expect.stringMatching(why) });
  });

  it('maps each letter and each digit of the Russian layout, in both cases, and nothing else', () => {
    const keys = 'йцукенгшщзфывапролдячсмить';
    const latin = 'qwertyuiopasdfghjklzxcvbnm';
    const read = [...keys, ...keys.toUpperCase()].map((key) => readItemCode(`${GTIN}0123456789${key}ы0`));
    expect(read.map((one) => 'id' in one && one.id.at(-3))).toEqual([...latin, ...latin.toUpperCase()]);
    for (const key of 'хъжэбюёХЪЖЭБЮЁ.,;:?"№/')
      expect(readItemCode(`01${GTIN}210123456789${key}ы0`)).toMatchObject({ kind: 'none' });
  });
});

describe('a check digit', () => {
  it('is that of the GTIN or the SSCC', () => {
    expect(wrongCheckDigitOf({ kind: 'sgtin', id: PACK })).toBeUndefined();
    expect(wrongCheckDigitOf({ kind: 'sgtin', id: `50754041398744${SERIAL}` })).toBe('50754041398744');
    expect(wrongCheckDigitOf({ kind: 'sscc', id: '507540413987451236' })).toBe('507540413987451236');
  });
});
