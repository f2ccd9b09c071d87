import { describe, expect, it } from '@jest/globals';
import { defined } from './defined.js';

describe('the defined fields of a record', () => {
  it('are those with a value, null and nothing among them, in their order', () => {
    const found = defined({ a: undefined, b: null, c: '', d: 0, e: false, f: { g: undefined } });
    expect(Object.entries(found)).toEqual([
      ['b', null],
      ['c', ''],
      ['d', 0],
      ['e', false],
      ['f', { g: undefined }],
    ]);
    expect('a' in found).toBe(false);
  });
});
