import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { busSchema } from '#bus';
import { inTransaction } from '#postgres';
import { removeOldRows } from '#retention';
import { boundedLog } from '#service';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { deadLetterRemoval } from './dead-letter-removal.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([busSchema]);
});
afterAll(() => db.drop());

const letter = (code: string, days: number) =>
  db.pool.query(
    'INSERT INTO bus_dead_letter (dead_at, code, reason, deliveries, content_type, headers, body) VALUES ' +
      `(now() - $2 * interval '1 day', $1, 'r', 1, 't', '{}', 'x')`,
    [code, days],
  );

it('removes dead letters that nobody replayed, and names each of them', async () => {
  await letter('old', 366);
  await letter('young', 364);
  const said: unknown[] = [];
  const removals = [deadLetterRemoval({ keptDays: 365, log: { warn: (about: object) => void said.push(about) } })];
  const removed = await removeOldRows({
    pool: db.pool,
    removals,
    signal: new AbortController().signal,
    report: (_, error) => expect(error).toBeUndefined(),
  });
  expect(removed.get('bus_dead_letter')).toBe(1);
  expect(said).toMatchObject([{ code: 'old', id: expect.any(String), reason: 'r' }]);
  expect((await db.pool.query('SELECT code FROM bus_dead_letter')).rows).toEqual([{ code: 'young' }]);
});

it('names them all in the log of a gateway, which says nothing often', async () => {
  await db.pool.query('DELETE FROM bus_dead_letter');
  for (let n = 0; n < 30; n += 1) await letter(`old-${n}`, 366);
  const said: string[] = [];
  const warn = (about: object, message: string): void => void said.push(JSON.stringify([about, message]));
  const log = boundedLog({ warn, info: warn, error: warn });
  await inTransaction(db.pool, (tx) => deadLetterRemoval({ keptDays: 365, log }).removeSome(tx, 100));
  expect(Array.from({ length: 30 }, (_, n) => n).filter((n) => !said.join().includes(`"old-${n}"`))).toEqual([]);
});
