import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { arrayText } from './array-text.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([]);
});
afterAll(() => db.drop());

describe('the text of an array', () => {
  it('is read by the database as the values that were given', async () => {
    for (const values of [[], ['a'], ['', 'NULL', ' b ', 'a,b', '{}', 'ü\n'], ['a"b', 'c\\d', '\\"', 'plain']]) {
      const { rows } = await db.pool.query<{ read: string[] }>('SELECT $1::text[] AS read', [arrayText(values)]);
      expect(rows[0]?.read).toEqual(values);
    }
    const { rows } = await db.pool.query<{ read: number[] }>('SELECT $1::int[] AS read', [arrayText([3, -1, 0])]);
    expect(rows[0]?.read).toEqual([3, -1, 0]);
  });
});
