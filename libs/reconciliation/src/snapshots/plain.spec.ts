import { describe, expect, it } from '@jest/globals';
import { plainLines } from './plain.js';
import { MOST_RECORD_BYTES } from './splitter.js';

const QUOTE = '"'.charCodeAt(0);
const found = (text: string, quote: number | undefined = QUOTE) => plainLines(Buffer.from(text), quote);

describe('a text of which each line is a record', () => {
  it('has lines of one end', () => {
    expect(found('a;b\n')).toEqual({ lines: 1, lineEnd: '\n' });
    expect(found(`a;b\n \n${'x'.repeat(MOST_RECORD_BYTES)}\nж\n`)).toEqual({ lines: 4, lineEnd: '\n' });
    expect(found('a;b\r\nc;d\r\n')).toEqual({ lines: 2, lineEnd: '\r\n' });
    expect(plainLines(Buffer.from('a;"b\n'), undefined)).toEqual({ lines: 1, lineEnd: '\n' });
  });

  it.each([
    ['no line', ''],
    ['a line without an end', 'a;b\nc'],
    ['a quote', 'a;b\nc;"d\n'],
    ['an empty line', 'a;b\n\nc;d\n'],
    ['an empty line at its beginning', '\nc;d\n'],
    ['an empty line that ends with a return', 'a;b\r\n\r\nc;d\r\n'],
    ['one that begins with such a line', '\r\na;b\r\n'],
    ['ends of two kinds', 'a;b\r\nc;d\n'],
    ['ends of two kinds, the other way round', 'a;b\nc;d\r\n'],
    ['a return within a line', 'a;\rb\n'],
    ['a return within a line of returns', 'a;\rb\r\n'],
    ['two returns at a line', 'a;b\r\r\n'],
    ['a mark of byte order', '\ufeffa;b\n'],
    ['a line that is too long', `a;b\n${'x'.repeat(MOST_RECORD_BYTES + 1)}\nc;d\n`],
    ['such a line at its end', `a;b\n${'x'.repeat(MOST_RECORD_BYTES + 1)}\n`],
  ])('is none with %s', (_, text) => {
    expect(found(text)).toBeUndefined();
  });
});
