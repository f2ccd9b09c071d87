import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { removeOldRows, runRemovals, type Removal, type RemovalOptions } from './run-removals.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query('CREATE TABLE thing (n int PRIMARY KEY)');
});
afterAll(() => db.drop());
beforeEach(() => db.pool.query('TRUNCATE thing; INSERT INTO thing SELECT generate_series(1, 100)'));

const left = async (): Promise<number> =>
  (await db.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM thing')).rows[0]?.n ?? -1;

/** Removes everything up to 90, and notes how much was asked of it at once. */
function things(asked: number[] = []): Removal {
  return {
    table: 'thing',
    removeSome: async (tx, limit) => {
      asked.push(limit);
      return (
        (
          await tx.query('DELETE FROM thing WHERE n IN (SELECT n FROM thing WHERE n <= 90 ORDER BY n LIMIT $1)', [
            limit,
          ])
        ).rowCount ?? 0
      );
    },
  };
}

const round = (over: Partial<RemovalOptions> = {}): Promise<Map<string, number>> =>
  removeOldRows({
    pool: db.pool,
    removals: [things()],
    signal: new AbortController().signal,
    report: (_, error) => expect(error).toBeUndefined(),
    ...over,
  });

describe('a round of removals', () => {
  it('takes few rows at a time, and leaves what may stay', async () => {
    const asked: number[] = [];
    expect(await round({ removals: [things(asked)], batchSize: 20 })).toEqual(new Map([['thing', 90]]));
    expect(asked).toEqual([20, 20, 20, 20, 20]);
    expect(await left()).toBe(10);
  });

  it('ends after so many statements or so much time, and the next one goes on', async () => {
    expect(await round({ batchSize: 10, mostBatches: 3 })).toEqual(new Map([['thing', 30]]));
    const clock = new VirtualClock();
    const slow: Removal = {
      table: 'thing',
      removeSome: (tx, limit) => (clock.advance(30_000), things().removeSome(tx, limit)),
    };
    expect(await round({ removals: [slow], batchSize: 10, roundMs: 60_000, clock })).toEqual(new Map([['thing', 20]]));
    expect(await left()).toBe(50);
  });

  it('keeps what it has removed when it is broken off', async () => {
    let batches = 0;
    const breaking: Removal = {
      table: 'thing',
      removeSome: (tx, limit) =>
        (batches += 1) === 3 ? Promise.reject(new Error('gone')) : things().removeSome(tx, limit),
    };
    const told: string[] = [];
    await round({
      removals: [breaking, { table: 'other', removeSome: () => Promise.resolve(0) }],
      batchSize: 10,
      report: (table, error) => told.push(`${table}: ${(error as Error).message}`),
    });
    expect(told).toEqual(['thing: gone']);
    expect(await left()).toBe(80);
  });

  it('leaves a table alone from which another process removes, and no other table', async () => {
    const other: Removal = { table: 'other', removeSome: () => Promise.resolve(0) };
    const nested: Removal = {
      table: 'thing',
      removeSome: async () => {
        expect(await round({ removals: [things(), other] })).toEqual(
          new Map([
            ['thing', 0],
            ['other', 0],
          ]),
        );
        return 0;
      },
    };
    await round({ removals: [nested] });
    expect(await left()).toBe(100);
    expect(await round()).toEqual(new Map([['thing', 90]]));
  });

  it('bounds its statements in time, for its own transaction only', async () => {
    const seen: string[] = [];
    await round({
      removals: [
        {
          table: 'thing',
          removeSome: async (tx) => (
            seen.push(
              (await tx.query<{ statement_timeout: string }>('SHOW statement_timeout')).rows[0]?.statement_timeout ??
                '',
            ),
            0
          ),
        },
      ],
    });
    expect(seen).toEqual(['10s']);
    const after = await inTransaction(db.pool, (tx) =>
      tx.query<{ statement_timeout: string }>('SHOW statement_timeout'),
    );
    expect(after.rows[0]?.statement_timeout).toBe('30s');
  });
});

describe('removals that run', () => {
  it('come again and again until they are told to stop', async () => {
    const clock = new VirtualClock();
    const stopping = new AbortController();
    let rounds = 0;
    const counting: Removal = {
      table: 'thing',
      removeSome: () => {
        rounds += 1;
        if (rounds === 3) stopping.abort();
        return Promise.resolve(0);
      },
    };
    const running = runRemovals({
      pool: db.pool,
      removals: [counting],
      signal: stopping.signal,
      report: () => undefined,
      everyMs: 1_000,
      clock,
    });
    for (let turns = 0; rounds < 3 && turns < 100_000; turns += 1) {
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    await running;
    expect(rounds).toBe(3);
  });
});
