import { expect, it } from '@jest/globals';
import { indexConditions, planOf } from '../../../test/support/plan.js';
import { HOME, P, inEachTest, type ItemWorld } from '../test/item-world.js';
import { MEETINGS } from './holders.js';

const THERE = 5_000;

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
  const conditions = indexConditions(await planOf(world.pool, MEETINGS, ['one', 1]));
  // From version 17 on the server looks an array up that is made for each row; to others that is a filter.
  const ofClaims = conditions.filter((one) => one.includes('item = '));
  expect(ofClaims).toEqual([
    expect.stringMatching(/item = .* AND \(is_exclusive = true\)/),
    expect.stringMatching(/item = .* AND \(is_exclusive = false\)/),
  ]);
});
