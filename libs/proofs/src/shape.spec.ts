import { describe, expect, it } from '@jest/globals';
import * as z from './shape.js';

const whyOf = <T>(shape: z.Shape<T>, value: unknown): string => {
  try {
    shape.parse(value);
    return 'taken';
  } catch (error) {
    if (!(error instanceof z.WrongShape)) throw error;
    return `/${error.path.join('/')} ${error.message}`;
  }
};

describe('the shape of a line', () => {
  const line = z.strictObject({
    format: z.literal('f/1'),
    names: z.array(z.string().min(1).max(3)).min(1).max(2).optional(),
    inner: z.strictObject({ count: z.int().min(0) }),
    hash: z.string().length(2),
    hex: z.string().regex(/^[0-9a-f]*$/),
    any: z.unknown().optional(),
  });
  const good = { format: 'f/1', inner: { count: 0 }, hash: 'ab', hex: '' };

  it('takes what is of it, and gives it back as it is', () => {
    for (const value of [good, { ...good, names: ['a', 'abc'], any: { x: [1] } }])
      expect(line.parse(value)).toBe(value);
  });

  it('refuses everything else, and names the place', () => {
    const wrong: [unknown, string][] = [
      [{ ...good, format: 'f/2' }, '/format is not "f/1"'],
      [{ ...good, names: [] }, '/names is shorter than 1'],
      [{ ...good, names: ['a', 'b', 'c'] }, '/names is longer than 2'],
      [{ ...good, names: ['a', ''] }, '/names/1 is shorter than 1'],
      [{ ...good, names: ['abcd'] }, '/names/0 is longer than 3'],
      [{ ...good, names: null }, '/names is not a list'],
      [{ ...good, names: { length: 1, 0: 'a' } }, '/names is not a list'],
      [{ ...good, inner: { count: -1 } }, '/inner/count is less than 0'],
      [{ ...good, inner: { count: 0.5 } }, '/inner/count is not a whole number'],
      [{ ...good, inner: { count: 2 ** 53 } }, '/inner/count is not a whole number'],
      [{ ...good, inner: { count: '0' } }, '/inner/count is not a whole number'],
      [{ ...good, inner: {} }, '/inner/count is not a whole number'],
      [{ ...good, inner: [] }, '/inner is not an object'],
      [{ ...good, inner: null }, '/inner is not an object'],
      [{ ...good, hash: 'abc' }, '/hash is not 2 characters long'],
      [{ ...good, hash: 1 }, '/hash is not a text'],
      [{ ...good, hex: 'g' }, '/hex does not match ^[0-9a-f]*$'],
      [{ ...good, other: 1 }, '/ has "other", which is unknown here'],
      [{ ...good, inner: { count: 1, constructor: 1 } }, '/inner has "constructor", which is unknown here'],
      [JSON.parse('{"__proto__":{}}'), '/ has "__proto__", which is unknown here'],
      [[good], '/ is not an object'],
      ['text', '/ is not an object'],
    ];
    for (const [value, why] of wrong) expect(whyOf(line, value)).toBe(why);
  });
});
