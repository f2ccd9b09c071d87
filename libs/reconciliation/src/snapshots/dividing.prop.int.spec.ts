import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { importSnapshot } from './import.js';
import { REFUSED } from './manifest.js';
import { mappingOf, type Mapping } from './mapping.js';
import { TextSource, type Dividing } from './source.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const RUNS = Number(process.env['PEDIGREE_RUNS'] ?? 30);
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
  chunkBytes: number;
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
  chunkBytes: fc.constantFrom(70, 700, 5_000, 24 << 20),
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

/** All that an import tells: manifest without the moment of the import, refused lines; or its error. */
async function told(path: string, mapping: Mapping, dividing: Partial<Dividing>): Promise<unknown> {
  const out = join(folder.path, `set-${(made += 1)}`, 'stock');
  const moment = '2026-11-23T05:00:00Z';
  const duck = { memoryMb: 200, threads: 2 };
  try {
    const {
      importedAt: _,
      files: __,
      ...manifest
    } = await importSnapshot({
      ...{ kind: 'stock', path, mapping, moment, out, duck, confirmed: true, dividing },
    });
    return { manifest, refused: await readFile(join(out, REFUSED), 'utf8') };
  } catch (error) {
    // DuckDB names its file, and where it loses its way we count the records of the chunk.
    return (error as Error).message.replace(/file = .*|of \d+ records.*/, '');
  }
}

async function plainChunks(path: string, mapping: Mapping, dividing: Dividing): Promise<number> {
  const work = join(folder.path, `work-${made}`);
  await mkdir(work, { recursive: true });
  const source = new TextSource({ path, mapping, folder: work, refuse: () => undefined }, dividing);
  let plain = 0;
  for await (const chunk of source.chunks()) plain += chunk.plain === undefined ? 0 : 1;
  return plain;
}

describe(`a stock file of which plain lines are not cut (seed ${SEED})`, () => {
  it('tells the same as one of which every line is cut: rows, refused lines, digest, or error', async () => {
    let plain = 0;
    const property = fc.asyncProperty(style, lines, async (so, given) => {
      const path = join(folder.path, 'stock.csv');
      const mapping = mappingFor(so);
      await writeFile(path, bytesOf(textOf(given, so), so));
      const divided = { chunkBytes: so.chunkBytes, alwaysCut: false };
      const cut = await told(path, mapping, { ...divided, alwaysCut: true });
      expect(await told(path, mapping, divided)).toEqual(cut);
      plain += await plainChunks(path, mapping, divided);
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
    expect(plain).toBeGreaterThan(RUNS);
  }, 300_000);

  it('has the numbers of its lines also where several threads read a block', async () => {
    // DuckDB gives a thread 8 MB at once.
    const rows = 400_000;
    const path = join(folder.path, 'long.csv');
    const isWrong = (n: number): boolean => n % 997 === 0;
    const all = Array.from({ length: rows }, (_, n) => `${isWrong(n) ? `wrong${n}` : sgtin(n)};P1;S1;\n`);
    await writeFile(path, `KM;Branch;Series;Exp\n${all.join('')}`);
    const mapping = mappingFor({ delimiter: ';', quote: '"', header: true, encoding: 'utf-8' });
    const read = (await told(path, mapping, {})) as { refused: string };
    const reasons = read.refused.split('\n').filter((text) => text !== '');
    const lines = reasons.map((text) => JSON.parse(text) as { line: number; reason: string });
    expect(lines.length).toBe(Math.ceil(rows / 997));
    for (const { line: at, reason } of lines) expect(reason).toContain(`"wrong${at - 2}"`);
  });
});

const CP1251 = new Map(
  Array.from({ length: 128 }, (_, n): [string, number] => [
    new TextDecoder('windows-1251').decode(Uint8Array.of(128 + n)),
    128 + n,
  ]),
);
