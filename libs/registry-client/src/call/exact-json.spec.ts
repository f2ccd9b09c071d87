import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseExactly } from './exact-json.js';

describe('numbers of an answer', () => {
  it.each([
    ['0', 0],
    ['-12', -12],
    ['9007199254740991', 9007199254740991],
    ['100.5', 100.5],
    // As a server in Java writes a moment.
    ['1.5775488E12', 1577548800000],
    ['9007199254740993', '9007199254740993'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['100.10', '100.10'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['-12345678901234.99', -12345678901234.99],
    ['12345678901234567.89', '12345678901234567.89'],
    ['1e400', '1e400'],
    ['-0', '-0'],
  ])('%s stays what it is', (text, value) => {
    expect(parseExactly(`{"n":[${text}, ${text}],"t":"${text}","f":true,"e":false,"z":null}`)).toEqual({
      n: [value, value],
      t: text,
      f: true,
      e: false,
      z: null,
    });
  });

  it('are told from digits in a text, whatever is escaped in it', () => {
    expect(parseExactly('{"a\\"1.10":"\\\\","b":1.10,"c":"x\\\\\\" 1.10, ["}')).toEqual({
      'a"1.10': '\\',
      b: '1.10',
      c: 'x\\" 1.10, [',
    });
  });

  it('leave all other JSON as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) =>
        expect(withoutZeroSigns(parseExactly(text))).toEqual(withoutZeroSigns(JSON.parse(text))),
      ),
    );
  });

  it('leave names as JSON.parse reads them: the last of two counts, and none is special', () => {
    const read = parseExactly('{"a":1.10,"a":{"b":2.20},"__proto__":{"c":3.30},"constructor":4}');
    expect(read).toEqual(JSON.parse('{"a":{"b":"2.20"},"__proto__":{"c":"3.30"},"constructor":4}'));
    expect(Object.keys(read as object)).toEqual(['a', '__proto__', 'constructor']);
  });

  it('are an error where they are none', () => {
    expect(() => parseExactly('{"a":1.2.3}')).toThrow(SyntaxError);
    expect(() => parseExactly('1.10 oops')).toThrow(SyntaxError);
    expect(() => parseExactly('')).toThrow(SyntaxError);
    expect(() => parseExactly('['.repeat(100_000))).toThrow(RangeError);
  });
});

/** JSON.stringify writes -0 as 0, so neither side may be blamed for the sign. */
const withoutZeroSigns = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
