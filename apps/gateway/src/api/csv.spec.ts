import { describe, expect, it } from '@jest/globals';
import { columnsOf, columnsWithin, type Columns } from './columns.js';
import { asCsv } from './csv.js';

interface Row {
  name: string;
  count?: number;
}
const COLUMNS: Columns<Row> = { name: ({ name }) => name, count: ({ count }) => count };

async function csvOf(...pages: Row[][]): Promise<string> {
  const page = (at: number) => ({
    items: pages[at] as Row[],
    next_cursor: at + 1 < pages.length ? String(at + 1) : undefined,
  });
  let text = '';
  for await (const part of asCsv(page(0), (cursor) => Promise.resolve(page(Number(cursor))), COLUMNS)) text += part;
  return text;
}

describe('a list as CSV', () => {
  it('has the names of its columns, then a line a row, over all pages', async () => {
    expect(await csvOf([{ name: 'a', count: 1 }], [], [{ name: 'b' }])).toBe('name,count\r\na,1\r\nb,\r\n');
    expect(await csvOf([])).toBe('name,count\r\n');
  });

  it.each([
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', "'=1+1"],
    ['@me,', `"'@me,"`],
    ['-5', "'-5"],
    ['+1', "'+1"],
    ['\t=1', "'\t'=1"],
    ['\tx', "'\tx"],
    ['\rx', `"'\rx"`],
    [' =1', "' =1"],
    ['\n@x', `"'\n'@x"`],
    ['two\n=1', `"two\n'=1"`],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
    // Where a spreadsheet parts cells by semicolons or tabs, as a Russian one does, the rest is a cell of its own.
    ['x;=1+1', "x;'=1+1"],
    ['x; @me;\t+1', "x;' @me;'\t'+1"],
    ['x;"=1"', `"x;'""=1"""`],
    ['\uff1d1+1', "'\uff1d1+1"],
    ['x;y', 'x;y'],
    ['a=1', 'a=1'],
    ['Приход', 'Приход'],
  ])('writes %j as %j', async (name, field) => expect(await csvOf([{ name }])).toBe(`name,count\r\n${field},\r\n`));

  it('leaves numbers as they are', async () => {
    expect(await csvOf([{ name: 'x', count: -5 }])).toContain('x,-5\r\n');
  });

  it('takes columns from a row and from a part of it, and leaves empty what is not there', async () => {
    interface Told {
      id: string;
      sure?: true;
      by?: { name: string; at?: number };
    }
    const columns = {
      ...columnsOf<Told>('id', 'sure'),
      ...columnsWithin('by', ({ by }: Told) => by, columnsOf<NonNullable<Told['by']>>('name', 'at')),
    };
    const items: Told[] = [{ id: 'x', sure: true, by: { name: 'n' } }, { id: 'y' }];
    const parts: string[] = [];
    for await (const part of asCsv({ items }, () => Promise.reject(new Error('not asked')), columns)) parts.push(part);
    expect(parts.join('')).toBe('id,sure,by_name,by_at\r\nx,true,n,\r\ny,,,\r\n');
  });

  it('throws rather than end early', async () => {
    const pages = asCsv(
      { items: [], next_cursor: '1' },
      () => Promise.reject(new Error('the database is away')),
      COLUMNS,
    );
    await expect(
      (async () => {
        for await (const _ of pages);
      })(),
    ).rejects.toThrow('the database is away');
  });
});
