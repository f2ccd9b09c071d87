import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate, openPool, type MigrationSet } from '#postgres';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { catchUpProjection, runProjection, type Projection } from '../projection.js';
import {
  HARNESS_SCHEMAS,
  makeHarness,
  numberOf,
  upTo,
  whenPosition,
  type TestHarness,
} from '../../test/test-harness.js';
import { compareBeside, type CompareOptions, type ComparePlace, type RowDifference } from './compare-beside.js';

/** Counts numbers by their last digit, in rows that change with every page, and keeps each number with its text. */
const SHEET: Projection = {
  name: 'sheet',
  filter: { types: ['Noted'] },
  project: async (events, tx) => {
    await tx.query(
      'INSERT INTO noted (n, at, word) SELECT n, p, md5(n::text) FROM unnest($1::int[], $2::bigint[]) AS t (n, p)',
      [events.map(numberOf), events.map(({ position }) => position)],
    );
    await tx.query(
      `INSERT INTO digit (digit, seen) SELECT (n % 10)::text, count(*) FROM unnest($1::int[]) AS n GROUP BY 1
       ON CONFLICT (digit) DO UPDATE SET seen = digit.seen + excluded.seen`,
      [events.map(numberOf)],
    );
  },
  tables: ['noted', 'digit', 'noted_removed'],
  removal: {
    table: 'noted',
    column: 'at',
    record: { table: 'noted_removed', column: 'up_to' },
    recorded: { column: 'recorded_at', leastAgeHours: 24 },
  },
};

const TABLES = `
CREATE TABLE noted (at bigint PRIMARY KEY, n int NOT NULL, word text,
  recorded_at timestamptz NOT NULL DEFAULT '2026-01-01T00:00:00Z');
CREATE TABLE noted_removed (single boolean PRIMARY KEY DEFAULT true, up_to bigint NOT NULL);
CREATE TABLE digit (digit text COLLATE "C" PRIMARY KEY, seen bigint NOT NULL) PARTITION BY HASH (digit);
CREATE TABLE digit_0 PARTITION OF digit FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE digit_1 PARTITION OF digit FOR VALUES WITH (MODULUS 2, REMAINDER 1);`;

let harness: TestHarness;
let folder: TemporaryFolder;
let schema: MigrationSet;
let told: RowDifference[];

beforeEach(async () => {
  [harness, folder] = [await makeHarness(await testDatabase(HARNESS_SCHEMAS)), await temporaryFolder()];
  await mkdir(join(folder.path, 'sheet'));
  schema = { name: 'read-models/sheet', directory: pathToFileURL(join(folder.path, 'sheet/')) };
  await writeFile(join(folder.path, 'sheet', '0001-sheet.sql'), TABLES);
  await migrate(harness.pool, [schema]);
  told = [];
});
afterEach(async () => {
  await harness.stop();
  await folder.remove();
});

const options = (over: Partial<CompareOptions> = {}): CompareOptions => ({
  projection: SHEET,
  schema,
  store: harness.store,
  pool: harness.pool,
  poolIn: (settings) => openPool({ connectionString: harness.url, applicationName: 'compare', ...settings }),
  softwareVersion: '1.0.0',
  prefix: 'sweep_',
  onDifference: (one) => Promise.resolve(void told.push(one)),
  onWork: () => Promise.resolve(),
  chunkRows: 50,
  ...over,
});
const compare = (over: Partial<CompareOptions> = {}) => compareBeside(options(over));
const live = () => catchUpProjection({ projection: SHEET, store: harness.store, pool: harness.pool });
const sql = (text: string) => harness.pool.query(text);
const schemas = async () =>
  (await harness.pool.query(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'sweep%'`)).rows;
const content = async () =>
  (
    await harness.pool.query(
      `SELECT md5(string_agg(t::text, '' ORDER BY at)) AS sum, xmin::text FROM noted t GROUP BY xmin::text`,
    )
  ).rows;

describe('a comparison beside the live tables', () => {
  it('finds nothing where nothing was done, while the log grows and the projection writes', async () => {
    await harness.note(upTo(500));
    await live();
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(3_000n);
    const pool = openPool({ connectionString: harness.url });
    const running = runProjection({
      ...{ projection: SHEET, store: harness.store, pool, signal: end.signal, onBatch },
      ...{ batchSize: 20, minPageIntervalMs: 0, standbyPollMs: 1 },
    });
    const writing = (async () => {
      for (let from = 500; from < 3_000; from += 50) await harness.note(upTo(from + 50).slice(from));
    })();
    const compared: unknown[] = [];
    for (let n = 0; n < 4; n += 1) compared.push(await compare());
    await Promise.all([writing, reached]);
    end.abort();
    await running;
    await pool.end();
    expect(told).toEqual([]);
    expect(compared).toEqual(
      Array.from({ length: 4 }, () => expect.objectContaining({ isWhole: true, differences: 0 })),
    );
    expect(await compare()).toMatchObject({ isWhole: true, rows: 3_010 });
    expect(await schemas()).toEqual([]);
  }, 60_000);

  it('names the rows and columns that were changed, taken away and made up, and leaves them', async () => {
    await harness.note(upTo(300));
    await live();
    await sql(`UPDATE noted SET word = 'other' WHERE at = 120; DELETE FROM noted WHERE at IN (1, 300);
      INSERT INTO noted (at, n, word) VALUES (0, 7, 'new'), (999, 7, NULL);
      UPDATE digit SET seen = 31 WHERE digit = '7'`);
    const before = await content();
    expect(await compare()).toMatchObject({ isWhole: true, differences: 6 });
    expect(told.map(({ table, key }) => [table, ...key]).sort()).toEqual([
      ['digit', '7'],
      ...['0', '1', '120', '300', '999'].map((key) => ['noted', key]),
    ]);
    expect(told.find(({ key }) => key[0] === '120')).toMatchObject({
      expected: { word: expect.stringMatching(/^[0-9a-f]{32}$/) },
      found: { word: 'other' },
      position: 300n,
    });
    expect(told.find(({ key }) => key[0] === '7')).toMatchObject({ expected: { seen: '30' }, found: { seen: '31' } });
    expect(told.find(({ key }) => key[0] === '1')).toMatchObject({ found: undefined, expected: { at: '1' } });
    expect(told.find(({ key }) => key[0] === '999')).toMatchObject({
      expected: undefined,
      found: { n: '7', word: null },
    });
    expect(await content()).toEqual(before);
  });

  it('leaves out a table whose rows are of an older version, and says why', async () => {
    await harness.note(upTo(60));
    await live();
    await sql(`COMMENT ON TABLE noted IS 'rebuild: words were other words'; COMMENT ON TABLE digit IS 'any other words';
      UPDATE noted SET word = 'other'; UPDATE digit SET seen = 31 WHERE digit = '7'`);
    expect(await compare()).toEqual({
      ...{ isWhole: false, rows: 10, differences: 1, untold: 0 },
      skipped: 'noted: words were other words. Run pedigree rebuild sheet',
    });
    expect(told.map(({ table }) => table)).toEqual(['digit']);
  });

  it('counts what it does not tell, also where the whole table was emptied', async () => {
    await harness.note(upTo(400));
    await live();
    await sql('TRUNCATE noted');
    const compared = await compare({ mostTold: 3 });
    expect(compared.differences).toBeGreaterThanOrEqual(200);
    expect(told).toHaveLength(3);
  });

  it('tells a checkpoint that was set forward, and one that is ahead of the log', async () => {
    await harness.note(upTo(100));
    await live();
    await harness.note([100, 101]);
    await sql(`UPDATE checkpoint SET position = 101 WHERE name = 'projection:sheet'`);
    await compare();
    expect(told.map(({ table, key }) => [table, ...key])).toEqual([
      ['digit', '0'],
      ['noted', '101'],
    ]);
    told = [];
    await sql(`UPDATE checkpoint SET position = 150 WHERE name = 'projection:sheet'`);
    expect(await compare()).toMatchObject({ differences: 1 });
    expect(told).toMatchObject([
      { table: 'checkpoint', expected: { position: 'at most 102' }, found: { position: '150' } },
    ]);
  });

  it('begins anew where the live projection goes back while it is compared', async () => {
    await harness.note(upTo(200));
    await live();
    let done = false;
    const compared = await compare({
      onWork: async ({ place }) => {
        if (done || place === undefined) return;
        done = true;
        await sql(`TRUNCATE noted, digit; UPDATE checkpoint SET position = 0 WHERE name = 'projection:sheet'`);
      },
    });
    expect(compared).toMatchObject({ isWhole: true, differences: 0, rows: 0 });
  });

  it('lets rows go that retention removed, unless they were too young for that', async () => {
    await harness.note(upTo(300));
    await live();
    await sql('DELETE FROM noted WHERE at <= 120; INSERT INTO noted_removed (up_to) VALUES (120)');
    expect(await compare()).toMatchObject({ differences: 0 });
    await sql('DELETE FROM noted WHERE at = 121');
    expect(await compare()).toMatchObject({ differences: 1 });
    const young: MigrationSet = { ...schema };
    await sql(`UPDATE noted_removed SET up_to = 121`);
    expect(await compare({ schema: young })).toMatchObject({ differences: 0 });
    const fresh = { ...SHEET, removal: { ...SHEET.removal!, recorded: { column: 'recorded_at', leastAgeHours: 1e6 } } };
    told = [];
    await compare({ projection: fresh });
    expect(told).toMatchObject([
      { table: 'noted_removed', found: { up_to: expect.stringMatching(/^121: removed before/) } },
    ]);
  });

  it('goes on where an earlier run ended, in its copy, and finds what lies behind', async () => {
    await harness.note(upTo(500));
    await live();
    await sql(`UPDATE noted SET word = 'a' WHERE at = 20; UPDATE noted SET word = 'b' WHERE at = 480`);
    const stop = new AbortController();
    let place: ComparePlace | undefined;
    const first = await compare({
      signal: stop.signal,
      onWork: (work) => {
        place = work.place ?? place;
        if (place?.table === 'noted' && Number(place.after[0]) >= 200) stop.abort();
        return Promise.resolve();
      },
    });
    expect([first.isWhole, told.map(({ key }) => key)]).toEqual([false, [['20']]]);
    expect(await schemas()).toHaveLength(1);
    const second = await compare({ goesOn: true, from: place! });
    expect(second).toMatchObject({ isWhole: true, rows: 300, differences: 1 });
    expect(told.map(({ key }) => key)).toEqual([['20'], ['480']]);
    // A place without its copy counts for nothing.
    told = [];
    expect(await compare({ goesOn: true, from: place! })).toMatchObject({ rows: 510, differences: 2 });
  });

  it('compares nothing where another version made the live tables', async () => {
    await writeFile(join(folder.path, 'sheet', '0002-more.sql'), 'ALTER TABLE noted ADD COLUMN more text;');
    expect(await compare()).toMatchObject({ isWhole: false, skipped: 'another version made its tables' });
    expect(await schemas()).toEqual([]);
  });

  it('is refused while another process compares the same model', async () => {
    await harness.note(upTo(10));
    await live();
    let refused: unknown;
    await compare({
      onWork: async () => {
        refused ??= await compare().catch((error: Error) => error.message);
      },
    });
    expect(refused).toBe('another process rebuilds sweep_sheet now');
  }, 30_000);
});
