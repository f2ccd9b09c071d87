import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { fillDocuments, hardQueries } from '../../../../test/bench/many-documents.js';
import { pagesTouched, planOf, rowsVisited } from '../../../../test/support/plan.js';
import type { DocumentListQuery } from '../port.js';
import { writeCursor } from '../list-page.js';
import { selectDocuments } from './query.js';

const ROWS = 100_000;
const LIMIT = 101;
const SEED = 20_260_901;
/** A filter may lead through a second table of the same order, and a cursor to its own row. */
const MOST_VISITED = 2 * LIMIT + 10;

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await fillDocuments(db.pool, { rows: ROWS, seed: SEED });
});
afterAll(() => db.drop());

it('upgrades in place: the phase of every document without an outcome is known, and of no other', async () => {
  const open = `SELECT registered_position, registered_at, phase FROM document_open`;
  const unfinished = `SELECT registered_position, registered_at, phase FROM document_outcome WHERE outcome IS NULL`;
  const { rows } = await db.pool.query(
    `SELECT (SELECT count(*)::int FROM document_open) AS n, (SELECT count(*)::int FROM ((${open}) EXCEPT ` +
      `(${unfinished})) x) AS more`,
  );
  expect(rows).toEqual([{ n: ROWS / 10 + 1, more: 0 }]);
});

async function costOf(query: DocumentListQuery): Promise<{ visited: number; pages: number; plan: string }> {
  const { text, values } = selectDocuments(query, LIMIT);
  const plan = await planOf(db.pool, text, values);
  return { visited: rowsVisited(plan), pages: pagesTouched(plan), plan: JSON.stringify(plan) };
}

describe(`a page of the list of ${ROWS} documents`, () => {
  it.each(Object.entries(hardQueries(ROWS)))('visits no more rows than it may show: %s', async (_, query) => {
    const { visited, pages, plan } = await costOf(query);
    expect({ visited: visited <= MOST_VISITED || plan }).toEqual({ visited: true });
    expect(pages).toBeLessThan(6 * MOST_VISITED);
  });

  it.each(Object.entries(hardQueries(ROWS)))('goes on from a cursor at the same cost: %s', async (_, query) => {
    const cursor = writeCursor(BigInt(Math.floor(ROWS * 0.95) * 7));
    const { visited, plan } = await costOf({ ...query, cursor });
    expect({ visited: visited <= MOST_VISITED || plan }).toEqual({ visited: true });
  });

  it('finds one document by its request_id in a few pages', async () => {
    const { pages } = await costOf({ requestId: '5f1f7d0ad1a9cbe3b3a3b1a0cf2b2ab8' });
    expect(pages).toBeLessThan(12);
  });
});
