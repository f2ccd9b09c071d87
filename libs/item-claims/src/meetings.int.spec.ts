import { expect, it } from '@jest/globals';
import { indexConditions, planOf, rowsVisited } from '../../../test/support/plan.js';
import { HOME, P, inEachTest, type ItemWorld } from '../test/item-world.js';
import { MEETINGS } from './holders.js';
import { LIFT_IN_PLACES } from './waits.js';

const THERE = 5_000;
/** Rows that are looked at for each of those that wait. */
const MOST_PER_UNIT = 100;

let world: ItemWorld;
inEachTest((one) => (world = one));

it('whom a document meets is looked up by item and kind of claim: of a place, not all that mean it', async () => {
  await world.register('one', { items: [P] });
  await world.settle();
  await world.pool.query(
    `INSERT INTO claim_holder SELECT 'h' || n, n, 'h' || n, n, 'main', 'h' || n, 'h' || n, 'clear', 0, false, 'h' || n
     FROM generate_series(1000, 1000 + $1::int) AS n`,
    [THERE],
  );
  await world.pool.query('INSERT INTO item_claim SELECT $1, number, false FROM claim_holder WHERE number >= 1000', [
    HOME,
  ]);
  await world.pool.query('ANALYZE claim_holder, item_claim');
  const conditions = indexConditions(await planOf(world.pool, MEETINGS, ['one', 1, []]));
  // From version 17 on the server looks an array up that is made for each row; to others that is a filter.
  const ofClaims = conditions.filter((one) => one.includes('item = '));
  expect(ofClaims).toEqual([
    expect.stringMatching(/item = .* AND \(is_exclusive = true\)/),
    expect.stringMatching(/item = .* AND \(is_exclusive = false\)/),
  ]);
});

it('of one of more packs than are read at once, what goes after it hides nothing that is under way', async () => {
  const packs = Array.from({ length: 20_500 }, (_, n) => `046070000000011${String(n).padStart(12, '0')}`);
  await world.register('held', { items: packs });
  await world.settle();
  await world.execute('held', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
  await world.settle();
  await world.register('ahead', { items: packs.slice(0, 1) });
  await world.register('behind', { items: packs, after: ['held'] });
  await world.settle();
  await world.execute('held', { type: 'WaiveHolds', predecessors: ['person@1'] });
  await world.settle();
  expect([world.waitsFor('held'), world.sent]).toEqual([['ahead'], ['held', 'ahead']]);
});

it.each([250, 1_000])(
  'what a chain of %i that waits for what is held costs grows with its length alone',
  async (length) => {
    const { pool } = world;
    await pool.query(
      `INSERT INTO claim_holder
     SELECT 'h' || n, n, 'h' || n, n, 'main', 'h' || n, 'h' || n, 'waiting', 0, false, 'h' || n
     FROM generate_series(1, $1::int + 1) AS n`,
      [length],
    );
    await pool.query(`UPDATE claim_holder SET holds = '{person}' WHERE id = 'h1'`);
    // Each names a pack of the one before it, the last but one and the move behind it a place alone.
    await pool.query(
      `INSERT INTO item_claim SELECT 'pack ' || n + d, n, true FROM generate_series(1, $1::int) AS n,
       generate_series(0, 1) AS d`,
      [length],
    );
    await pool.query(
      `INSERT INTO item_wait SELECT 'h' || n, 'h' || n + 1, n % 3 > 0 OR n = $1, n
       FROM generate_series(1, $1::int) AS n`,
      [length],
    );
    await pool.query('ANALYZE claim_holder, item_claim, item_wait');
    const units = Array.from({ length }, (_, n) => `h${n + 1}`);
    const visited = rowsVisited(await planOf(pool, LIFT_IN_PLACES, [units]));
    expect(await world.rows('item_wait')).toBe(length - 1);
    expect(visited / length).toBeLessThan(MOST_PER_UNIT);
  },
);
