import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { zipOf } from '../../test/made-zip.js';
import { importSnapshot } from './import.js';
import { REFUSED, type SnapshotManifest } from './manifest.js';
import { mappingOf } from './mapping.js';

/** Names of ECMA-376, and no addresses. */
const NAMES = ['http:', '', 'schemas.openxmlformats.org'].join('/');
const MAIN = `${NAMES}/spreadsheetml/2006/main`;
const RELATIONS = `${NAMES}/officeDocument/2006/relationships`;
const sgtin = (n: number): string => `04601234567893${String(n).padStart(13, '0')}`;

let folder: TemporaryFolder;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

const text = (at: string, value: string): string => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
const rows = (...all: string[][]): string =>
  all.map((cells, n) => `<row r="${n + 1}">${cells.join('')}</row>`).join('');
const HEADER = [text('A1', 'KM'), text('B1', 'Branch'), text('C1', 'Until')];
const plain = (n: number, serial: number): string[] => [text(`A${n}`, sgtin(serial)), text(`B${n}`, 'P1')];

/** A workbook of sheets by their names; the number format of style 1 is a date. */
async function workbook(sheets: Record<string, string>): Promise<string> {
  const entries = Object.entries(sheets);
  const names = entries.map(([name], n) => `<sheet name="${name}" sheetId="${n + 1}" r:id="rId${n + 1}"/>`);
  const related = entries.map(
    (_, n) => `<Relationship Id="rId${n + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${n + 1}.xml"/>`,
  );
  const styles = `<Relationship Id="rIdS" Type="${RELATIONS}/styles" Target="styles.xml"/>`;
  const parts = {
    '[Content_Types].xml': `<Types xmlns="${NAMES}/package/2006/content-types"/>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${names.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${related.join('')}${styles}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>`,
    ...Object.fromEntries(entries.map(([, data], n) => [`xl/worksheets/sheet${n + 1}.xml`, data])),
  };
  const named = Object.entries(parts).map(([name, content]) => ({ name, content: Buffer.from(content) }));
  const zip = zipOf(named.map((one) => ({ ...one, isToldTwice: true })));
  await writeFile(join(folder.path, 'stock.xlsx'), zip);
  return join(folder.path, 'stock.xlsx');
}

const sheetOf = (data: string, merged: string[] = []): string =>
  `<worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData>${
    merged.length === 0 ? '' : `<mergeCells>${merged.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`
  }</worksheet>`;

const IS_EMPTY = 'place: is empty, and other rows name theirs';

async function imported(
  path: string,
  more: { sheet?: string; empty?: string[]; format?: 'excel' | 'csv' } = {},
): Promise<{ made: SnapshotManifest; refused: string[] }> {
  const columns = { item: 'KM', place: 'Branch', expiry: 'Until' };
  const out = join(folder.path, 'set', 'stock');
  const made = await importSnapshot({
    ...{ kind: 'stock', path, out, moment: '2026-11-23T08:00:00+03:00', duck: { memoryMb: 200, threads: 1 } },
    mapping: mappingOf({ format: 'excel', columns, ...more }, 'stock'),
  });
  const lines = (await readFile(join(out, REFUSED), 'utf8')).split('\n').filter((line) => line !== '');
  const told = lines.map((line) => JSON.parse(line) as { line: number; reason: string });
  return { made, refused: told.map(({ line, reason }) => `${line} ${reason}`) };
}

describe('a sheet', () => {
  it('does not have cells empty that show an error, or have a formula without its result', async () => {
    const data = rows(
      HEADER,
      plain(2, 1),
      ['<c r="A3" t="e"><f>VLOOKUP(1,X1:X2,1)</f><v>#N/A</v></c>'],
      [text('A4', sgtin(2)), '<c r="B4" t="e"><v>#REF!</v></c>'],
      [text('A5', sgtin(3)), '<c r="B5"><f>CONCATENATE("P",1)</f><v></v></c>'],
      [...plain(6, 4), '<c r="C6" t="e"><v>#DIV/0!</v></c>'],
      [...plain(7, 5), '<c r="C7" s="1"><f>TODAY()</f></c>'],
      [text('A8', sgtin(6)), '<c r="B8" t="str"><f>D8</f><v>P1</v></c>', '<c r="C8" t="str"><f>E8</f><v></v></c>'],
      ['<c r="A9" t="str"><f>D9</f></c>'],
    );
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data) }));
    expect([made.rows, made.places]).toEqual([2, ['P1']]);
    expect(refused).toEqual([
      expect.stringMatching(/^3 item: "#N\/A" /),
      expect.stringMatching(/^4 place: "#REF!" is what a spreadsheet shows where it has no value/),
      expect.stringMatching(/^5 place: "#FORMULA!" is what a spreadsheet shows/),
      expect.stringMatching(/^6 expiry: "#DIV\/0!" is not a date/),
      expect.stringMatching(/^7 expiry: "#FORMULA!" is not a date/),
      expect.stringMatching(/^9 item: "#FORMULA!" /),
    ]);
  });

  it('does not have cells empty that are merged into one with a value', async () => {
    const data = rows(HEADER, plain(2, 1), [text('A3', sgtin(2))], plain(4, 3), [], [text('A6', sgtin(4))]);
    const merged = ['B2:B3', 'A5:C5', 'Z4:AB4'];
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data, merged) }));
    // Nothing stands in row 5, and what row 6 lacks is merged with nothing.
    expect([made.rows, refused]).toEqual([2, [expect.stringMatching(/^3 place: "#MERGED!" /), `6 ${IS_EMPTY}`]]);
  });

  it('does not have cells empty that a formula of many cells was saved without', async () => {
    const formula = (range: string, result = ''): string => `<f t="array" ref="${range}">E2:E9</f>${result}`;
    const data = rows(
      HEADER,
      [text('A2', sgtin(1)), `<c r="B2">${formula('B2:C3')}</c>`],
      [text('A3', sgtin(2))],
      [text('A4', sgtin(3)), `<c r="B4" t="str">${formula('B4:B5', '<v>P1</v>')}</c>`],
      [text('A5', sgtin(4)), '<c r="B5" t="str"><v></v></c>'],
    );
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data) }));
    expect([made.rows, refused]).toEqual([
      1,
      [
        ...[expect.stringMatching(/^2 place: "#FORMULA!" /), expect.stringMatching(/^3 place: "#FORMULA!" /)],
        `5 ${IS_EMPTY}`,
      ],
    ]);
  });

  it('has the result of a formula, also as an inline text or an empty one; CDATA nobody reads', async () => {
    const inline = 't="inlineStr"><f>E2</f><is><t>P1</t></is>';
    const cells = [inline, '><f>E3</f><v><![CDATA[7]]></v>', 't="str"><f>E4</f><v/>'];
    const data = rows(HEADER, ...cells.map((cell, n) => [text(`A${n + 2}`, sgtin(n)), `<c r="B${n + 2}" ${cell}</c>`]));
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data) }));
    expect([made.rows, refused]).toEqual([1, [expect.stringMatching(/^3 place: "#FORMULA!" /), `4 ${IS_EMPTY}`]]);
  });

  it('has no row where only a column that nobody reads shows errors, or is merged', async () => {
    const note = (n: number): string => `<c r="D${n}" t="e"><v>#N/A</v></c>`;
    const data = rows([...HEADER, text('D1', 'Note')], [...plain(2, 1), note(2)], [note(3)], plain(4, 2), [note(5)]);
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data, ['D2:D3', 'D5:D9']) }));
    expect([made.rows, refused]).toEqual([2, []]);
  });

  it('is the one that is named, whatever stands in others', async () => {
    const broken = sheetOf(rows(HEADER, [text('A2', sgtin(1)), '<c r="B2" t="e"><v>#NAME?</v></c>'], plain(3, 9)));
    const path = await workbook({ 'Wrong one': broken, 'A &amp; B': sheetOf(rows(HEADER, plain(2, 1))) });
    expect((await imported(path, { sheet: 'A & B' })).refused).toEqual([]);
    await folder.remove();
    folder = await temporaryFolder();
    const first = await workbook({ 'Wrong one': broken, 'A &amp; B': sheetOf(rows(HEADER, plain(2, 1))) });
    expect((await imported(first)).refused).toEqual([expect.stringMatching(/^2 place: "#NAME\?" /)]);
  });

  it('may have such cells where they mean nothing', async () => {
    const data = rows(HEADER, [...plain(2, 1), '<c r="C2" t="e"><v>#N/A</v></c>']);
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data) }), { empty: ['#N/A'] });
    expect([made.rows, refused]).toEqual([1, []]);
  });

  it('whose date is none refuses its row', async () => {
    const data = rows(HEADER, [...plain(2, 1), '<c r="C2" s="1"><v>99999999999</v></c>'], plain(3, 2));
    const { made, refused } = await imported(await workbook({ Stock: sheetOf(data) }));
    expect([made.rows, refused]).toEqual([1, [expect.stringMatching(/^2 expiry: "#NUM!" is not a date/)]]);
  });
});

it('text that a spreadsheet wrote has its errors too, in the language of the office', async () => {
  const path = join(folder.path, 'stock.csv');
  const places = ['#N/A', '#Н/Д', '#ССЫЛКА!', '#ИМЯ?', '#ДЕЛ/0!', 'Shop #1', '#7', '#7!'];
  await writeFile(path, `KM,Branch,Until\n${places.map((place, n) => `${sgtin(n)},${place},\n`).join('')}`);
  const { made, refused } = await imported(path, { format: 'csv' });
  expect([made.places, refused.length]).toEqual([['#7', '#7!', 'Shop #1'], 5]);
});
