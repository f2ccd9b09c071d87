import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { checkAllStored } from './check-stored.js';
import { evidenceSchema, PostgresEvidenceStore } from './postgres-evidence-store.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([evidenceSchema]);
});
afterAll(() => db.drop());

async function checked(maxBytes: number): Promise<{ pieces: number; damaged: string[] }> {
  const all = { pieces: 0, damaged: [] as string[] };
  for await (const page of checkAllStored(db.pool, undefined, maxBytes)) {
    all.pieces += page.pieces;
    all.damaged.push(...page.damaged.map(({ sha256 }) => sha256));
  }
  return all;
}

it('looks at each piece once, in pages of any size, and names those that are not their digest', async () => {
  const store = new PostgresEvidenceStore({ pool: db.pool });
  const digests = await Promise.all(
    Array.from({ length: 40 }, (_, n) => store.put(Buffer.from(`<a>${n}</a>`.repeat(1 + 40 * (n % 3))), 'text/xml')),
  );
  for (const maxBytes of [1, 200, 1_000_000]) expect(await checked(maxBytes)).toEqual({ pieces: 40, damaged: [] });
  const changes = [
    'content = set_bit(content, 21, 1 - get_bit(content, 21))',
    'byte_length = byte_length + 1',
    'encoding = 1 - encoding',
    'encoding = 5',
    `content = ''`,
  ];
  for (const [n, change] of changes.entries())
    await db.pool.query(`UPDATE evidence SET ${change} WHERE sha256 = $1`, [Buffer.from(digests[n] as string, 'hex')]);
  const damaged = digests.slice(0, changes.length).sort();
  for (const maxBytes of [1, 1_000_000]) expect(await checked(maxBytes)).toEqual({ pieces: 40, damaged });
});
