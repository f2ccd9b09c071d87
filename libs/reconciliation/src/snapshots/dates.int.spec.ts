import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Duck, quoted } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { dateOf, instantOf } from './dates.js';
import { mappingOf } from './mapping.js';

const STOCK = { recent: true } as const;

let folder: TemporaryFolder;
let duck: Duck;
beforeAll(async () => {
  folder = await temporaryFolder();
  duck = await Duck.open({ memoryMb: 100, threads: 1, temporary: folder.path });
});
afterAll(async () => {
  await duck.close();
  await folder.remove();
});

const mapping = (dates?: string[]) => mappingOf({ format: 'csv', columns: { item: 'item' }, dates }, 'stock');

/** What becomes of each cell, by an expression over `cell` that is NULL for what cannot be read. */
async function read(cells: readonly string[], expression: string): Promise<Record<string, string | null>> {
  const values = cells.map((one) => `(${quoted(one)})`).join(', ');
  const rows = await duck.rows<{ cell: string; told: string | null }>(
    `SELECT cell, (${expression})::VARCHAR AS told FROM (VALUES ${values}) t(cell)`,
  );
  return Object.fromEntries(rows.map(({ cell, told }) => [cell, told]));
}
const days = (cells: readonly string[], dates?: string[], column: { recent?: true } = STOCK) =>
  read(cells, dateOf('cell', column, mapping(dates)));
const moments = (cells: readonly string[], dates?: string[], column: { recent?: true } = STOCK) =>
  read(cells, `strftime(${instantOf('cell', column, mapping(dates))} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')`);
const all = (cells: readonly string[], told: string | null) => Object.fromEntries(cells.map((one) => [one, told]));

const EVERY_FORM = ['YYYY-MM-DD', 'DD.MM.YYYY', 'DD/MM/YYYY', 'MM/DD/YYYY', 'YYYYMMDD'];

describe('a date', () => {
  it('is read in the forms of the mapping, with a time of day or without', async () => {
    const cells = ['2026-01-31', '31.01.2026', '2026-1-31', '31.1.2026', '31.01.2026 8:00:00', '2026-01-31T00:00:00Z'];
    expect(await days(cells)).toEqual(all(cells, '2026-01-31'));
    const others = ['31/01/2026', '01/31/2026', '20260131'];
    expect(await days(others, EVERY_FORM)).toEqual(all(others, '2026-01-31'));
    expect(await days(others)).toEqual(all(others, null));
  });

  it('has four digits of its year, in every form', async () => {
    const cells = ['31.01.26', '26-01-31', '31.01.202', '202-01-31', '31/01/26', '01/31/26', '31.01.26 08:00:00'];
    expect(await days(cells, EVERY_FORM)).toEqual(all(cells, null));
  });

  it('of a stock file is none before 1990, and a registry may tell one', async () => {
    const cells = { '31.12.1989': '1989-12-31', '1026-01-31': '1026-01-31', '01.01.0001': '0001-01-01' };
    expect(await days(Object.keys(cells))).toEqual(all(Object.keys(cells), null));
    expect(await days(Object.keys(cells), undefined, {})).toEqual(cells);
    expect(await days(['01.01.1990', '31.12.2999'])).toEqual({
      ...{ '01.01.1990': '1990-01-01', '31.12.2999': '2999-12-31' },
    });
  });
});

describe('a moment', () => {
  it('is read with its zone, or in that of the mapping', async () => {
    const zoned = ['2026-01-31T05:00:00Z', '2026-01-31T08:00:00+03:00', '2026-01-31 08:00:00.000+0300'];
    const local = ['2026-01-31 08:00:00', '2026-01-31T08:00:00', '2026-01-31 05:00:00+00'];
    expect(await moments([...zoned, ...local])).toEqual(all([...zoned, ...local], '2026-01-31T05:00:00Z'));
    // Whatever the forms of dates are.
    expect(await moments([...zoned, ...local], ['DD.MM.YYYY'])).toEqual(
      all([...zoned, ...local], '2026-01-31T05:00:00Z'),
    );
    const day = ['2026-01-31', '31.01.2026'];
    expect(await moments(day)).toEqual(all(day, '2026-01-30T21:00:00Z'));
  });

  it('may have its day in a form of the mapping, and needs no seconds', async () => {
    const cells = ['31.01.2026 08:00:00', '31.01.2026 8:00:00', '31.01.2026 08:00', '31.1.2026T8:00'];
    const iso = ['2026-01-31 08:00', '2026-01-31T08:00', '2026-1-31 8:00'];
    expect(await moments([...cells, ...iso])).toEqual(all([...cells, ...iso], '2026-01-31T05:00:00Z'));
    expect(await moments(iso, ['DD.MM.YYYY'])).toEqual(all(iso, '2026-01-31T05:00:00Z'));
    expect(await moments(['01/31/2026 08:00:59.5'], ['MM/DD/YYYY'])).toEqual({
      '01/31/2026 08:00:59.5': '2026-01-31T05:00:59Z',
    });
    expect(await moments(cells, ['YYYY-MM-DD'])).toEqual(all(cells, null));
    const zoned = ['2026-01-31T05:00Z', '2026-01-31T08:00+03:00', '31.01.2026 0:00-0500', '2026-1-31 5:00+00'];
    expect(await moments(zoned)).toEqual(all(zoned, '2026-01-31T05:00:00Z'));
  });

  it('is refused for an hour, a day or a text that there is not', async () => {
    const cells = ['31.01.2026 25:00', '30.02.2026 08:00', '31.01.2026 at 8', '31.01.2026 8', '2026-02-30T08:00:00Z'];
    cells.push(
      '2026-01-31T08:00+3',
      '2026-02-30T08:00Z',
      '31.01.2026 08:00+25:00',
      '31.01.2026 08:00Z+03:00',
      '2026-01-31T08:00:00+25:00',
    );
    expect(await moments(cells, EVERY_FORM)).toEqual(all(cells, null));
  });

  it('has four digits of its year, and none before 1990', async () => {
    const short = ['31.01.26', '31.01.26 08:00:00', '26-01-31 08:00:00', '26-01-31T08:00:00+03:00', '1026-01-31 08:00'];
    const old = ['0026-01-31T08:00:00+03:00', '1989-12-31 08:00:00', '31.01.0026 08:00:00', '31.01.1926'];
    expect(await moments([...short, ...old], EVERY_FORM)).toEqual(all([...short, ...old], null));
    expect(await moments(['1970-01-01T00:00:00Z'], undefined, {})).toEqual({
      '1970-01-01T00:00:00Z': '1970-01-01T00:00:00Z',
    });
  });
});
