import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSheet } from 'read-excel-file/node';
import type { z } from 'zod';
import type { seriesFile, seriesSourcePage } from '#read-models';
import { testDatabase } from '../../../../test/support/database.js';
import { fillSeries, GTIN, SERIES, type SeriesTruth } from '../../../../test/bench/many-of-series.js';
import { TestHarness } from '../../test/test-harness.js';
import { ANSWERS } from './answers.js';
import { FILE_TYPES } from './file-types.js';

type SourcePage = z.infer<typeof seriesSourcePage>;

const PATH = `/v1/series/${GTIN}/${SERIES}`;
let harness: TestHarness;
let truth: SeriesTruth;

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  truth = await fillSeries(harness.db.pool, 4_000);
});
afterAll(() => harness.stop());

const fileOf = async (path: string, accept: string): Promise<Response> =>
  fetch(`${harness.gateway.url}${path}`, { headers: { accept } });

/** All pages of so many sources. */
async function sources(limit: number): Promise<SourcePage['items']> {
  const found: SourcePage['items'] = [];
  let cursor = '';
  for (let pages = 0; pages < 100; pages += 1) {
    const page = ANSWERS.SeriesSourcePage.parse((await harness.ask(`${PATH}/sources?limit=${limit}${cursor}`)).json());
    found.push(...page.items);
    if (page.next_cursor === undefined) return found;
    cursor = `&cursor=${page.next_cursor}`;
  }
  throw new Error('more than 100 pages');
}

describe('the file of a series over HTTP', () => {
  it('is exact to the pack', async () => {
    const file = ANSWERS.SeriesFile.parse((await harness.ask(PATH)).json()) satisfies z.infer<typeof seriesFile>;
    expect(file).toMatchObject({ packs: truth.packs, sources: truth.sources, totals: truth.totals });
    expect(file.received).toHaveLength(truth.sources);
  });

  it('has its sources in pages', async () => {
    const all = await sources(1_000);
    expect(await sources(7)).toEqual(all);
    expect(all.reduce((sum, { packs }) => sum + packs, 0)).toBe(truth.packs);
  });

  it.each(['limit=0', 'limit=10001', 'cursor=x', 'other=1'])('refuses %s', async (query) => {
    expect((await harness.ask(`${PATH}/sources?${query}`)).status).toBe(400);
  });

  it.each([
    [PATH, 2],
    [`${PATH}/sources`, 1],
  ])('%s is a file of all rows', async (path, wholes) => {
    const lines = (await (await fileOf(path, FILE_TYPES.ndjson)).text()).trim().split('\n');
    const rows = lines.map((line) => JSON.parse(line) as { part?: string; packs: number });
    const counted = rows.filter(({ part }) => part !== 'customer to notify').reduce((sum, { packs }) => sum + packs, 0);
    expect(counted).toBe(wholes * truth.packs);
    const csv = (await (await fileOf(path, FILE_TYPES.csv)).text()).trim().split('\r\n');
    expect(csv).toHaveLength(rows.length + 1);
    const sheet = await readSheet(Buffer.from(await (await fileOf(path, FILE_TYPES.excel)).arrayBuffer()));
    expect(sheet).toHaveLength(rows.length + 1);
  });
});
