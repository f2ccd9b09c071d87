import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { fillSeries, GTIN, SERIES } from '../../../../test/bench/many-of-series.js';
import { TestHarness } from '../../test/test-harness.js';
import { FILE_TYPES } from './file-types.js';

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

describe('a file of a list', () => {
  it.each(Object.values(FILE_TYPES))('never begins in the middle (%s)', async (accept) => {
    const cursor = await cursorOf(`${PACKS}&limit=1`);
    const answer = await harness.ask(`${PACKS}&cursor=${cursor}`, { headers: { accept } });
    expect([answer.status, answer.json()]).toMatchObject([400, { code: 'invalid_parameter', field: 'cursor' }]);
  });

  it.each([
    ['/v1/documents', FILE_TYPES.csv],
    ['/v1/inbound', FILE_TYPES.excel],
  ])('of %s is no %s where nothing else is accepted', async (path, accept) => {
    const answer = await harness.ask(path, { headers: { accept } });
    expect([answer.status, answer.json()]).toMatchObject([
      ...[
        400,
        { field: 'Accept', detail: 'Accept: this list is no table: take application/json or application/x-ndjson' },
      ],
    ]);
  });

  it.each([
    ['text/csv;q=0.5, application/json', 'application/json'],
    ['text/csv, application/json;q=0.5', 'application/json'],
    ['text/csv, */*;q=0.1', 'application/json'],
    ['text/html, text/csv;q=0.9, application/*;q=0.8', 'application/json'],
    ['text/csv, application/x-ndjson;q=0.5', FILE_TYPES.ndjson],
    ['text/csv, application/x-ndjson;q=0.5, application/json;q=0.2', FILE_TYPES.ndjson],
    ['text/html', 'application/json'],
  ])('that is no table is what it can be for Accept: %s', async (accept, type) => {
    for (const path of ['/v1/documents', '/v1/inbound']) {
      const { status, headers } = await harness.ask(path, { headers: { accept } });
      expect([path, status, headers.get('content-type')?.split(';')[0]]).toEqual([path, 200, type]);
    }
  });

  it.each(['text/csv, application/json;q=0', 'text/*', `${FILE_TYPES.excel}, */*;q=0`])(
    'that is no table is refused where nothing that it can be is accepted: %s',
    async (accept) => {
      expect((await harness.ask('/v1/documents', { headers: { accept } })).status).toBe(400);
    },
  );
});
