import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { checkAllStored } from './check-stored.js';
import { evidenceSchema, PostgresEvidenceStore } from './postgres-evidence-store.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([evidenceSchema]);
});
afterAll(() => db.drop());

async function checked(maxBytes: number): Promise<{ pieces: number; contentBytes: number; damaged: string[] }> {
  const all = { pieces: 0, contentBytes: 0, damaged: [] as string[] };
  for await (const page of checkAllStored(db.pool, undefined, maxBytes)) {
    all.pieces += page.pieces;
    all.contentBytes += page.contentBytes;
    all.damaged.push(...page.damaged.map(({ sha256 }) => sha256));
  }
  return all;
}

it('looks at each piece once, in pages of any size, and names those that are not their digest', async () => {
  const store = new PostgresEvidenceStore({ pool: db.pool });
  // Short ones as they are, compressed ones, and such as are inflated in a thread of their own.
  const pieces = Array.from({ length: 40 }, (_, n) =>
    Buffer.from(`<a>${n}</a>`.repeat([1, 41, 81, 40_000][n % 4] ?? 1)),
  );
  const digests = await Promise.all(pieces.map((piece) => store.put(piece, 'text/xml')));
  const whole = { pieces: 40, contentBytes: pieces.reduce((sum, { length }) => sum + length, 0) };
  for (const maxBytes of [1, 200, 1_000_000]) expect(await checked(maxBytes)).toEqual({ ...whole, damaged: [] });
  const changes = [
    'content = set_bit(content, 21, 1 - get_bit(content, 21))',
    'byte_length = byte_length + 1',
    'encoding = 1 - encoding',
    'encoding = 5',
    `content = ''`,
  ];
  // Each of them to a piece of each kind.
  const places = changes.flatMap((change, n) =>
    [0, 1, 2, 3].map((kind) => ({ change, digest: digests[4 * n + kind] })),
  );
  for (const { change, digest } of places)
    await db.pool.query(`UPDATE evidence SET ${change} WHERE sha256 = $1`, [Buffer.from(digest as string, 'hex')]);
  const damaged = places.map(({ digest }) => digest).sort();
  for (const maxBytes of [1, 1_000_000]) expect(await checked(maxBytes)).toMatchObject({ pieces: 40, damaged });
});
