import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { onSession, openPool, tryLock, underLocks, type Pool } from './pool.js';

const [ONE, TWO] = [7, 'a run'];

let db: TestDatabase;
/** Of sessions that have never had a lock: one may take again what it has. */
let others: Pool;
beforeAll(async () => {
  db = await testDatabase();
  others = openPool({ connectionString: db.url, maxConnections: 1 });
});
afterAll(async () => {
  await others.end();
  await db.drop();
});

/** Which of the two locks somebody else could have now. */
const free = (): Promise<boolean[]> =>
  onSession(others, async (session) => {
    const found = [await tryLock(session, ONE), await tryLock(session, TWO)];
    await session.query('SELECT pg_advisory_unlock_all()');
    return found;
  });

describe('work under locks', () => {
  it('is done while nobody else has one of them, and gives them back', async () => {
    expect(await underLocks(db.pool, [ONE, TWO], free)).toEqual([false, false]);
    expect(await free()).toEqual([true, true]);
  });

  it('is not done where another has the second, and the first is given back', async () => {
    const inside = await underLocks(db.pool, [TWO], async () => {
      const work = () => Promise.reject(new Error('it was begun'));
      return [await underLocks(db.pool, [ONE, TWO], work), await free()];
    });
    expect(inside).toEqual(['busy', [true, false]]);
  });

  it('that fails gives them back, and its own error', async () => {
    await expect(underLocks(db.pool, [ONE, TWO], () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await free()).toEqual([true, true]);
  });
});
