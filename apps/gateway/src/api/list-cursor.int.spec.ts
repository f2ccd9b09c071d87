import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { fillSeries, GTIN, SERIES } from '../../../../test/bench/many-of-series.js';
import { TestHarness } from '../../test/test-harness.js';

const SOURCES = `/v1/series/${GTIN}/${SERIES}/sources`;
const PACKS = `/v1/packs?gtin=${GTIN}`;
let harness: TestHarness;

interface Page {
  items: object[];
  next_cursor?: string;
  field?: string;
  detail?: string;
}
const ask = async (path: string): Promise<Page> => (await harness.ask(path)).json<Page>();
const cursorOf = async (path: string): Promise<string> => String((await ask(path)).next_cursor);

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  await fillSeries(harness.db.pool, 4_000);
});
afterAll(() => harness.stop());

describe('a cursor', () => {
  it('goes on in its list, whatever the size of a page and the order of the parameters', async () => {
    const cursor = await cursorOf(`${PACKS}&series=${SERIES}&limit=2`);
    const whole = await ask(`${PACKS}&series=${SERIES}&limit=5`);
    const rest = await ask(`/v1/packs?cursor=${cursor}&series=${SERIES}&limit=3&gtin=${GTIN}`);
    expect(rest.items).toEqual(whole.items.slice(2));
  });

  it.each([
    ['another filter', PACKS, `${PACKS}&series=${SERIES}`],
    ['one filter less', `${PACKS}&series=${SERIES}`, PACKS],
    ['another value', PACKS, '/v1/packs?gtin=04600000000022'],
    ['another list', PACKS, '/v1/documents?'],
    ['the sources of another series', `${SOURCES}?`, `/v1/series/${GTIN}/OTHER/sources?`],
  ])('of a list is refused in words by %s', async (_, given, asked) => {
    const cursor = await cursorOf(`${given}&limit=1`);
    expect(await ask(`${asked}&limit=1&cursor=${cursor}`)).toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', field: 'cursor' },
      detail: 'cursor belongs to another list, or to other parameters: only limit may change from page to page',
    });
  });

  it.each(['x', 'MTo1', 'p1', '%20'])('that nobody gave out is refused (%s)', async (cursor) => {
    expect(await ask(`${PACKS}&cursor=${cursor}`)).toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', field: 'cursor' },
      detail: 'cursor is not one that this service gave out',
    });
  });
});
