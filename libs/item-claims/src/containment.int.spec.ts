import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { ItemWorld, type GivenDocument } from './item-world.js';

const P = '046070000000011234567890001';
const Q = '046070000000011234567890002';
const BOX = '146070000000000011';
const OTHER_BOX = '146070000000000012';
const PALLET = '146070000000000022';

let db: TestDatabase;
let world: ItemWorld;
beforeEach(async () => {
  db = await testDatabase(ItemWorld.schemas);
  world = await ItemWorld.open(db.pool);
});
afterEach(async () => {
  await world.close();
  await db.drop();
});

/** Claims tell what a document of ours did; one of others is read, as it claims nothing. */
const TOLD = {
  ours: async (id: string, given: GivenDocument) => {
    await world.register(id, given);
    await world.settle();
    await world.conclude(id, 'accepted');
    await world.settle();
  },
  others: async (id: string, given: GivenDocument) => {
    await world.others(id, given);
    await world.settle();
  },
};

describe.each(Object.keys(TOLD) as (keyof typeof TOLD)[])('what is packed, as documents of %s tell', (who) => {
  const tell = TOLD[who];
  const containers = async (): Promise<Record<string, string>> => {
    const { rows } = await db.pool.query<{ child: string; parent: string }>('SELECT child, parent FROM item_container');
    return Object.fromEntries(rows.map(({ child, parent }) => [child, parent]));
  };
  beforeEach(async () => {
    await tell('pack', { docType: 911, items: [P, Q], into: BOX });
    await tell('nest', { docType: 915, items: [BOX], into: PALLET });
  });

  it('is what was packed last', async () => {
    expect(await containers()).toEqual({ [P]: BOX, [Q]: BOX, [BOX]: PALLET });
    await tell('again', { docType: 911, items: [P], into: OTHER_BOX });
    expect(await containers()).toEqual({ [P]: OTHER_BOX, [Q]: BOX, [BOX]: PALLET });
  });

  it('is less by what was taken out', async () => {
    await tell('take', { docType: 913, items: [P] });
    expect(await containers()).toEqual({ [Q]: BOX, [BOX]: PALLET });
  });

  it('is less by what was in a container that was opened, and that container', async () => {
    await tell('open', { docType: 912, items: [BOX] });
    expect(await containers()).toEqual({});
  });

  it('is less by all that was inside one opened, where the document says so', async () => {
    await tell('open', { docType: 912, items: [PALLET] });
    expect(await containers()).toEqual({ [P]: BOX, [Q]: BOX });
    await tell('nest again', { docType: 915, items: [BOX], into: PALLET });
    await tell('open all', { docType: 912, items: [PALLET], isRecursive: true });
    expect(await containers()).toEqual({});
  });
});

it('claims for those that registered before others packed what they name', async () => {
  await world.others('nest', { docType: 915, items: [BOX], into: PALLET });
  await world.register('take', { items: [P] });
  await world.others('pack', { docType: 911, items: [P], into: BOX });
  await world.register('pallet', { items: [PALLET] });
  await world.settle();
  expect(world.waitsFor('pallet')).toEqual(['take']);
});
