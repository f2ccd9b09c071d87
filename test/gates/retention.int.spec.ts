import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allSchemas } from '../../apps/cli/src/schemas.js';
import { deadLetterRemoval } from '../../apps/gateway/src/outcomes/dead-letter-removal.js';
import { outcomeRemoval } from '../../apps/gateway/src/outcomes/retention.js';
import { reconcilerRemovals } from '../../apps/reconciler/src/reconciler.js';
import { workerRemovals } from '../../apps/worker/src/retention/worker-removals.js';
import { testDatabase, type TestDatabase } from '../support/database.js';

/** The lines of the table in docs/retention.md: the tables that each names, and how they end. */
function documented(): { tables: string[]; end: string }[] {
  const page = readFileSync(new URL('../../docs/retention.md', import.meta.url), 'utf8');
  const section = /^## What grows, and how it ends$([\s\S]*?)^## /m.exec(page)?.[1] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) => {
    const [, names = '', , end = ''] = line.split('|');
    return { tables: [...names.matchAll(/`(\w+)`/g)].map((found) => found[1] as string), end: end.trim() };
  });
}

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase(allSchemas());
});
afterAll(() => db.drop());

describe('the page on what grows', () => {
  it('has a line for every table, and for no other', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', ` +
        `'p') AND NOT relispartition ORDER BY relname`,
    );
    expect(rows.length).toBeGreaterThan(40);
    expect(
      documented()
        .flatMap((line) => line.tables)
        .sort(),
    ).toEqual(rows.map((row) => row.name).sort());
  });

  it('says of those tables that rows are removed from which a program removes them', () => {
    const store = { readAll: () => Promise.reject(new Error('not asked')) };
    const removals = [
      ...workerRemovals({ store, sagas: [], taskKeysKeptDays: 1, uploadLinksKeptDays: 1 }),
      ...[outcomeRemoval({ keptMs: 1 }), deadLetterRemoval({ keptDays: 1, log: { warn: () => undefined } })],
      ...reconcilerRemovals({ findingsKeptDays: 1 }),
    ];
    const said = documented()
      .filter((line) => /\bremoved\b/i.test(line.end))
      .flatMap((line) => line.tables);
    expect(said.sort()).toEqual(removals.map((one) => one.table).sort());
  });

  it('gives each line an end, or a reason to stay', () => {
    for (const { tables, end } of documented())
      expect(`${tables.join()}: ${end}`).toMatch(/: (Stays: |Removed when |Bounded: |Ends |Goes |See ).{10,}/);
  });
});
