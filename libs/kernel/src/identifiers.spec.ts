import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import {
  checkDigitOf,
  hasValidCheckDigit,
  isGtin,
  isSgtin,
  isSscc,
  isUuid,
  requestIdOf,
  splitSgtin,
  uuid5,
} from './index.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

describe('identifiers', () => {
  it.each([
    ['046000000000150000000000001', true],
    ['04600000000015AbC0000000001', true],
    ['04600000000015000000000000', false],
    ['0460000000001500000000000012', false],
    ['0460000000001X0000000000001', false],
    ['04600000000015000000000000-', false],
    ['04600000000015АВС0000000001', false],
    ['046000000000150000000000001\n', false],
  ])('%j as an SGTIN: %s', (text, expected) => expect(isSgtin(text)).toBe(expected));

  it('tells the other shapes', () => {
    expect([
      isSscc('123456789012345678'),
      isSscc('12345678901234567'),
      isGtin('04600000000015'),
      isGtin('4600000000015'),
    ]).toEqual([true, false, true, false]);
    expect([isUuid('6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01'), isUuid('6f1b2c9e')]).toEqual([true, false]);
  });

  it('splits an SGTIN into GTIN and serial', () => {
    expect(splitSgtin('04600000000015AbC0000000001')).toEqual({ gtin: '04600000000015', serial: 'AbC0000000001' });
  });

  it('knows the check digit of the GS1 general specifications', () => {
    expect([
      hasValidCheckDigit('06291041500213'),
      hasValidCheckDigit('06291041500214'),
      checkDigitOf('0629104150021'),
    ]).toEqual([true, false, '3']);
  });

  it('completes any digits with exactly one valid check digit', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{13}$|^\d{17}$/), (digits) => {
        const valid = [...'0123456789'].filter((digit) => hasValidCheckDigit(digits + digit));
        expect(valid).toEqual([checkDigitOf(digits)]);
      }),
      { seed: SEED },
    );
  });

  it('makes UUIDs as the package of that name does, and none of what has no UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uuid(), (name, namespace) =>
        expect(uuid5(name, namespace)).toBe(v5(name, namespace)),
      ),
      { seed: SEED },
    );
    const namespace = '6BA7B810-9DAD-11D1-80B4-00C04FD430C8';
    expect(uuid5('a', namespace)).toBe(v5('a', namespace));
    expect(() => uuid5('\ud800', namespace)).toThrow(TypeError);
    expect(() => uuid5('a', '6ba7b810')).toThrow(TypeError);
  });

  it('derives request ids by RFC 9562', () => {
    // The example of RFC 9562, appendix A.4.
    expect(uuid5('www.example.com', '6ba7b810-9dad-11d1-80b4-00c04fd430c8')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    );
    expect(requestIdOf('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'a')).not.toBe(
      requestIdOf('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'b'),
    );
  });
});
