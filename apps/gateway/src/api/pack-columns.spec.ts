import { expect, it } from '@jest/globals';
import { asCsv } from './csv.js';
import { CONTENT } from './pack-columns.js';

type Content = Parameters<typeof CONTENT.rows>[0];
const SSCC = '046070017700000001';
const EMPTY: Content = { sscc: SSCC, is_known: true, packs: 0, containers: 0, items: [], documents: [], findings: [] };
const UNKNOWN = { standing: 'being_asked', sentence: 'Content unknown: the registry is being asked.' } as const;

/** What the columns of each row say. */
async function rowsOf(content: Content): Promise<Record<string, string>[]> {
  let text = '';
  for await (const part of asCsv({ items: CONTENT.rows(content) }, () => Promise.reject(new Error()), CONTENT.columns))
    text += part;
  const [head = '', ...lines] = text.trim().split('\r\n');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, n) => [head.split(',')[n] ?? '', cell])));
}

it('does not show a content that nobody told as an empty one', async () => {
  expect(await rowsOf(EMPTY)).toEqual([]);
  expect(await rowsOf({ ...EMPTY, container: 'outer', is_known: false, unknown: UNKNOWN })).toMatchObject([
    { item: SSCC, container: 'outer', level: '0', content_unknown: UNKNOWN.sentence },
  ]);
  const item = { item: '04607001770001AAAAAAAAAAAA1', container: SSCC, level: 1, known_at: '17' };
  expect(await rowsOf({ ...EMPTY, packs: 1, items: [item] })).toMatchObject([
    { ...item, level: '1', content_unknown: '' },
  ]);
});
