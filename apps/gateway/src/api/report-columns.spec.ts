import { expect, it } from '@jest/globals';
import { asCsv } from './csv.js';
import type { Columns } from './columns.js';
import { EXPIRING, RECALL } from './report-columns.js';

type Recall = Parameters<typeof RECALL.rows>[0];
const BEGUN: Recall = {
  ...{ recall_id: '0b6f0a4e-2c8f-4b0e-9d4a-0c9f6f1b2a3d', gtin: '04600000000015', series: 'A1', state: 'begun' },
  ...{ actor: { kind: 'person', name: 'anna', authenticated_by: 'loopback' }, begun_at: '2026-11-23T12:00:00.000Z' },
};
const TRACED: Recall = {
  ...BEGUN,
  ...{ state: 'traced', traced_at: '2026-11-23T12:00:01.000Z', took_ms: 1_000, is_complete: false, known_at: '9' },
  packs: { in_stock: 0, in_transit: 0, shipped: 0, gone: 7, unknown: 0 },
  ...{ series_unknown: 4, containers_unknown: 2, places: 0, lines: [] },
};

/** What the columns of each row say. */
async function told<Row>(items: Row[], columns: Columns<Row>): Promise<Record<string, string>[]> {
  let text = '';
  for await (const part of asCsv({ items }, () => Promise.reject(new Error()), columns)) text += part;
  const [head = '', ...lines] = text.trim().split('\r\n');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, n) => [head.split(',')[n] ?? '', cell])));
}
const rowsOf = (recall: Recall): Promise<Record<string, string>[]> => told(RECALL.rows(recall), RECALL.columns);

const WHOLE = { state: 'traced', is_complete: 'false', gone: '7', series_unknown: '4', containers_unknown: '2' };

it('shows a mock recall without a place as one, with all that is unknown, and not as an empty file', async () => {
  expect(await rowsOf(BEGUN)).toMatchObject([{ state: 'begun', packs: '', place: '', series_unknown: '' }]);
  expect(await rowsOf(TRACED)).toMatchObject([{ ...WHOLE, packs: '0', place: '' }]);
});

it('says in the row of each place what is unknown or gone of the whole', async () => {
  const line = { standing: 'shipped' as const, branch: 'B1', place: 'P1', packs: 3 };
  expect(await rowsOf({ ...TRACED, lines: [line] })).toMatchObject([{ ...WHOLE, place: 'P1', packs: '3' }]);
});

it('says in a file of what expires of how many packs nobody has told when they do, also where nothing does', async () => {
  const pin = { as_of: '2026-07-01T00:00:00.000Z', known_at: '9' };
  const asked = { ...pin, days: 90, expires_by: '2026-09-29', packs: 0, expired: 0, items: [] };
  const of = (report: Parameters<typeof EXPIRING.rows>[0]) => told(EXPIRING.rows(report), EXPIRING.columns);
  expect(await of({ ...asked, expiry_unknown: 0 })).toEqual([]);
  expect(await of({ ...asked, expiry_unknown: 5 })).toMatchObject([
    { ...pin, packs: '0', place: '', expires_on: '', expiry_unknown: '5' },
  ]);
  const moved = { first_moved_at: pin.as_of, last_moved_at: pin.as_of };
  const line = { ...pin, ...moved, place: 'P1', expires_on: '2026-08-01', packs: 3, expired: false };
  expect(await of({ ...asked, packs: 3, expiry_unknown: 5, items: [line] })).toMatchObject([
    { place: 'P1', packs: '3', expiry_unknown: '5' },
  ]);
});
