import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf, PedigreeError } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { sized } from '../../../../test/support/sized.js';
import { importSnapshot } from './import.js';
import { REFUSED } from './manifest.js';
import { mappingOf, type Mapping } from './mapping.js';
import { isPlain, TextSource } from './source.js';

/** Its short form has files that are read half by half. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 7);
const RUNS = sized({ test: 12, soak: 100 });
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;

let folder: TemporaryFolder;
let made = 0;
beforeAll(async () => (folder = await temporaryFolder()));
afterAll(() => folder.remove());

/** One cell in so many is unusual, and one line. */
interface Style {
  delimiter: string;
  quote: string;
  header: boolean;
  begin: string;
  encoding: 'utf-8' | 'utf-16le' | 'windows-1251';
  ends: string[];
  hasLastEnd: boolean;
  unusual: number;
}

const style: fc.Arbitrary<Style> = fc.record({
  delimiter: fc.constantFrom(';', ',', '\t'),
  quote: fc.constantFrom('"', ''),
  header: fc.boolean(),
  begin: fc.constantFrom('', '\ufeff'),
  encoding: fc.constantFrom('utf-8' as const, 'utf-8' as const, 'utf-16le' as const, 'windows-1251' as const),
  ends: fc.constantFrom(['\n'], ['\r\n'], ['\n', '\n', '\r\n']),
  hasLastEnd: fc.boolean(),
  unusual: fc.constantFrom(0, 1, 5, 20),
});
const number = fc.nat(150);
const usual = fc
  .tuple(
    number,
    fc.constantFrom('P1', 'P2', '', 'Ж 5'),
    fc.constantFrom('S1', 'S2', ''),
    fc.constantFrom('', '2027-12-31'),
  )
  .map(([n, ...rest]) => [sgtin(n), ...rest]);
const unusualItem = fc.oneof(
  fc.constantFrom('4.60123E+26', "'04601234567893", '', 'null', ` ${sgtin(7)} `, '0'.repeat(18), '460123456789,0', 'ж'),
  number.map((n) => `01${sgtin(n).slice(0, 14)}21${sgtin(n).slice(14)}\u001d91EE05\u001d92abc/+==`),
  number.map((n) => `\u00e801${sgtin(n).slice(0, 14)}21${sgtin(n).slice(14)}\u001d10LOT`),
);
const unusualCell = fc.constantFrom(
  ...[
    '"P;1"',
    '"P\n1"',
    '"P\r\n1"',
    '"P""1"',
    'P"1',
    ' "P1',
    '"P1"x',
    '"P1',
    '"P1" ',
    '\u00a0P1\t',
    '\u0001',
    '\u0000',
  ],
  ...['P\r1', '\r', '<101>', '2027-13-45', '31.12.2027', '\ufeff', '""', '"', '\ufffd'],
);
const unusualLine = fc.oneof(
  fc.constantFrom('', ' ', '\r', ';', ';;;', '\ufeff', '<70000>', `${sgtin(1)};P1`, `${sgtin(1)};P1;S1;;`),
  fc.constantFrom(`${sgtin(2)};P1;S1;;;`, `\ufeff${sgtin(3)};P1;S1;`, `${sgtin(4)};<65500>;S1;`, '"', '"\n"'),
);
const line = fc.record({
  of: fc.nat(99),
  kind: fc.nat(2),
  usual,
  item: unusualItem,
  cell: unusualCell,
  at: fc.integer({ min: 1, max: 3 }),
  whole: unusualLine,
  end: fc.nat(),
});
const lines = fc.array(line, { minLength: 0, maxLength: 250, size: 'max' });

type Line = typeof line extends fc.Arbitrary<infer One> ? One : never;

function textOf(given: readonly Line[], { delimiter, header, begin, ends, hasLastEnd, unusual }: Style): string {
  const all = given.map((one): string => {
    if (one.of >= unusual) return one.usual.join(delimiter);
    if (one.kind === 0) return one.whole.replaceAll(';', delimiter);
    const cells = [...one.usual];
    if (one.kind === 1) cells[0] = one.item;
    else cells[one.at] = one.cell.replaceAll(';', delimiter);
    return cells.join(delimiter);
  });
  const head = header ? [['KM', 'Branch', 'Series', 'Exp'].join(delimiter)] : [];
  const long = (text: string): string => text.replace(/<(\d+)>/, (_, length) => 'x'.repeat(Number(length)));
  const ended = [...head, ...all].map((text, n) => long(text) + ends[(given[n]?.end ?? 0) % ends.length]).join('');
  return begin + (hasLastEnd ? ended : ended.replace(/\r?\n$/, ''));
}

function bytesOf(text: string, { encoding }: Style): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  // A character of no meaning is one byte that UTF-8 does not have.
  if (encoding === 'utf-8')
    return Buffer.concat(
      text.split('\ufffd').flatMap((part, n) => [Buffer.from(n === 0 ? '' : [0xff]), Buffer.from(part)]),
    );
  return Buffer.from([...text].map((one) => CP1251.get(one) ?? (one.charCodeAt(0) < 128 ? one.charCodeAt(0) : 63)));
}

function mappingFor({
  delimiter,
  quote,
  header,
  encoding,
}: Pick<Style, 'delimiter' | 'quote' | 'header' | 'encoding'>): Mapping {
  const names = header ? ['KM', 'Branch', 'Series', 'Exp'] : ['1', '2', '3', '4'];
  const columns = Object.fromEntries(['item', 'place', 'series', 'expiry'].map((name, n) => [name, names[n]]));
  return mappingOf({ format: 'csv', delimiter, quote, header, encoding, columns }, 'stock');
}

/** The records of a file, as they are cut: those of the header and of blank lines are none. */
async function recordsOf(path: string, mapping: Mapping): Promise<number> {
  const refused = new Set<number>();
  const work = join(folder.path, `work-${(made += 1)}`);
  await mkdir(work);
  const source = new TextSource({ path, mapping, folder: work, refuse: (line) => refused.add(line) });
  let records = 0;
  for await (const chunk of source.chunks()) records += isPlain(chunk) ? chunk.lines : chunk.ends.length;
  return records + refused.size;
}

describe(`a stock file of any kind (seed ${SEED})`, () => {
  it('is refused in words, or each of its records is a row or told as refused', async () => {
    let taken = 0;
    const property = fc.asyncProperty(style, lines, async (so, given) => {
      const path = join(folder.path, 'stock.csv');
      const mapping = mappingFor(so);
      await writeFile(path, bytesOf(textOf(given, so), so));
      const out = join(folder.path, `set-${(made += 1)}`, 'stock');
      const request = { path, mapping, moment: '2026-11-23T05:00:00Z', out, duck: { memoryMb: 200, threads: 1 } };
      try {
        const { rows, duplicates } = await importSnapshot({ ...request, kind: 'stock', confirmed: true });
        const told = (await readFile(join(out, REFUSED), 'utf8')).split('\n').filter((text) => text !== '');
        const refused = new Set(told.map((text) => (JSON.parse(text) as { line: number }).line));
        expect(rows - duplicates + refused.size).toBe(await recordsOf(path, mapping));
        taken += 1;
      } catch (error) {
        if (!(error instanceof PedigreeError)) throw error;
      }
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
    expect(taken).toBeGreaterThan(RUNS / 2);
  }, 600_000);
});

const CP1251 = new Map(
  Array.from({ length: 128 }, (_, n): [string, number] => [
    new TextDecoder('windows-1251').decode(Uint8Array.of(128 + n)),
    128 + n,
  ]),
);
