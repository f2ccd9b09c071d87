import { describe, expect, it } from '@jest/globals';
import { cursorOf } from './list-cursor.js';
import { asCsv } from './csv.js';
import { SERIES, seriesRows, withOpenCursor } from './series-columns.js';

type File = Parameters<typeof seriesRows>[0];
type Source = File['received'][number];

const source = (packs: number): Source => ({ packs, by: { known_at: String(packs) } as Source['by'] });
const FIGURE = { fate: 'sold', status: 'in_sale', place: '00000000000464', packs_at: '/v1/packs' } as const;
const file = (more: Partial<File>): File => ({
  ...{ gtin: '04600000000015', series: 'A', expires_on: [], known_at: '9', packs: 12, received_packs: 12 },
  ...({ totals: { sold: 12 }, sources: 3, received_in_more: 7 } as Pick<
    File,
    'totals' | 'sources' | 'received_in_more'
  >),
  received: [source(5)],
  fates: [{ ...FIGURE, packs: 12, branches: [{ branch: FIGURE.place, packs: 12, document_types: [511] }] }],
  ...more,
});

/** These columns of each row of the whole file. */
async function rowsOf(of: File, names = ['part', 'packs']): Promise<string[]> {
  const pages: Record<string, { known_at: string; items: Source[]; next_cursor?: string }> = {
    'a+b': { known_at: '9', items: [source(4)], next_cursor: 'c' },
    c: { known_at: '9', items: [source(3)] },
  };
  const pageAfter = seriesRows(of, (cursor) => Promise.resolve(pages[cursor] ?? { known_at: '9', items: [] }));
  let text = '';
  for await (const lines of asCsv(await pageAfter(), pageAfter, SERIES)) text += lines;
  const [head = '', ...rows] = text.trim().split('\r\n');
  const places = names.map((name) => head.split(',').indexOf(name));
  return rows.map((row) => places.map((place) => row.split(',')[place]).join(' '));
}

describe('the rows of the file of a series', () => {
  it('are all sources page by page, then the fates', async () => {
    const received_more_at = `/v1/series/04600000000015/A/sources?${new URLSearchParams({ cursor: 'a+b' }).toString()}`;
    expect(await rowsOf(file({ received_more_at }))).toEqual(['received 5', 'received 4', 'received 3', 'fate 12']);
  });

  it('are told at once where one page is the whole', async () => {
    expect(await rowsOf(file({ received: [source(12)] }))).toEqual(['received 12', 'fate 12']);
  });

  it('say what suspends the series, also where no pack of it was shipped and no document tells it of one', async () => {
    const received_more_at = '/v1/series/04600000000015/A/sources?cursor=c';
    const suspension = { by: ['s-1', 's-2'], packs: 0, on_hand: 12, customers: [] };
    expect(await rowsOf(file({ received_more_at, suspension }), ['part', 'suspended_by'])).toEqual([
      ...['received s-1 s-2', 'received s-1 s-2', 'fate s-1 s-2'],
    ]);
    const shipped = { ...suspension, by: [], packs: 3, customers: [{ place: '00000000000999', packs: 3 }] };
    expect(await rowsOf(file({ suspension: shipped }), ['part', 'suspended_by'])).toEqual([
      ...['received ', 'fate ', 'customer to notify '],
    ]);
  });
});

it('names the next page of sources by an address that is answered', () => {
  const path = '/v1/series/04600000000015/A%2B1/sources';
  const file = { received_more_at: `${path}?cursor=a%2Bb` } as Parameters<typeof withOpenCursor>[0];
  const [url, query] = String(withOpenCursor(file).received_more_at).split('?') as [string, string];
  expect(url).toBe(path);
  expect(cursorOf({ url, query: Object.fromEntries(new URLSearchParams(query)) })).toBe('a+b');
  expect(withOpenCursor({ sources: 1 } as typeof file)).toEqual({ sources: 1 });
});
