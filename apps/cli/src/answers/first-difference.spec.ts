import { describe, expect, it } from '@jest/globals';
import { firstDifference } from './first-difference.js';

const at = (...of: Parameters<typeof firstDifference>): string | undefined => firstDifference(...of)?.pointer;

describe('the first difference of two values', () => {
  it('is none where they are the same, whatever the order of their members', () => {
    expect(firstDifference({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })).toBeUndefined();
  });

  it('is told with its place and both values', () => {
    expect(firstDifference({ a: [{ 'b/c~': 1 }] }, { a: [{ 'b/c~': 2 }] })).toEqual({
      pointer: '/a/0/b~1c~0',
      said: '1',
      follows: '2',
    });
    expect(firstDifference({}, undefined)).toEqual({ pointer: '', said: '{}', follows: undefined });
  });

  it.each([
    ['a member that is not there', { a: 1 }, { a: 1, b: 2 }, '/b'],
    ['a member too many', { a: 1, b: 2 }, { a: 1 }, '/b'],
    ['a list that is shorter', { a: [1] }, { a: [1, 2] }, '/a/length'],
    ['a list for an object', { a: [] }, { a: {} }, '/a'],
    ['null for an object', { a: null }, { a: {} }, '/a'],
    ['a text for a number', { a: '1' }, { a: 1 }, '/a'],
  ])('is %s', (_, said, follows, pointer) => {
    expect(at(said, follows)).toBe(pointer);
  });

  it('leaves out names that are not compared, and with isPartial what only one has; never a part of a list', () => {
    const except = new Set(['sentence']);
    expect(at({ a: { sentence: 'x', b: 1 } }, { a: { sentence: 'y', b: 1 } }, { except })).toBeUndefined();
    expect(at({ a: 1, new: 2 }, { a: 1, old: 3 }, { isPartial: true })).toBeUndefined();
    expect(at({ a: 1, new: 2 }, { a: 2, old: 3 }, { isPartial: true })).toBe('/a');
    expect(at({ a: [1] }, { a: [1, 2] }, { isPartial: true })).toBe('/a/length');
  });

  it('names what was left out, and is another, wherever it is', () => {
    const leftOut: string[] = [];
    const comparing = { except: new Set(['words']), isPartial: true, onLeftOut: (one: string) => leftOut.push(one) };
    const said = { a: [{ words: 'x', b: 1, more: { c: 1 } }], same: 1, words: 'y', also: [] };
    const follows = { a: [{ words: 'z', b: 1 }], same: 1, words: 'y', less: null };
    expect(firstDifference(said, follows, comparing)).toBeUndefined();
    expect(leftOut.sort()).toEqual(['/a/0/more', '/a/0/words', '/also', '/less']);
  });
});
