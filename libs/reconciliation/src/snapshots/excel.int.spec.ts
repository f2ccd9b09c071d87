import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { Duck, parquet } from '#duckdb';
import writeExcelFile from 'write-excel-file/node';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { sheetAsNdjson } from './excel.js';
import { importSnapshot } from './import.js';
import { inspectFile } from './inspect.js';
import { bucketFile, REFUSED } from './manifest.js';
import { mappingOf } from './mapping.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const DUCK = { memoryMb: 200, threads: 1 };
const MAPPING = mappingOf({ format: 'excel', columns: { item: 'KM' } }, 'stock');
const ROWS = [
  ['KM', 'Branch', 'Exp', 'Series'],
  [sgtin(1), '00000000100101', new Date('2027-01-31'), 'S1'],
  [null, null, null, null],
  [460123456789700001, '00000000100101', null, 'S1'],
  [sgtin(2), '00000000100101', '28.02.2027', 77],
];

let folder: TemporaryFolder;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

async function sheet(rows: (string | number | Date | null)[][] = ROWS): Promise<string> {
  const path = join(folder.path, 'stock.xlsx');
  await writeFile(path, await writeExcelFile(rows, { dateFormat: 'dd.mm.yyyy' }).toBuffer());
  return path;
}

const imported = (path: string, columns: Record<string, string>) =>
  importSnapshot({
    ...{ kind: 'stock', path, moment: '2026-11-23T08:00:00+03:00', out: join(folder.path, 'set', 'stock'), duck: DUCK },
    mapping: mappingOf({ format: 'excel', columns, dates: ['DD.MM.YYYY'] }, 'stock'),
  });

describe('an Excel file', () => {
  it('is read row by row; a code that became a number is refused with its row', async () => {
    const path = await sheet();
    const made = await imported(path, { item: 'KM', place: 'Branch', expiry: 'Exp', series: 'Series' });
    expect([made.rows, made.refused, made.source.name]).toEqual([2, 1, 'stock.xlsx']);
    const duck = await Duck.open({ ...DUCK, temporary: folder.path });
    const files = [...Array(16).keys()].map((n) => join(folder.path, 'set', 'stock', bucketFile(n)));
    const rows = await duck.rows(
      `SELECT item, place, expiry::VARCHAR AS expiry, series FROM ${parquet(files)} ORDER BY 1`,
    );
    await duck.close();
    expect(rows).toEqual([
      { item: sgtin(1), place: '00000000100101', expiry: '2027-01-31', series: 'S1' },
      { item: sgtin(2), place: '00000000100101', expiry: '2027-02-28', series: '77' },
    ]);
    expect(await readFile(join(folder.path, 'set', 'stock', REFUSED), 'utf8')).toMatch(/"line":4,.*digits may be lost/);
  });

  it('gets a mapping proposed by its columns', async () => {
    const seen = await inspectFile(await sheet(), 'stock', { ...DUCK, temporary: folder.path });
    expect(seen.mapping).toMatchObject({ format: 'excel', columns: { item: 'KM', place: 'Branch', series: 'Series' } });
  });

  it('is refused in words: a column that is not there, one that is there twice, no Excel at all', async () => {
    await expect(imported(await sheet(), { item: 'Code' })).rejects.toThrow('the sheet has no column "Code" for item');
    const twice = await sheet([
      ['KM', 'KM'],
      [sgtin(1), sgtin(2)],
    ]);
    await expect(imported(twice, { item: 'KM' })).rejects.toThrow('several columns "KM"');
    const path = join(folder.path, 'broken.xlsx');
    await writeFile(path, 'PK\u0003\u0004 nonsense');
    await expect(imported(path, { item: 'KM' })).rejects.toThrow('is no Excel file that can be read');
  });

  it('ends in words where its rows cannot be written, and where its zip is cut anywhere or has a byte changed', async () => {
    const path = await sheet();
    const out = join(folder.path, 'rows.ndjson');
    await expect(sheetAsNdjson(path, { out: join(folder.path, 'none', 'rows'), mapping: MAPPING })).rejects.toThrow(
      'ENOENT',
    );
    // A disk that is full.
    await expect(sheetAsNdjson(path, { out: '/dev/full', mapping: MAPPING })).rejects.toThrow('ENOSPC');
    const bytes = await readFile(path);
    for (let at = 10; at < bytes.length; at += Math.ceil(bytes.length / 8)) {
      await writeFile(path, bytes.subarray(0, at));
      await expect(sheetAsNdjson(path, { out, mapping: MAPPING })).rejects.toThrow('no Excel file that can be read');
      await writeFile(path, bytes.with(at, (bytes[at] as number) ^ 0x55));
      const told = sheetAsNdjson(path, { out, mapping: MAPPING });
      await told.catch((error: Error) => expect(error.message).toContain(path));
    }
  });
});
