import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import { Duck, parquet, quoted } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { DOCUMENTS, EFFECTS, FILES, ITEM_CHECK, ITEM_ID } from '../rows.js';
import type { Movements } from './documents.js';
import { foldStates } from './state.js';

let folder: TemporaryFolder;
let duck: Duck;
beforeEach(async () => {
  folder = await temporaryFolder();
  duck = await Duck.open({ memoryMb: 200, threads: 2, temporary: join(folder.path, 'temporary') });
});
afterEach(async () => {
  await duck.close();
  await folder.remove();
});

const column = (told: Record<string, string>, columns: Record<string, string>): string =>
  Object.entries(columns)
    .map(([name, type]) => `${told[name] ?? `NULL::${type}`} AS ${name}`)
    .join(', ');

/** A document for each of so many packs, which brings it to a place of its own. */
async function writeMovements(packs: number): Promise<Movements> {
  const of = `FROM range(1, ${packs + 1}) r (i)`;
  const item = `'04607001770001' || lpad(i::VARCHAR, 13, '0')`;
  const place = `lpad(i::VARCHAR, 14, '0')`;
  const document = {
    ...{ known_from: 'i', ordered_at: 'i * 1000000', request_id: "'r-' || i", doc_type: '702' },
    ...{ outcome: "'accepted'", subject_id: place },
  };
  const effect = { known_from: 'i', effect: '0', result: "'applied'", status: "'in_circulation'", place };
  const selects: Record<keyof Movements, string> = {
    packs: `SELECT ${ITEM_ID} AS id, 0::SMALLINT AS ordinal, (i - 1)::INTEGER AS "row" FROM (SELECT i, ${item} AS item
      ${of}) ORDER BY id`,
    items: `SELECT ${ITEM_ID} AS id, ${ITEM_CHECK} AS "check", item FROM (SELECT ${item} AS item ${of}) ORDER BY id`,
    containers: `SELECT '' AS item, 0::BIGINT AS known_from, 0::SMALLINT AS ordinal, 0 AS effect WHERE false`,
    documents: `SELECT ${column(document, DOCUMENTS.columns)} ${of}`,
    effects: `SELECT ${column(effect, EFFECTS.columns)} ${of} ORDER BY i`,
    closings: 'SELECT 0::BIGINT AS known_from, 0::BIGINT AS known_to WHERE false',
  };
  const written = Object.entries(selects).map(async ([name, select]) => {
    const file = join(folder.path, FILES[name as keyof Movements]);
    await duck.inOrder(`COPY (${select}) TO ${quoted(file)} (FORMAT parquet)`);
    return [name, [file]];
  });
  return Object.fromEntries(await Promise.all(written)) as Movements;
}

describe('places', () => {
  it.each([10, 1_500])('are those of their packs where there are %d', async (packs) => {
    const movements = await writeMovements(packs);
    const out = join(folder.path, String(packs));
    const states = await foldStates(duck, { movements, at: BigInt(packs), types: typeKnowledge, out });
    expect(states.packs).toBe(packs);
    const files = parquet(states.buckets.map(({ file }) => join(out, file)));
    const [told] = await duck.rows(`SELECT count(*)::INTEGER AS packs, count(DISTINCT place)::INTEGER AS places,
      count(*) FILTER (place[2:] = item[15:])::INTEGER AS own, typeof(any_value(place)) AS type FROM ${files}`);
    expect(told).toEqual({ packs, places: packs, own: packs, type: 'VARCHAR' });
  });
});
