import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { isSgtin, isSscc, PedigreeError } from '#kernel';
import { sized } from '../../../test/support/sized.js';
import { checkDocument } from './check-document.js';
import { readDocument } from './read-document.js';
import { readReceipt } from './read-receipt.js';

const SEED = 20261121;
const CHANGED = sized({ test: 1_500, soak: 4_000 });
const CHECKED = sized({ test: 500, soak: 1_000 });
const folder = new URL('../fixtures/', import.meta.url);
const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder)));

/** One change to a file: bytes or lines overwritten, cut out, repeated, or a piece that parsers stumble over put in. */
const PIECES = [
  '<',
  '>',
  '</',
  '/>',
  '&',
  '&#48;',
  '&lt;',
  ';',
  '"',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<?x?>',
  '<sgtin>',
  '</sgtin>',
  '<sscc>',
  '0',
  'A',
  ' ',
  '\n',
  '\0',
  '\uFFFF',
  'ж',
  '😀',
  '<union>',
  'xmlns=""',
  '<!DOCTYPE a>',
];
const mutation = fc.record({
  at: fc.nat(),
  length: fc.nat(60),
  kind: fc.constantFrom('cut', 'repeat', 'insert', 'overwrite', 'letter', 'drop line', 'repeat line'),
  piece: fc.oneof(
    fc.constantFrom(...PIECES).map((text) => Buffer.from(text)),
    fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  ),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer M> ? M : never;

function mutate(bytes: Buffer, { at, length, kind, piece }: Mutation): Buffer {
  const from = at % (bytes.length + 1);
  const [head, part, tail] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + length),
    bytes.subarray(from + length),
  ];
  if (kind === 'cut') return Buffer.concat([head, tail]);
  if (kind === 'repeat') return Buffer.concat([head, part, part, tail]);
  if (kind === 'insert') return Buffer.concat([head, piece, part, tail]);
  if (kind === 'overwrite') return Buffer.concat([head, piece, bytes.subarray(from + piece.length)]);
  if (kind === 'letter') return Buffer.concat([head, Buffer.from('7'), bytes.subarray(from + 1)]);
  const [start, end] = [bytes.lastIndexOf('\n', from) + 1, bytes.indexOf('\n', from) + 1];
  return kind === 'drop line'
    ? Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
    : Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
}

const mutants = fc
  .tuple(
    fc.constantFrom(...files),
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(mutation) },
      { weight: 1, arbitrary: fc.array(mutation, { minLength: 2, maxLength: 4 }) },
    ),
  )
  .map(([file, mutations]) => (mutations as Mutation[]).reduce(mutate, file));

/** What `read` gives, or undefined when it refused; anything but a PedigreeError is a crash. */
function outcome<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof PedigreeError) return undefined;
    throw error;
  }
}

describe(`changed files (seed ${SEED})`, () => {
  it('never crash the readers, and never yield an item that is not in the text', () => {
    let survivors = 0;
    fc.assert(
      fc.property(mutants, (bytes) => {
        outcome(() => readReceipt(bytes));
        const facts = outcome(() => readDocument(bytes));
        if (facts === undefined) return;
        survivors += 1;
        // A character may be written as a reference, and then is in the text all the same.
        const text = bytes.toString('utf8').replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
        for (const { kind, id, into } of facts.items) {
          expect(kind === 'sgtin' ? isSgtin(id) : isSscc(id)).toBe(true);
          expect(text).toContain(`>${id}<`);
          if (into !== undefined) expect(text).toContain(`<sscc>${into}</sscc>`);
        }
      }),
      { seed: SEED, numRuns: CHANGED, verbose: 1 },
    );
    // The property would be empty if every mutant were refused.
    expect(survivors).toBeGreaterThan(CHANGED / 20);
  });

  it('whatever passes the schema reads the same before and after', () => {
    let passed = 0;
    fc.assert(
      fc.property(mutants, (bytes) => {
        const checked = outcome(() => checkDocument(bytes));
        if (checked === undefined) return;
        passed += 1;
        expect(readDocument(bytes)).toEqual(checked);
      }),
      { seed: SEED, numRuns: CHECKED, verbose: 1 },
    );
    expect(passed).toBeGreaterThan(CHECKED / 50);
  });
});
