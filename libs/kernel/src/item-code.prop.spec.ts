import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkDigitOf, isSgtin, isSscc, readItemCode } from './index.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const GS = '\u001d';
/** Which key writes which letter: written here once more, by rows of a keyboard, so that neither table hides a slip. */
const ROWS = [
  ['qwertyuiop[]', 'йцукенгшщзхъ'],
  ["asdfghjkl;'", 'фывапролджэ'],
  ['zxcvbnm,.', 'ячсмитьбю'],
  ['QWERTYUIOP{}', 'ЙЦУКЕНГШЩЗХЪ'],
  ['ASDFGHJKL:"', 'ФЫВАПРОЛДЖЭ'],
  ['ZXCVBNM<>', 'ЯЧСМИТЬБЮ'],
] as const;
const russian = (text: string): string =>
  [...text]
    .map((char) => {
      const row = ROWS.find(([latin]) => latin.includes(char));
      return row === undefined ? char : (row[1][row[0].indexOf(char)] as string);
    })
    .join('');

interface Item {
  kind: 'sgtin' | 'sscc';
  id: string;
}
const sgtin: fc.Arbitrary<Item> = fc
  .tuple(fc.stringMatching(/^\d{13}$/), fc.stringMatching(/^[A-Za-z0-9]{13}$/))
  .map(([gtin, serial]) => ({ kind: 'sgtin', id: `${gtin}${checkDigitOf(gtin)}${serial}` }));
const sscc: fc.Arbitrary<Item> = fc.stringMatching(/^\d{18}$/).map((id) => ({ kind: 'sscc', id }));

/** Elements: two digits of what it is, its value, and whether a separator must follow. */
type Element = [ai: string, value: string, isVariable?: true];
const elementsOf = ({ kind, id }: Item): Element[] =>
  kind === 'sscc'
    ? [['00', id]]
    : [
        ['01', id.slice(0, 14)],
        ['21', id.slice(14), true],
      ];
const element = (ai: string, value: RegExp, isVariable?: true) =>
  fc.option(
    fc.stringMatching(value).map((text): Element => (isVariable === true ? [ai, text, true] : [ai, text])),
    { nil: undefined },
  );
const tail = fc
  .tuple(
    element('17', /^2[5-9](0[1-9]|1[0-2])[0-2]\d$/),
    element('10', /^[A-Z0-9]{1,20}$/, true),
    element('91', /^[A-Z0-9]{4}$/, true),
    element('92', /^[A-Za-z0-9+/]{43}=$/, true),
  )
  .map((elements) => elements.filter((one) => one !== undefined));
const separator = fc.constantFrom(GS, '\\u001d', '\\u001D', '\\x1d', '<GS>', '{GS}', '<FNC1>', '\u241d');
const prefix = fc.constantFrom('', ']d2', ']C1', ']Q3', GS, `]d2${GS}`, '\u00e8', '<FNC1>', '{FNC1}');
const joined = (elements: Element[], gs: string): string =>
  elements.map(([ai, value, isVariable]) => `${ai}${value}${isVariable === true ? gs : ''}`).join('');

interface Written extends Item {
  text: string;
}
/** Ways to write an item, under the Latin layout. */
const WAYS: ((own: Element[], others: Element[], of: { separator: string; prefix: string }) => string)[] = [
  (own) => own.map(([, value]) => value).join(''),
  (own, others, of) =>
    of.prefix +
    joined([...own, ...others], GS)
      .replace(/\u001d$/, '')
      .replaceAll(GS, of.separator),
  (own, others, of) => of.prefix + joined([...others, ...own], of.separator),
  // Without separators only the first of variable length can be told: it and what follows are one tail.
  (own, others, of) => of.prefix + joined([...own, ...others], ''),
  (own, others, of) => of.prefix + [...own, ...others].map(([ai, value]) => `(${ai})${value}`).join(''),
  (own, others) => [...own, ...others].map(([ai, value]) => `(${ai}) ${value} `).join(''),
];
const written: fc.Arbitrary<Written> = fc
  .record({ item: fc.oneof(sgtin, sscc), tail, separator, prefix, way: fc.constantFrom(...WAYS) })
  .map(({ item, tail: others, way, ...of }) => ({ ...item, text: way(elementsOf(item), others, of) }));
/** A container with other elements may be a plain SGTIN by its shape, and is read as one: it is given with a prefix. */
const unambiguous = written.filter(({ kind, text }) => kind === 'sgtin' || !isSgtin(text));

/** What scans are made of, in any order. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom('0', '00', '01', '21', '17', '10', '91', '(01)', '(21)', '(00)', GS, '<GS>', ']d2', 'A', 'ф', ' '),
    fc.stringMatching(/^(\d{14}|\d{18}|[A-Z0-9]{13}|.{1,5})$/),
    fc.string({ unit: 'binary', maxLength: 20 }),
  ),
  { maxLength: 8 },
);

describe(`reading items (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('reads each written form of an item back to it', () => {
    fc.assert(
      fc.property(unambiguous, ({ kind, id, text }) => {
        expect(readItemCode(text)).toMatchObject({ kind, id });
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it('reads it under a Russian keyboard layout too, and says that it mended that', () => {
    fc.assert(
      fc.property(unambiguous, ({ kind, id, text }) => {
        const typed = russian(text);
        const read = readItemCode(typed);
        expect(read).toMatchObject({ kind, id });
        const told = read.kind === 'none' ? [] : read.mended;
        expect(told.some((one) => one === 'keyboard_layout' || one === 'look_alike_letters')).toBe(typed !== text);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it('reads it with blanks and line ends around it, and says that it cut them', () => {
    const blanks = fc.stringMatching(/^[ \t\r\n]{1,3}$/);
    fc.assert(
      fc.property(unambiguous, blanks, blanks, ({ kind, id, text }, before, behind) => {
        expect(readItemCode(before + text + behind)).toMatchObject({
          kind,
          id,
          mended: expect.arrayContaining(['blanks_cut']),
        });
      }),
      { seed: SEED },
    );
  });

  it('takes nothing for an item that is none: what it reads stands there in full', () => {
    let items = 0;
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('');
        const read = readItemCode(text);
        if (read.kind === 'none') return;
        items += 1;
        const { id } = read;
        const [bare, typed] = [text.replace(/[ \t\r\n()]/g, ''), russian(id)];
        const stands =
          read.kind === 'sscc'
            ? isSscc(id) && bare.includes(`00${id}`)
            : isSgtin(id) && bare.includes(`01${id.slice(0, 14)}`);
        const serial = bare.includes(`21${id.slice(14)}`) || bare.includes(`21${typed.slice(14)}`);
        expect(bare === id || bare === typed || (stands && (serial || read.kind === 'sscc'))).toBe(true);
      }),
      { seed: SEED, numRuns: 20_000 },
    );
    expect(items).toBeGreaterThan(20);
  });

  it('reads what it gave back as the same item, with nothing to mend', () => {
    fc.assert(
      fc.property(unambiguous, ({ text }) => {
        const read = readItemCode(text);
        if (read.kind === 'none') throw new Error(read.why);
        expect(readItemCode(read.id)).toEqual({ kind: read.kind, id: read.id, mended: [] });
      }),
      { seed: SEED },
    );
  });
});
