import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from './canonical-json.js';
import { canonicalText } from './canonical-text.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const RUNS = { seed: SEED, numRuns: 2_000 };

/** The long way, which the short one must agree with. */
const anew = (text: string): string => canonicalJson(JSON.parse(text) as unknown);

/** What it says of text, or that it refuses it. */
function outcome(work: (text: string) => string, text: string): string {
  try {
    return work(text);
  } catch {
    return 'refused';
  }
}

const PIECES = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"', '0', '-', '1', '01', '1.0', '1e3', '-0', '12'];
const MORE = [
  '1234567890123456789',
  'true',
  'false',
  'null',
  ' ',
  '\\u0061',
  '\\',
  '\n',
  '€',
  '😀',
  '\ud800',
  '\u007f',
];

describe('the RFC 8785 text of JSON text', () => {
  it('is the text itself where it is in that form', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = anew(JSON.stringify(value));
        expect(canonicalText(text)).toBe(text);
      }),
      RUNS,
    );
  });

  it('is that of the value, whatever the order of names and the white space', () => {
    const names = fc.constantFrom('a', 'b', 'B', '!', '"', '', '1', '10', '9', '€', '😀', 'aa', '__proto__', 'toJSON');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.integer(), fc.double({ noNaN: true }), fc.string(), tie('list'), tie('map')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      map: fc.dictionary(names, tie('value'), { maxKeys: 5 }),
    }));
    const spaces = fc.constantFrom(undefined, 1);
    fc.assert(
      fc.property(value, spaces, (one, space) => {
        const text = JSON.stringify(one, undefined, space).replaceAll('1e999', '1');
        expect(canonicalText(text)).toBe(anew(text));
      }),
      RUNS,
    );
  });

  it('is refused or given for any text as when it is read', () => {
    const text = fc.array(fc.constantFrom(...PIECES, ...MORE), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (one) => expect(outcome(canonicalText, one)).toBe(outcome(anew, one))),
      { ...RUNS, numRuns: 5_000 },
    );
  });

  it('is refused or given as when it is read, where a character of good text is another', () => {
    const good = fc.jsonValue({ maxDepth: 3 }).map((value) => anew(JSON.stringify(value)));
    const piece = fc.constantFrom('', ...PIECES, ...MORE);
    fc.assert(
      fc.property(good, fc.nat(), piece, (text, at, put) => {
        const changed = text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1);
        expect(outcome(canonicalText, changed)).toBe(outcome(anew, changed));
      }),
      { ...RUNS, numRuns: 5_000 },
    );
  });

  it.each([
    '{"b":1,"a":2}',
    '{"a":1,"a":2}',
    '{"a!":1,"a":2}',
    '[1.0]',
    '{"a": 1}',
    '["\\u0061"]',
    '{"n":-0}',
    '[0123]',
  ])('takes no short way for %s', (text) => expect(outcome(canonicalText, text)).toBe(outcome(anew, text)));

  it('reads text that is nested deeper than it looks', () => {
    const deep = `${'['.repeat(500)}${']'.repeat(500)}`;
    expect(canonicalText(deep)).toBe(deep);
    expect(() => canonicalText('['.repeat(500))).toThrow(SyntaxError);
  });
});
