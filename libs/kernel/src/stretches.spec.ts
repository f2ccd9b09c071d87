import { describe, expect, it } from '@jest/globals';
import { stretchesOf } from './stretches.js';

const cut = (text: string): string[] =>
  stretchesOf([...text], (letter) => letter === letter.toUpperCase()).map((one) => one.join(''));

describe('stretches', () => {
  it('keep the order, and let each that stands alone stand alone', () => {
    expect(cut('abCdeFG')).toEqual(['ab', 'C', 'de', 'F', 'G']);
    expect(cut('ABcd')).toEqual(['A', 'B', 'cd']);
    expect(cut('abc')).toEqual(['abc']);
    expect(cut('')).toEqual([]);
  });
});
