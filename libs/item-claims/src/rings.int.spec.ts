import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from '#domain';
import { HOME, P, Q, inEachTest, type ItemWorld } from '../test/item-world.js';

const HOLD: DocumentCommand = { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' };
const [ATTIC, CELLAR] = ['00000000000465', '00000000000466'];

let world: ItemWorld;
inEachTest((one) => (world = one));

/** Registers and lets everything follow. */
async function given(id: string, document: Parameters<ItemWorld['register']>[1]): Promise<void> {
  await world.register(id, document);
  await world.settle();
}

describe('a move of a whole place', () => {
  it('in a group refuses nothing of a chain of `after` that it lies in', async () => {
    await given('first', { items: [P], after: ['last'] });
    await world.register('whole', { docType: 432, items: [], to: ATTIC, group: 'g' });
    await world.register('with it', { items: [Q], group: 'g' });
    await world.registerGroup('g', ['whole', 'with it'], { waives: false });
    await world.settle();
    expect(world.group('g')).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: 'first' }] });
    await given('last', { items: [], docType: 415 });
    expect([world.state('last').phase, world.sent]).toEqual(['waiting', ['whole']]);
  });

  it('in a ring goes ahead of a chain in which packs keep their order', async () => {
    await given('first', { items: [P], after: ['last'] });
    await given('same pack', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('move')).toEqual(['first', 'same pack']);
    await given('last', { items: [Q] });
    for (const id of ['move', 'last', 'first', 'same pack']) {
      expect(world.sent.at(-1)).toBe(id);
      if (id === 'first') expect(world.state('same pack')).toMatchObject({ itemWaits: 1 });
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('that registers before the last link of a chain refuses none who comes back behind that chain by a pack', async () => {
    await given('before', { items: [Q], place: CELLAR });
    await given('x', { items: [P], place: CELLAR, after: ['y'] });
    await given('z', { items: [P], place: CELLAR });
    await given('unit', { items: [P, Q] });
    expect([world.waitsFor('z'), world.waitsFor('unit')]).toEqual([['x'], ['before', 'z']]);
    await world.execute('z', HOLD);
    await world.execute('z', { type: 'EndHeld', predecessors: ['person@1'] });
    await world.tell('z', 'failed');
    await world.execute('unit', { type: 'WaiveHolds', predecessors: ['z'] });
    await world.settle();
    expect(world.waitsFor('unit')).toEqual(['before']);
    await given('move', { docType: 432, items: [], to: ATTIC });
    await given('y', { items: [], docType: 415, place: CELLAR, after: ['move'] });
    expect([world.waitsFor('move'), world.waitsFor('y')]).toEqual([['unit'], ['move']]);
    await world.conclude('before', 'accepted');
    await world.settle();
    expect([world.waitsFor('unit'), world.waitsFor('move'), world.sent]).toEqual([['x'], [], ['before', 'move']]);
    for (const id of ['move', 'y', 'x', 'unit']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['before', 'move', 'y', 'x', 'unit']);
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('lies beside a ring of `after` and packs, which is refused as it is without it', async () => {
    await given('first', { items: [P], after: ['last'] });
    await given('between', { items: [P, Q] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    await given('last', { items: [Q] });
    expect(world.state('last')).toMatchObject({ outcome: 'failed', cause: 'waits_in_ring' });
    expect(world.waitsFor('between')).toEqual(['first']);
  });

  it.each([
    ['by the place alone', [Q], ['between', 'move', 'last', 'first']],
    ['by a pack', [P, Q], ['move', 'last', 'first', 'between']],
  ])('refuses nothing of a chain of `after` that it lies in, and that it meets %s', async (_how, items, order) => {
    await given('first', { items: [P], after: ['last'] });
    await given('between', { items, place: items.length === 1 ? HOME : ATTIC });
    await given('move', { docType: 432, items: [], to: ATTIC });
    await given('last', { items: [], docType: 415 });
    for (const id of order) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(order);
  });
});
