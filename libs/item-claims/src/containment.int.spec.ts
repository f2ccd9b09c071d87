import { beforeEach, describe, expect, it } from '@jest/globals';
import { BOX, PALLET, P, Q, inEachTest, type GivenDocument, type ItemWorld } from '../test/item-world.js';

const OTHER_BOX = '146070000000000012';

let world: ItemWorld;
inEachTest((one) => (world = one));

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

const containers = async (): Promise<Record<string, string>> => {
  const { rows } = await world.pool.query<{ child: string; parent: string }>(
    'SELECT child, parent FROM item_container',
  );
  return Object.fromEntries(rows.map(({ child, parent }) => [child, parent]));
};

describe.each(Object.keys(TOLD) as (keyof typeof TOLD)[])('what is packed, as documents of %s tell', (who) => {
  const tell = TOLD[who];
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

it('is not what is heard of long after, where anything is known of an item', async () => {
  await TOLD.others('pack', { docType: 911, items: [P], into: BOX });
  await world.others('older', { docType: 911, items: [P, Q], into: OTHER_BOX }, 'again');
  await world.others('older take', { docType: 913, items: [P] }, 'again');
  await world.others('older open', { docType: 912, items: [BOX] }, 'again');
  await world.settle();
  const { rows } = await world.pool.query('SELECT child, parent FROM item_container ORDER BY parent');
  expect(rows).toEqual([
    { child: P, parent: BOX },
    { child: Q, parent: OTHER_BOX },
  ]);
});

it('claims for those that registered before others packed what they name', async () => {
  await world.others('nest', { docType: 915, items: [BOX], into: PALLET });
  await world.register('take', { items: [P] });
  await world.others('pack', { docType: 911, items: [P], into: BOX });
  await world.register('pallet', { items: [PALLET] });
  await world.settle();
  expect(world.waitsFor('pallet')).toEqual(['take']);
});

describe('what lies in a container that came to us, as the registry tells', () => {
  it('counts as packed, level by level, and what was told of the same packs before is over', async () => {
    await TOLD.ours('pack', { docType: 911, items: [P], into: OTHER_BOX });
    await world.content(PALLET, { [BOX]: PALLET, [P]: BOX, [Q]: BOX });
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX, [Q]: BOX, [BOX]: PALLET });
    await TOLD.ours('open', { docType: 912, items: [PALLET], isRecursive: true });
    expect(await containers()).toEqual({});
  });

  it('counts after what ended right before it', async () => {
    await world.register('open', { docType: 912, items: [BOX] });
    await world.settle();
    await world.conclude('open', 'accepted');
    await world.content(BOX, { [P]: BOX });
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX });
  });

  it('has a document of a pack wait for an earlier one of the container, and the other way round', async () => {
    await world.content(PALLET, { [BOX]: PALLET, [P]: BOX, [Q]: BOX });
    await world.register('move', { items: [PALLET] });
    await world.register('sale', { docType: 511, items: [P] });
    await world.register('next move', { items: [BOX] });
    await world.settle();
    expect([world.waitsFor('sale'), world.waitsFor('next move')]).toEqual([['move'], ['move', 'sale']]);
  });

  it.each(['one page', 'pages of one event'])('counts for who has claimed a pack by then: %s', async (pages) => {
    const size = pages === 'one page' ? 500 : 1;
    await world.register('sale', { docType: 511, items: [P] });
    await world.content(BOX, { [P]: BOX });
    await world.register('move', { items: [BOX] });
    await world.settle(size);
    expect(world.waitsFor('move')).toEqual(['sale']);
  });
});
