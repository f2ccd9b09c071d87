import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hasValidCheckDigit, readItemCode } from '#kernel';
import { Duck, quoted } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { ITEM, readCodes, wrongCheckDigit } from './codes.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const RUNS = 3_000;

let folder: TemporaryFolder;
let duck: Duck;
beforeAll(async () => {
  folder = await temporaryFolder();
  duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: folder.path });
});
afterAll(async () => {
  await duck.close();
  await folder.remove();
});

it('a full disk fails whoever has codes read, and not the process', async () => {
  await duck.run(
    `CREATE OR REPLACE TABLE unread AS SELECT n AS number, n AS line, 'X' AS item FROM range(1, 50000) r(n)`,
  );
  await expect(readCodes(duck, '/dev/full')).rejects.toMatchObject({ code: 'ENOSPC' });
});

const digits = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length });
const serial = fc.string({ unit: fc.constantFrom(...'01aZ9'), minLength: 12, maxLength: 14 });
const part = fc.constantFrom(
  '\u001d',
  '\u001d\u001d',
  '91EE05',
  '92ab/+==',
  '92',
  '10LOT',
  '17261231',
  '<GS>',
  ' ',
  '21',
  'ж',
  '',
);
const code = fc
  .tuple(
    fc.constantFrom('', '01', ']d2\u001d01', '\u00e801', '(01)', '00'),
    digits(14),
    fc.constantFrom('21', '', '(21)'),
    serial,
    fc.array(part, { maxLength: 5 }),
  )
  .map(([begin, gtin, ai, rest, tail]) => [begin, gtin, ai, rest, ...tail].join(''));

describe(`codes that DuckDB reads by itself (seed ${SEED})`, () => {
  it('are read as the kernel reads them', async () => {
    const given = fc.sample(fc.oneof(code, digits(18), digits(27)), { seed: SEED, numRuns: RUNS });
    const rows = await duck.rows<{ item: string; id: string | null }>(
      `SELECT item, ${ITEM} AS id FROM (VALUES ${given.map((one) => `(${quoted(one)})`).join(', ')}) t(item)`,
    );
    const read = rows.filter(({ id }) => id !== null);
    expect(read.length).toBeGreaterThan(50);
    for (const { item, id } of read) expect(readItemCode(item)).toMatchObject({ id });
  });

  it.each([14, 18])('have the check digit of the kernel (%d digits)', async (length) => {
    const given = fc.sample(digits(length), { seed: SEED, numRuns: 500 });
    const rows = await duck.rows<{ digits: string; wrong: boolean }>(
      `SELECT digits, ${wrongCheckDigit('digits', length)} AS wrong
       FROM (VALUES ${given.map((one) => `(${quoted(one)})`).join(', ')}) t(digits)`,
    );
    for (const { digits: one, wrong } of rows) expect({ one, wrong }).toEqual({ one, wrong: !hasValidCheckDigit(one) });
  });
});
