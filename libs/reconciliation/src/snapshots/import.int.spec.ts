import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, checkDigitOf, sha256Hex } from '#kernel';
import { Duck, parquet } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { importSnapshot, type SnapshotRequest } from './import.js';
import { columnsOf } from './kinds.js';
import { fileColumns } from './buckets.js';
import { bucketFile, REFUSED, REFUSED_ITEMS, readSnapshot, type SnapshotManifest } from './manifest.js';
import { mappingOf } from './mapping.js';

const MOMENT = '2026-11-23T08:00:00+03:00';
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const COLUMNS = { item: 'KM', place: 'Branch', series: 'Series', expiry: 'Exp', state: 'State' };
const HEAD = 'KM;Branch;Series;Exp;State\n';
const row = (n: number, rest = 'P1;S1;31.12.2027;sellable'): string => `${sgtin(n)};${rest}\n`;

let folder: TemporaryFolder;
let made = 0;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

type Given = Partial<SnapshotRequest> & { map?: object };

async function imported(
  bytes: string | Buffer,
  { map, ...rest }: Given = {},
): Promise<SnapshotManifest & { out: string }> {
  const path = join(folder.path, `file-${(made += 1)}`);
  await writeFile(path, bytes);
  const out = join(folder.path, `set-${made}`, 'stock');
  const manifest = await importSnapshot({
    ...{ kind: 'stock', path, moment: MOMENT, out, duck: { memoryMb: 200, threads: 2 } },
    mapping: mappingOf({ format: 'csv', delimiter: ';', columns: COLUMNS, ...map }, rest.kind ?? 'stock'),
    ...rest,
  });
  return { ...manifest, out };
}

async function query<Row>(sql: string): Promise<Row[]> {
  const duck = await Duck.open({ memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') });
  try {
    return await duck.rows<Row>(sql);
  } finally {
    await duck.close();
  }
}
const all = (out: string): string[] => [...Array(16).keys()].map((n) => join(out, bucketFile(n)));
const rowsOf = <Row>(out: string): Promise<Row[]> =>
  query(`SELECT * EXCLUDE (run) REPLACE (expiry::VARCHAR AS expiry) FROM ${parquet(all(out))} ORDER BY item`);
const refusedOf = async (out: string): Promise<{ line: number; reason: string }[]> =>
  (await readFile(join(out, REFUSED), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { line: number; reason: string });

/** What these files do not tell. */
const UNTOLD = { funding: null, part: null, owner: null };

describe('a stock file', () => {
  it('becomes rows with typed values, in buckets by the MD5 of the item', async () => {
    const { out, rows, refused, places } = await imported(HEAD + row(1) + row(2, 'P2;;;'));
    expect({ rows, refused, places }).toEqual({ rows: 2, refused: 0, places: ['P1', 'P2'] });
    const moment = BigInt(Date.parse(MOMENT));
    expect(await rowsOf(out)).toEqual([
      {
        item: sgtin(1),
        place: 'P1',
        series: 'S1',
        expiry: '2027-12-31',
        state: 'sellable',
        ...UNTOLD,
        moment,
        copies: 1,
      },
      { item: sgtin(2), place: 'P2', series: null, expiry: null, state: 'sellable', ...UNTOLD, moment, copies: 1 },
    ]);
  });

  it('has blanks around a value cut, wherever they are, and keeps those within', async () => {
    const blanks = ['P 1 ;S1', ' P 1;S1', '\u00a0P 1;\u00a0S1', 'P 1\u00a0;S1\t', 'P 1; S1 ', 'P 1;\tS1', 'P 1; null '];
    const { out } = await imported(HEAD + blanks.map((rest, n) => row(n, `${rest};;`)).join(''));
    const told = await rowsOf<Record<'item' | 'place' | 'series', string | null>>(out);
    const byItem = told.sort((a, b) => String(a.item).localeCompare(String(b.item)));
    expect(byItem.map(({ place, series }) => [place, series])).toEqual(
      blanks.map((_, n) => ['P 1', n === blanks.length - 1 ? null : 'S1']),
    );
  });

  it('has blanks around an item cut, and an item that means nothing left out', async () => {
    const items = [`\u00a0${sgtin(1)}`, `${sgtin(2)} `, sgtin(3), ` ${sgtin(3)}`, 'null', sgtin(4)];
    const { out, rows } = await imported(HEAD + items.map((item) => `${item};P1;;;\n`).join(''), {
      map: { empty: ['null', sgtin(3)] },
    });
    expect({ rows, told: await refusedOf(out) }).toEqual({
      ...{ rows: 3, told: [4, 5, 6].map((line) => ({ line, reason: 'item: is empty' })) },
    });
    expect((await rowsOf<{ item: string }>(out)).map(({ item }) => item)).toEqual([1, 2, 4].map(sgtin));
  });

  it('may tell money, owner and what is left of a pack, in lowest terms', async () => {
    const parts = ['7/10', '50/100', '1', '0', '', '12/10', '1/0', '0,7', '1234567/2', '0000012345/0000054321'];
    const text = `KM;Left;Money;Owner\n${parts.map((part, n) => `${sgtin(n)};${part};2;7701234567\n`).join('')}`;
    const columns = { item: 'KM', part: 'Left', funding: 'Money', owner: 'Owner' };
    const { out, refused } = await imported(text, { map: { columns, words: {} } });
    const rows = await rowsOf<Record<'part' | 'funding' | 'owner', string>>(out);
    expect(rows.map(({ part, funding, owner }) => [part, funding, owner])).toEqual(
      ['7/10', '1/2', '1/1', '0/1', null].map((part) => [part, '2', '7701234567']),
    );
    expect(refused).toBe(5);
    expect((await refusedOf(out)).map(({ reason }) => reason)).toEqual(
      parts.slice(5).map((part) => `part: "${part}" is not a part of a pack like 7/10 or 1`),
    );
    await expect(
      imported(`KM;Money\n${sgtin(1)};9\n${sgtin(2)};1\n`, {
        map: { columns: { item: 'KM', funding: 'Money' }, words: {} },
      }),
    ).resolves.toMatchObject({ rows: 1, refused: 1 });
  });

  it('has the digest of its canonical rows, whatever the order of the file', async () => {
    const lines = Array.from({ length: 200 }, (_, n) => row(n, `P "${n % 3}" \\ж;S1;2027-01-${10 + (n % 9)};reserved`));
    const map = { quote: '' };
    const one = await imported(HEAD + lines.join(''), { map });
    const other = await imported(HEAD + lines.reverse().join(''), { map });
    expect(other.digest).toBe(one.digest);
    expect(one.buckets.filter(({ rows }) => rows > 0).length).toBe(16);
    for (const [bucket, { file, sha256 }] of one.buckets.entries()) {
      const stored = await query<Record<string, unknown>>(
        `SELECT * REPLACE (expiry::VARCHAR AS expiry, moment::DOUBLE AS moment) FROM ${parquet([join(one.out, file)])}`,
      );
      const names = fileColumns(columnsOf('stock'));
      const lines = stored.map((values) => `${canonicalJson(names.map((name) => values[name]))}\n`);
      expect({ bucket, sha256 }).toEqual({ bucket, sha256: sha256Hex(lines.join('')) });
    }
  });

  it('has another digest when a value, the moment or the branch is another', async () => {
    const text = HEAD + row(1, ';S1;;');
    const digests = [
      await imported(text),
      await imported(HEAD + row(1, ';S2;;')),
      await imported(text, { moment: '2026-11-23T08:00:01+03:00' }),
      await imported(text, { branch: 'P1' }),
    ].map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(4);
  });

  it('is read in the encodings that programs write', async () => {
    const text = HEAD + row(1, 'Аптека №5;АБ-1;31.12.2027;Карантин');
    const words = { state: { Карантин: 'quarantine' } };
    const utf8 = await imported(text, { map: { words } });
    const cp1251 = Buffer.from([...text].map((one) => CP1251.get(one) ?? one.charCodeAt(0)));
    const others = [
      await imported(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]), { map: { words } }),
      await imported(Buffer.from(`\ufeff${text}`, 'utf16le'), { map: { words, encoding: 'utf-16le' } }),
      await imported(Buffer.from(text, 'utf16le').swap16(), { map: { words, encoding: 'utf-16be' } }),
      await imported(cp1251, { map: { words, encoding: 'windows-1251' } }),
      await imported(text.replaceAll('\n', '\r\n'), { map: { words } }),
    ];
    expect((await rowsOf<{ place: string; state: string }>(utf8.out))[0]).toMatchObject({
      place: 'Аптека №5',
      state: 'quarantine',
    });
    expect(others.map(({ digest }) => digest)).toEqual(others.map(() => utf8.digest));
  });

  it('lists each row that it refuses, with line and reason, and takes the others', async () => {
    const bad: [string, RegExp][] = [
      ['4.60123E+26;P1;S1;;\n', /^item: "4.60123E\+26" is a number that a spreadsheet has written/],
      ['460123456789012345,0;P1;S1;;\n', /is a number that a spreadsheet has written/],
      ['0460123;P1;S1;;\n', /^item: "0460123" is no SGTIN/],
      [';P1;S1;;\n', /^item: is empty/],
      [`${sgtin(3)};P1\n`, /too few cells/],
      [`${sgtin(3)};P1;S1;;;more\n`, /too many cells/],
      [row(3, 'P1;S1;2027-13-45;'), /^expiry: "2027-13-45" is not a date/],
      [row(3, 'P1;S1;2027-12-31junk;'), /^expiry: /],
      [row(3, 'P1;S1;;lost'), /^state: "lost" is not a word/],
      [row(3, `${'x'.repeat(101)};S1;;`), /^place: .* longer than 100/],
      [row(3, '"P1"x;S1;;'), /follows a closing quote/],
      [row(3, '"P1;S1;;'), /a quote opens in this line and does not close/],
      [`${'y'.repeat(70_000)}\n`, /longer than 65536 bytes/],
    ];
    const text = HEAD + bad.map(([line], n) => row(100 + n) + line).join('') + row(200);
    const { out, rows, refused } = await imported(text);
    expect({ rows, refused }).toEqual({ rows: bad.length + 1, refused: bad.length });
    const told = await refusedOf(out);
    expect(told.map(({ line }) => line)).toEqual(bad.map((_, n) => 3 + 2 * n));
    told.forEach(({ reason }, n) => expect(reason).toMatch(bad[n]?.[1] as RegExp));
  });

  it.each(['stock', 'disposals'] as const)(
    'of %s has dates and moments of these years, as they are written',
    async (kind) => {
      const dated = kind === 'stock' ? { expiry: 'Exp' } : {};
      const map = { columns: { item: 'KM', moment: 'At', ...dated } };
      const rows = [
        '31.12.2027;22.11.2026 8:00',
        ';22.11.26 08:00',
        ';1926-11-22T08:00:00Z',
        '31.12.27;',
        '31.12.1927;',
      ];
      const { out } = await imported(`KM;Exp;At\n${rows.map((rest, n) => `${sgtin(n)};${rest}\n`).join('')}`, {
        kind,
        map,
      });
      const told = (await refusedOf(out)).map(({ line, reason }) => `${line} ${reason}`);
      const like = 'is not a moment like 2026-01-31T08:00:00+03:00, from 1990 on';
      expect(told.slice(0, 2)).toEqual([
        `3 moment: "22.11.26 08:00" ${like}`,
        `4 moment: "1926-11-22T08:00:00Z" ${like}`,
      ]);
      expect(told.slice(2)).toEqual(
        (kind === 'stock' ? ['5 expiry: "31.12.27"', '6 expiry: "31.12.1927"'] : []).map(
          (cell) => `${cell} is not a date like YYYY-MM-DD or DD.MM.YYYY, from 1990 on`,
        ),
      );
      const [{ moment }] = (await query<{ moment: bigint }>(
        `SELECT moment FROM ${parquet(all(out))} WHERE item = '${sgtin(0)}'`,
      )) as [{ moment: bigint }];
      expect(moment).toBe(BigInt(Date.parse('2026-11-22T08:00:00+03:00')));
    },
  );

  it('loses no row to quotes that never close, however many there are', async () => {
    const opens = (n: number): string => `"${row(n)}`;
    const text = HEAD + Array.from({ length: 2_000 }, (_, n) => row(2 * n) + opens(2 * n + 1)).join('');
    const { out, rows, refused } = await imported(text);
    expect({ rows, refused }).toEqual({ rows: 2_000, refused: 2_000 });
    expect((await refusedOf(out)).map(({ line }) => line)).toEqual(Array.from({ length: 2_000 }, (_, n) => 3 + 2 * n));
    // A mark before the first column is no quote, and no part of its name.
    const marked = await imported(`\uFEFF${HEAD}"${sgtin(1)};P1;S1;;\n${row(2)}`);
    expect([marked.rows, (await refusedOf(marked.out)).map(({ line }) => line)]).toEqual([1, [2]]);
  }, 60_000);

  it('refuses bytes that are not of its encoding, by row', async () => {
    const { out, rows } = await imported(
      Buffer.concat([Buffer.from(HEAD + row(1)), Buffer.from(row(2, '\xcf;;;'), 'latin1')]),
    );
    expect({ rows, told: await refusedOf(out) }).toMatchObject({
      rows: 1,
      told: [{ line: 3, reason: expect.stringMatching(/encoding/) }],
    });
  });

  it('refuses a line that a carriage return breaks, and takes the others', async () => {
    const { out, rows } = await imported(HEAD + row(1) + row(2, 'P\r1;S1;2027-12-31;sellable') + row(3));
    expect({ rows, told: await refusedOf(out) }).toEqual({
      rows: 2,
      told: [{ line: 3, reason: 'a carriage return stands within the line' }],
    });
  });

  it('takes cells over several lines, and counts their lines', async () => {
    const { out, rows } = await imported(`${HEAD}"${sgtin(1)}";"P\n\n1";"S;1";;\n\nwrong;;;;\n`, {
      map: { columns: { item: 'KM' } },
    });
    expect({ rows, lines: (await refusedOf(out)).map(({ line }) => line) }).toEqual({ rows: 1, lines: [6] });
  });

  it('names the line where a refused row of several lines begins, whatever refuses it', async () => {
    const noCode = `"wr\nong";P1;S1;;sellable\n`;
    const twoCells = `"${sgtin(2)}";"P\n1"\n`;
    const lineEndInText = `"${sgtin(3)}";P1;"S\n\n1";;sellable\n`;
    const { out, rows } = await imported(HEAD + noCode + row(1) + twoCells + lineEndInText + row(4, ';;30 May;'));
    const told = (await refusedOf(out)).map(({ line, reason }) => `${line} ${/^\w+/.exec(reason)?.[0]}`);
    expect({ rows, told }).toEqual({ rows: 1, told: ['2 item', '5 the', '7 series', '10 expiry'] });
  });

  it.each(['\n', '\r\n'])('is read the same with a quote and without, and lines are told alike (%j)', async (end) => {
    const plain = [row(1), row(2, 'P1;S1;30 May;'), 'no code;P1;S1;;\n', row(3), row(1), row(4, 'P 2;;;sellable')];
    const broken = [...plain.slice(0, 3), `${sgtin(5)};P1\n`, ...plain.slice(3)];
    for (const lines of [plain, broken]) {
      const text = (HEAD + lines.join('')).replaceAll('\n', end);
      const [one, other] = [await imported(text), await imported(text.replace('P 2', '"P 2"'))];
      expect(other.digest).toBe(one.digest);
      const told = await refusedOf(one.out);
      expect(told.map(({ line }) => line)).toEqual(lines === plain ? [2, 3, 4, 6] : [2, 3, 4, 5, 7]);
      expect(await refusedOf(other.out)).toEqual(told);
    }
  });

  it('names the items of refused rows, as far as they can be read', async () => {
    const { out } = await imported(HEAD + row(1) + row(2, ';;30 May;') + 'no code;P1;S1;;sellable\n');
    expect(await query(`SELECT item FROM ${parquet([join(out, REFUSED_ITEMS)])}`)).toEqual([{ item: sgtin(2) }]);
    expect(existsSync(join((await imported(HEAD + row(1))).out, REFUSED_ITEMS))).toBe(false);
  });

  it('tells every line of an item that stands there twice, and keeps what all agree on', async () => {
    const text = HEAD + row(1) + row(2, 'P1;S1;;sellable') + row(3) + row(2, 'P2;S1;;sellable');
    const { out, rows, duplicates, refused, places } = await imported(text);
    expect({ rows, duplicates, refused, places }).toEqual({
      ...{ rows: 3, duplicates: 1, refused: 0, places: ['P1', 'P2'] },
    });
    expect(await refusedOf(out)).toEqual([
      { line: 3, reason: `item: "${sgtin(2)}" is named by 2 rows, first in lines 3, 5` },
      { line: 5, reason: `item: "${sgtin(2)}" is named by 2 rows, first in lines 3, 5` },
    ]);
    const [, twin] = await rowsOf<object>(out);
    expect(twin).toMatchObject({ item: sgtin(2), place: null, series: 'S1', copies: 2 });
  });

  it('reads scans and containers, and counts wrong check digits without refusing', async () => {
    const wrong = `0460123456789${(Number(GTIN.at(-1)) + 1) % 10}`;
    const codes = [
      `01${GTIN}210000000000001\u001d91EE05\u001d92abc/+==`,
      `]d2\u001d01${GTIN}210000000000002`,
      `(01)${GTIN}(21)0000000000003(10)LOT`,
      `00${'00000000000000000'}${checkDigitOf('00000000000000000')}`,
      `${wrong}0000000000004`,
    ];
    const { out, rows, containers, wrongCheckDigits } = await imported(`KM\n${codes.join('\n')}\n`, {
      map: { columns: { item: 'KM' } },
    });
    expect({ rows, containers, wrongCheckDigits, told: await refusedOf(out) }).toEqual({
      ...{ rows: 5, containers: 1, wrongCheckDigits: 1, told: [] },
    });
    const items = (await rowsOf<{ item: string }>(out)).map(({ item }) => item);
    expect(items).toEqual(['000000000000000000', ...[1, 2, 3].map(sgtin), `${wrong}0000000000004`].sort());
  });

  it('refuses a row without a place where others name theirs, for it would speak of all places', async () => {
    const { out, rows, refused, places } = await imported(HEAD + row(1) + row(2, ';S1;;') + row(3, 'P2;S1;;'));
    expect({ rows, refused, places }).toEqual({ rows: 2, refused: 1, places: ['P1', 'P2'] });
    expect(await refusedOf(out)).toEqual([{ line: 3, reason: 'place: is empty, and other rows name theirs' }]);
    expect(await query(`SELECT item FROM ${parquet([join(out, REFUSED_ITEMS)])}`)).toEqual([{ item: sgtin(2) }]);
  });

  it('takes rows without a place where none names one, and those of answers of the registry', async () => {
    const { rows, refused, places } = await imported(HEAD + row(1, ';S1;;') + row(2, ';S1;;'));
    expect({ rows, refused, places }).toEqual({ rows: 2, refused: 0, places: null });
    const map = { columns: { item: 'KM', place: 'Branch' } };
    const answers = await imported(HEAD + row(1) + row(2, ';;;'), { kind: 'registry', map });
    expect(answers).toMatchObject({ rows: 2, refused: 0, places: null });
  });

  it('refuses rows of another place than its branch', async () => {
    const { out, rows, places } = await imported(HEAD + row(1, ';;;') + row(2, 'P2;;;'), { branch: 'P1' });
    expect({ rows, places, told: await refusedOf(out) }).toEqual({
      ...{ rows: 1, places: ['P1'], told: [{ line: 3, reason: 'place: "P2" is another place than P1' }] },
    });
  });

  it('may be NDJSON or Parquet, with the same digest', async () => {
    const csv = await imported(HEAD + row(1) + row(2));
    const lines = [1, 2].map((n) =>
      JSON.stringify({ KM: sgtin(n), Branch: 'P1', Series: 'S1', Exp: '2027-12-31', State: 'sellable' }),
    );
    const ndjson = await imported(`${lines.join('\n')}\nnot json\n{"KM": 460123456789012345}\n`, {
      map: { format: 'ndjson' },
    });
    expect((await refusedOf(ndjson.out)).map(({ line, reason }) => `${line} ${reason}`)).toEqual([
      '3 the line is not a JSON object',
      '4 item: is a number, and a code is text: its digits may be lost',
    ]);
    const file = join(folder.path, 'stock.parquet');
    await query(`COPY (SELECT '${sgtin(2)}' AS KM, 'P1' AS Branch, 'S1' AS Series, DATE '2027-12-31' AS Exp,
      'sellable' AS State
      UNION ALL SELECT '${sgtin(1)}', 'P1', 'S1', DATE '2027-12-31', 'sellable') TO '${file}' (FORMAT parquet)`);
    const columnar = await imported('', { path: file, map: { format: 'parquet' } });
    expect([ndjson.digest, columnar.digest]).toEqual([csv.digest, csv.digest]);
    await query(`COPY (SELECT 460123456789012345 AS KM) TO '${file}' (FORMAT parquet)`);
    await expect(imported('', { path: file, map: { format: 'parquet', columns: { item: 'KM' } } })).rejects.toThrow(
      'column "KM" is BIGINT, and codes are text',
    );
  });

  it.each(['+03:00', '-03:30'])('may be Parquet with instants: a day and a time of the zone %s', async (zone) => {
    const columns = { item: 'KM', expiry: 'Exp', moment: 'At' };
    const rows = ['2027-12-31;2026-11-22 08:00:00', '2027-12-31;2026-11-22 23:30:00.5', ';'];
    const csv = await imported(`KM;Exp;At\n${rows.map((rest, n) => `${sgtin(n)};${rest}\n`).join('')}`, {
      map: { columns, zone },
    });
    const path = join(folder.path, 'instants.parquet');
    await query(`COPY (SELECT '${sgtin(0)}' AS KM, TIMESTAMPTZ '2027-12-31T00:00:00${zone}' AS Exp,
        TIMESTAMPTZ '2026-11-22T08:00:00${zone}' AS At
      UNION ALL SELECT '${sgtin(1)}', TIMESTAMPTZ '2027-12-31T23:59:59${zone}',
        TIMESTAMPTZ '2026-11-22T23:30:00.5${zone}'
      UNION ALL SELECT '${sgtin(2)}', NULL, NULL) TO '${path}' (FORMAT parquet)`);
    const columnar = await imported('', { path, map: { columns, zone, format: 'parquet' } });
    expect(await refusedOf(columnar.out)).toEqual([]);
    expect(columnar.digest).toBe(csv.digest);
  });
});

describe('a file that cannot be right', () => {
  it('has not the column of the mapping: both sides are named', async () => {
    await expect(imported('Code;Place\n')).rejects.toThrow(
      'the file has no column "KM" for item; it has: "Code", "Place"',
    );
  });

  it('is refused as a whole when too many rows are, and leaves no folder', async () => {
    const text = `${HEAD}x;;;;\ny;;;;\nz;;;;\n`;
    await expect(imported(text, { mostRefused: 2 })).rejects.toThrow(
      /more than 2 rows are refused, so the mapping is wrong: line 2/,
    );
    await expect(readSnapshot(join(folder.path, `set-${made}`, 'stock'))).rejects.toThrow('holds no snapshot');
  });

  it.each(['', HEAD])('is empty (%j): a person confirms that', async (text) => {
    await expect(imported(text)).rejects.toThrow(/--confirm/);
    expect(await imported(text, { confirmed: true })).toMatchObject({ rows: 0, confirmed: true, places: [] });
    // Of a branch it says that nothing is there.
    expect((await imported(text, { confirmed: true, branch: 'P1' })).places).toEqual(['P1']);
  });

  it('has shrunk below half of the newest of its branch: a person confirms that', async () => {
    const out = (name: string): string => join(folder.path, 'sets', name);
    await imported(HEAD + [1, 2, 3, 4, 5].map((n) => row(n)).join(''), {
      out: out('a'),
      moment: '2026-11-22T08:00:00Z',
    });
    await expect(imported(HEAD + row(1) + row(2), { out: out('b') })).rejects.toThrow(
      'the file has 2 rows, and the snapshot of 2026-11-22T08:00:00.000Z has 5',
    );
    expect((await imported(HEAD + row(1) + row(2), { out: out('b'), confirmed: true })).confirmed).toBe(true);
    // Said without need, it is not in the manifest.
    expect(
      (await imported(HEAD + [1, 2, 3, 4].map((n) => row(n)).join(''), { out: out('c'), confirmed: true })).confirmed,
    ).toBeUndefined();
    await expect(imported(HEAD + row(1), { out: out('b') })).rejects.toThrow('a snapshot is never changed');
  });

  it('is held against the newest that speaks of one of its places, whatever other branches sent since', async () => {
    const at = { P1: 0, P2: 0 };
    const file = (place: keyof typeof at, rows: number) =>
      imported(HEAD + Array.from({ length: rows }, (_, n) => row(n + 1, `${place};;;`)).join(''), {
        out: join(folder.path, 'sets', `${place}-${(at[place] += 1)}`),
        moment: `2026-11-2${at[place]}T08:00:00Z`,
      });
    await file('P1', 9);
    // A small branch is no large one that has shrunk.
    expect(await file('P2', 2)).toMatchObject({ rows: 2 });
    expect(await file('P2', 2)).toMatchObject({ rows: 2 });
    await expect(file('P1', 3)).rejects.toThrow('the file has 3 rows, and the snapshot of 2026-11-21T08:00:00.000Z');
  });

  it('is held against none of a moment to come', async () => {
    const file = (moment: string, rows: number) =>
      imported(HEAD + Array.from({ length: rows }, (_, n) => row(n + 1, 'P1;;;')).join(''), {
        out: join(folder.path, 'mistyped', moment.slice(0, 4)),
        moment,
      });
    await file('2062-11-21T08:00:00Z', 9);
    expect(await file('2026-11-22T08:00:00Z', 2)).toMatchObject({ rows: 2 });
  });

  it('was changed after its import: the manifest tells', async () => {
    const { out } = await imported(HEAD + row(1));
    const file = join(out, 'manifest.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace('"branch": null', '"branch": "P9"'));
    await expect(readSnapshot(out)).rejects.toThrow('its digest does not fit');
    for (const damaged of [
      '',
      '{"format":1',
      'null',
      '7',
      '{"format":1,"kind":"stock"}',
      '{"format":1,"buckets":[null]}',
    ]) {
      await writeFile(file, damaged);
      await expect(readSnapshot(out)).rejects.toMatchObject({ code: 'not_found' });
    }
  });
});

const CP1251 = new Map(
  Array.from({ length: 128 }, (_, n): [string, number] => [
    new TextDecoder('windows-1251').decode(Uint8Array.of(128 + n)),
    128 + n,
  ]),
);
