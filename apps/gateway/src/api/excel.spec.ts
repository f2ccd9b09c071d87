import { describe, expect, it } from '@jest/globals';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { readSheet } from 'read-excel-file/node';
import { fromBuffer, type Entry, type ZipFile } from 'yauzl';
import type { Columns } from './columns.js';
import { asExcel, MOST_EXCEL_ROWS } from './excel.js';

interface Row {
  name?: string;
  count?: number;
  sure?: boolean;
}
const COLUMNS: Columns<Row> = {
  name: ({ name }) => name,
  count: ({ count }) => count,
  sure: ({ sure }) => sure,
};

const excelOf = (...pages: Row[][]): Promise<Buffer> => {
  const page = (at: number) => ({
    items: pages[at] as Row[],
    next_cursor: at + 1 < pages.length ? String(at + 1) : undefined,
  });
  return asExcel(page(0), (cursor) => Promise.resolve(page(Number(cursor))), COLUMNS);
};

/** The rows of the file as another library reads them. */
const read = async (...pages: Row[][]): Promise<unknown> => readSheet(await excelOf(...pages));

/** The texts of the file as they stand in its XML. */
async function stringsOf(file: Buffer): Promise<string> {
  const zip = await promisify<Buffer, object, ZipFile>(fromBuffer)(file, { lazyEntries: true });
  const entry = await new Promise<Entry>((resolve, reject) => {
    zip.on('entry', (one: Entry) => (one.fileName === 'xl/sharedStrings.xml' ? resolve(one) : zip.readEntry()));
    zip.on('end', () => reject(new Error('there are no texts')));
    zip.readEntry();
  });
  return text(await promisify<Entry, Readable>(zip.openReadStream.bind(zip))(entry));
}

describe('a list as an Excel file', () => {
  it('has the names of its columns, then a row a row, over all pages, numbers as numbers', async () => {
    expect(await read([{ name: 'a', count: 1, sure: true }], [], [{ name: 'b', sure: false }])).toEqual([
      ['name', 'count', 'sure'],
      ['a', 1, true],
      ['b', null, false],
    ]);
    expect(await read([])).toEqual([['name', 'count', 'sure']]);
  });

  it.each(['04600000000015', '007', '=1+1', '+7', '@x', 'a<b>&"\'', 'Приход', 'a\nb', '1E5', '2026-01-15'])(
    'keeps the text %j as it is',
    async (name) =>
      expect(await read([{ name }])).toEqual([
        ['name', 'count', 'sure'],
        [name, null, null],
      ]),
  );

  it('writes a carriage return as a sign of its own: a reader of XML would make it a line feed', async () => {
    expect(await stringsOf(await excelOf([{ name: 'a\r\nb' }]))).toContain('<t>a_x000D_\nb</t>');
    expect(await read([{ name: 'a\r\nb' }])).toEqual([
      ['name', 'count', 'sure'],
      ['a\r\nb', null, null],
    ]);
  });

  it('refuses a list that is too long, in words', async () => {
    const items = Array.from({ length: MOST_EXCEL_ROWS + 1 }, () => ({ name: 'x' }));
    await expect(excelOf(items)).rejects.toMatchObject({
      code: 'too_many_items',
      message: 'the list has more than 50000 rows, the most of an Excel file; ask for less, or take CSV',
    });
  });

  it('refuses a text that no cell can hold, rather than cut it', async () => {
    await expect(excelOf([{ name: 'x'.repeat(32_768) }])).rejects.toMatchObject({ code: 'too_many_items' });
  });

  it('writes one file at a time, lets eight wait, and refuses more', async () => {
    const asked = Array.from({ length: 10 }, () => excelOf([{ name: 'x' }]));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array<string>(9).fill('fulfilled'), 'rejected']);
    expect(outcomes[9]).toMatchObject({
      reason: { code: 'unavailable', message: '8 Excel files are waiting already' },
    });
  });

  it('does not end early when a page fails', async () => {
    const failing = asExcel({ items: [], next_cursor: '1' }, () => Promise.reject(new Error('away')), COLUMNS);
    await expect(failing).rejects.toThrow('away');
  });
});
