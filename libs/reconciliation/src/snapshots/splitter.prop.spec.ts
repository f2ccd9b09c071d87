import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cellsOf, RecordSplitter } from './splitter.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));

interface Cut {
  records: [number, string][];
  refused: number[];
}

function cut(text: string, sizes: number[]): Cut {
  const [records, refused]: [Cut['records'], number[]] = [[], []];
  const splitter = new RecordSplitter({
    quote: 34,
    delimiter: 59,
    record: (line, bytes) => void records.push([line, bytes.toString()]),
    refuse: (line) => void refused.push(line),
  });
  const bytes = Buffer.from(text);
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    splitter.push(bytes.subarray(at, at + size));
    at += size;
  }
  splitter.end();
  return { records, refused };
}

const plain = fc.string({ unit: fc.constantFrom('a', 'ж', ' ', '1'), maxLength: 5 });
const inQuotes = fc
  .string({ unit: fc.constantFrom('a', ';', '\n', '"', 'ж'), maxLength: 6 })
  .map((text) => `"${text.replaceAll('"', '""')}"`);
const record = fc.array(fc.oneof(plain, inQuotes), { minLength: 2, maxLength: 4 }).map((cells) => cells.join(';'));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

describe(`records of a CSV text (seed ${SEED})`, () => {
  it('come out as they were put in, with their lines, however the bytes arrive', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), fc.constantFrom('\n', '\r\n'), sizes, (given, end, parts) => {
        let line = 1;
        const expected = given.map((text): [number, string] => {
          const from = line;
          line += 1 + (text.match(/\n/g)?.length ?? 0);
          return [from, text];
        });
        expect(cut(given.map((text) => text + end).join(''), parts)).toEqual({ records: expected, refused: [] });
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('lose no line: where a quote does not close, its line alone is refused', () => {
    const lines = fc.array(fc.constantFrom('a;b', 'c;"d', '"', 'e"f;g', '"h";i', ';'), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(lines, sizes, (given, parts) => {
        const { records, refused } = cut(given.join('\n'), parts);
        const seen = [...records.flatMap(([line, text]) => text.split('\n').map((_, n) => line + n)), ...refused];
        expect(seen.sort((a, b) => a - b)).toEqual(given.map((_, n) => n + 1));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('are not swallowed between quotes that never close: only the lines of these are refused', () => {
    const lines = fc.array(fc.constantFrom('a;b', '"c;d', 'e;"f', '"g', 'h;"i";j'), { minLength: 1, maxLength: 150 });
    fc.assert(
      fc.property(lines, sizes, (given, parts) => {
        const numbered = given.map((text, n): [number, string] => [n + 1, text]);
        const opens = ([, text]: [number, string]): boolean => /(^|;)"[^"]*$/.test(text);
        expect(cut(given.join('\n'), parts)).toEqual({
          records: numbered.filter((one) => !opens(one)),
          refused: numbered.filter(opens).map(([line]) => line),
        });
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

describe('cells of a record', () => {
  it('lose their quotes', () => {
    expect(cellsOf('a;"b;""c""";;"d"', { delimiter: ';', quote: '"' })).toEqual(['a', 'b;"c"', '', 'd']);
    expect(cellsOf('a\t"b', { delimiter: '\t', quote: '' })).toEqual(['a', '"b']);
  });
});
