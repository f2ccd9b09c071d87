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

describe('what was accepted earlier, and is heard of later', () => {
  const YESTERDAY = '2025-12-31T09:00:00Z';

  it('changes nothing of what was packed since', async () => {
    await TOLD.ours('pack', { docType: 911, items: [P], into: BOX });
    await TOLD.ours('nest', { docType: 915, items: [BOX], into: PALLET });
    for (const [id, given] of Object.entries<GivenDocument>({
      pack: { docType: 911, items: [P, Q], into: OTHER_BOX },
      take: { docType: 913, items: [P] },
      open: { docType: 912, items: [BOX] },
      'open all': { docType: 912, items: [PALLET], isRecursive: true },
    })) {
      await world.others(`older ${id}`, given, YESTERDAY);
      await world.settle();
      // In doubt an item stays inside: where it is in nothing, nobody knows since when.
      expect([id, await containers()]).toEqual([id, { [P]: BOX, [Q]: OTHER_BOX, [BOX]: PALLET }]);
    }
  });

  it('counts where nothing is known that is as new, whatever the order in which it is heard of', async () => {
    await world.others('pack', { docType: 911, items: [P, Q], into: BOX }, YESTERDAY);
    await world.others('take', { docType: 913, items: [Q] }, '2025-12-31T09:00:01Z');
    await world.others('again', { docType: 911, items: [P], into: OTHER_BOX }, '2025-12-31T10:00:00+00:00');
    await world.others('before', { docType: 912, items: [OTHER_BOX] }, '2025-12-31T09:59:59Z');
    await world.settle();
    expect(await containers()).toEqual({ [P]: OTHER_BOX });
  });

  it('opens what was packed before it in the same page, and not what was packed after it', async () => {
    for (const [id, into] of [['one', BOX] as const, ['two', OTHER_BOX] as const])
      await world.register(id, { docType: 911, items: [id === 'one' ? P : Q], into });
    await world.settle();
    await world.answerAt('one', '2025-12-31T09:00:00Z');
    await world.answerAt('two', '2025-12-31T11:00:00Z');
    await world.others('open', { docType: 912, items: [BOX, OTHER_BOX] }, '2025-12-31T10:00:00Z');
    await world.settle();
    expect(await containers()).toEqual({ [Q]: OTHER_BOX });
  });

  it('opens no container that was put there since, nor takes itself out of one', async () => {
    await world.others('pack', { docType: 911, items: [P], into: BOX }, '2025-12-31T08:00:00Z');
    await TOLD.ours('nest', { docType: 915, items: [BOX], into: PALLET });
    await world.others('open all', { docType: 912, items: [PALLET], isRecursive: true }, YESTERDAY);
    await world.others('open all of it', { docType: 912, items: [BOX], isRecursive: true }, '2025-12-31T07:00:00Z');
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX, [BOX]: PALLET });
    await world.others('open this', { docType: 912, items: [BOX], isRecursive: true }, YESTERDAY);
    await world.settle();
    expect(await containers()).toEqual({ [BOX]: PALLET });
  });

  it('is not what counts of two packings that end in one page', async () => {
    await world.register('one', { docType: 911, items: [P], into: BOX });
    await world.register('two', { docType: 911, items: [P], into: OTHER_BOX, waives: true });
    await world.settle();
    await world.answerAt('one', '2025-12-31T11:00:00Z');
    await world.answerAt('two', '2025-12-31T09:00:00Z');
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX });
  });

  it('is what was accepted microseconds before, of ours and of others', async () => {
    await world.register('one', { docType: 911, items: [P], into: BOX });
    await world.register('two', { docType: 911, items: [P], into: OTHER_BOX, waives: true });
    await world.settle();
    await world.answerAt('one', '2025-12-31T10:00:00.000600Z');
    await world.answerAt('two', '2025-12-31T10:00:00.000500Z');
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX });
    await world.others('take', { docType: 913, items: [P] }, '2025-12-31T10:00:00.000599Z');
    await world.settle();
    expect(await containers()).toEqual({ [P]: BOX });
    await world.others('take since', { docType: 913, items: [P] }, '2025-12-31T10:00:00.000601Z');
    await world.settle();
    expect(await containers()).toEqual({});
  });

  it('is never later than the log heard of it, whatever a receipt says', async () => {
    await world.register('pack', { docType: 911, items: [P], into: BOX });
    await world.settle();
    await world.answerAt('pack', '2099-01-01T00:00:00Z');
    await TOLD.ours('take', { docType: 913, items: [P] });
    expect(await containers()).toEqual({});
  });

  it('is never later than the log heard of it, whatever a list says', async () => {
    await world.others('pack', { docType: 911, items: [P], into: BOX }, '2099-01-01T00:00:00Z');
    await TOLD.ours('take', { docType: 913, items: [P] });
    expect(await containers()).toEqual({});
    await world.others('pack again', { docType: 911, items: [P], into: BOX }, 'in spring');
    await TOLD.ours('take again', { docType: 913, items: [P] });
    expect(await containers()).toEqual({});
  });

  it('comes after a receipt of the same second where only a list tells of it', async () => {
    await world.register('pack', { docType: 911, items: [P], into: BOX });
    await world.settle();
    await world.answerAt('pack', '2025-12-31T10:00:00.500Z');
    await world.others('open', { docType: 912, items: [BOX] }, '2025-12-31T10:00:00Z');
    await world.settle();
    expect(await containers()).toEqual({});
  });

  it('is nothing that was packed between the answer about a container and when that was heard of', async () => {
    await TOLD.ours('pack', { docType: 911, items: [P], into: OTHER_BOX });
    await world.content(BOX, { [P]: BOX, [Q]: BOX }, YESTERDAY);
    await world.settle();
    expect(await containers()).toEqual({ [P]: OTHER_BOX, [Q]: BOX });
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
