import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from '#domain';
import { HOME, P, Q, inEachTest, registryIdOf, type ItemWorld } from '../test/item-world.js';

const HOLD: DocumentCommand = { type: 'HoldByPerson', by: 'anna', reason: 'a wrong place' };
const [ATTIC, CELLAR] = ['00000000000465', '00000000000466'];

let world: ItemWorld;
inEachTest((one) => (world = one));

/** Registers and lets everything follow. */
async function given(id: string, document: Parameters<ItemWorld['register']>[1]): Promise<void> {
  await world.register(id, document);
  await world.settle();
}

describe('a move of a whole place', () => {
  it.each([
    ['a page of its own each', given],
    ['one page', (id: string, document: Parameters<ItemWorld['register']>[1]) => world.register(id, document)],
  ])('waits for what is under way there, and what comes later waits for it: %s', async (_how, take) => {
    await take('shipment', { items: [P] });
    await take('elsewhere', { items: [Q], place: CELLAR });
    await take('move', { docType: 432, items: [], to: ATTIC });
    await take('from there', { items: [Q] });
    await take('where it goes', { items: [Q], place: ATTIC });
    await world.settle();
    expect(world.sent).toEqual(['shipment', 'elsewhere']);
    expect(world.state('move')).toMatchObject({ waitingFor: [{ requestId: 'shipment', items: [HOME], itemCount: 1 }] });
    expect(world.waitsFor('from there')).toEqual(['elsewhere', 'move']);
    expect(world.waitsFor('where it goes')).toEqual(['from there', 'move']);
    for (const id of ['shipment', 'elsewhere', 'move', 'from there', 'where it goes']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['shipment', 'elsewhere', 'move', 'from there', 'where it goes']);
    expect(await world.rows('item_claim')).toBe(0);
  });

  it('that its command has wait for another waits for what is under way there too, when that is over', async () => {
    await given('first', { items: [Q], place: CELLAR });
    await given('shipment', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC, after: ['first'] });
    expect(world.waitsFor('move')).toEqual(['first', 'shipment']);
    await world.conclude('shipment', 'accepted');
    await given('next', { items: [P], place: ATTIC, waives: true });
    await world.conclude('first', 'accepted');
    await world.settle();
    expect(world.waitsFor('move')).toEqual(['next']);
  });

  it('needs its turn, and no good end: neither is it held, nor what comes after it, by what concerns it not', async () => {
    await given('shipment', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    await given('from there', { items: [Q] });
    for (const id of ['shipment', 'move']) {
      await world.conclude(id, 'rejected');
      await world.settle();
    }
    expect(world.sent).toEqual(['shipment', 'move', 'from there']);
  });

  it('stands aside while it is held, also where it waits, and waits for what went ahead when the hold ends', async () => {
    await given('shipment', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    await given('ahead', { items: [Q], place: ATTIC });
    expect(world.waitsFor('ahead')).toEqual(['move']);
    await world.execute('move', HOLD);
    await world.settle();
    expect(world.sent).toEqual(['shipment', 'ahead']);
    await world.execute('move', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.conclude('shipment', 'accepted');
    await world.settle();
    expect(world.waitsFor('move')).toEqual(['ahead']);
    await world.conclude('ahead', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['shipment', 'ahead', 'move']);
  });

  it('stands aside too where what its command comes after ends badly', async () => {
    await given('first', { items: [Q], place: CELLAR });
    await given('move', { docType: 432, items: [], to: ATTIC, after: ['first'] });
    await given('ahead', { items: [P] });
    expect(world.waitsFor('ahead')).toEqual(['move']);
    await world.conclude('first', 'rejected');
    await world.settle();
    expect(world.sent).toEqual(['first', 'ahead']);
  });

  it('hears while it stands aside that it waits no more: for what is held too, and in a chain', async () => {
    await given('held', { items: [P] });
    await given('link', { items: [Q], after: ['middle'] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('move')).toEqual(['held', 'link']);
    for (const id of ['move', 'held']) {
      await world.execute(id, HOLD);
      await world.settle();
    }
    expect(world.waitsFor('move')).toEqual(['link']);
    await given('middle', { items: [], place: CELLAR, after: ['move'] });
    expect([world.state('middle').phase, world.waitsFor('move')]).toEqual(['waiting', []]);
    await world.execute('move', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.settle();
    expect(world.sent).toEqual(['held', 'move']);
  });

  it.each([
    ['a page of its own each', true],
    ['one page', false],
  ])('does not wait for what is held while that waits, and that waits for it: %s', async (_how, isSettled) => {
    const take = isSettled ? given : (...of: Parameters<typeof given>) => world.register(...of);
    await given('x', { items: [P], place: CELLAR });
    await take('stuck', { items: [P] });
    await take('move', { docType: 432, items: [], to: ATTIC });
    await take('later', { items: [Q] });
    await take('same pack', { items: [P], place: CELLAR });
    if (!isSettled) await world.catchUp();
    await world.conclude('x', 'rejected');
    await world.settle();
    expect(world.sent).toEqual(['x', 'move']);
    expect(world.state('later')).toMatchObject({ phase: 'waiting', itemWaits: 1 });
    // One that comes now does not wait for it either.
    await given('next', { docType: 432, items: [], place: CELLAR, to: HOME });
    expect(world.waitsFor('next')).toEqual(['later', 'move']);
    expect(world.waitsFor('same pack')).toEqual(['stuck']);
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
    await world.settle();
    expect(world.waitsFor('stuck')).toEqual(['move']);
    for (const id of ['move', 'stuck', 'later', 'same pack', 'next']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['x', 'move', 'stuck', 'later', 'same pack', 'next']);
    expect(await world.rows('item_wait')).toBe(0);
  });

  it.each([
    ['registers before the hold', 'first', given],
    ['registers after it', 'last', given],
    ['registers with it in one page', 'last', (...of: Parameters<typeof given>) => world.register(...of)],
  ])('does not wait for what waits for what is held, in any number of steps: it %s', async (_how, when, take) => {
    await given('x', { items: [P], place: CELLAR });
    await given('stuck', { items: [P] });
    const follow = async (): Promise<void> => {
      await take('same', { items: [P] });
      await take('behind', { items: [P, Q] });
      await take('by command', { items: [], after: ['behind'] });
      await take('move', { docType: 432, items: [], to: ATTIC });
    };
    if (when === 'first') await follow();
    await world.conclude('x', 'rejected');
    await world.settle();
    if (when === 'last') await follow();
    await world.settle();
    expect(world.sent).toEqual(['x', 'move']);
    await given('later', { items: ['046070000000011234567890003'], place: ATTIC });
    expect(world.waitsFor('later')).toEqual(['move']);
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
    await given('next', { docType: 432, items: [], to: ATTIC });
    for (const id of ['move', 'stuck', 'same', 'behind', 'by command', 'later', 'next']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['x', 'move', 'stuck', 'later', 'same', 'behind', 'by command', 'next']);
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('does not wait for what registers with it in one page, and waits for what is held', async () => {
    await given('x', { items: [P], place: CELLAR });
    await given('stuck', { items: [P] });
    await world.conclude('x', 'rejected');
    await world.settle();
    await world.register('same', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect([world.sent, world.waitsFor('same')]).toEqual([['x', 'move'], ['stuck']]);
  });

  it('does not wait for what comes after what the gate holds, and waits for it when that is let go', async () => {
    await given('held', { items: [P], place: CELLAR });
    await given('after it', { items: [Q], after: ['held'] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('move')).toEqual(['after it']);
    await world.execute('held', { type: 'HoldAtGate', finding: { packs: [], packCount: 1, knownAt: '7' } });
    await world.settle();
    expect(world.sent).toEqual(['held', 'move']);
    await world.execute('held', { type: 'WaiveHolds', predecessors: ['gate@7'] });
    await given('next', { docType: 432, items: [], to: ATTIC });
    await world.conclude('move', 'accepted');
    await world.settle();
    expect(world.waitsFor('next')).toEqual(['after it']);
  });

  it('does not wait for what comes to wait for what is held when it was about to go', async () => {
    await given('x', { items: [P], place: CELLAR });
    await given('stuck', { items: [P], place: CELLAR });
    await world.conclude('x', 'rejected');
    await given('hides it', { items: [P], place: CELLAR, waives: true });
    await given('late', { items: [P] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect([world.waitsFor('late'), world.waitsFor('move')]).toEqual([['hides it'], ['late']]);
    await world.conclude('hides it', 'accepted');
    await world.settle();
    expect([world.waitsFor('late'), world.sent]).toEqual([['stuck'], ['x', 'hides it', 'move']]);
  });

  it.each<[string, Parameters<ItemWorld['register']>[1]]>([
    ['by its command', { items: [], place: CELLAR, after: ['held'] }],
    ['by its packs', { items: [P], place: CELLAR }],
  ])('does not wait for what a link that registers late has wait for what is held: %s', async (_how, link) => {
    await given('x', { items: [P], place: CELLAR });
    await given('held', { items: [P], place: CELLAR });
    await world.conclude('x', 'rejected');
    await given('first', { items: [Q], after: ['link'] });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('move')).toEqual(['first']);
    await given('link', link);
    expect([world.waitsFor('link'), world.waitsFor('move'), world.sent]).toEqual([['held'], [], ['x', 'move']]);
  });

  it('keeps waiting for what is held, where a document of its group names the same pack', async () => {
    await given('x', { items: [P], place: CELLAR });
    await given('stuck', { items: [P] });
    await world.register('whole', { docType: 432, items: [], to: ATTIC, group: 'g' });
    await world.register('of the pack', { items: [P], group: 'g' });
    await world.registerGroup('g', ['whole', 'of the pack'], { waives: false });
    await world.settle();
    await world.conclude('x', 'rejected');
    await world.settle();
    expect(world.group('g')).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: 'stuck' }] });
    expect(world.sent).toEqual(['x']);
  });

  it('stands aside where it is held before it was told to wait', async () => {
    await given('shipment', { items: [P] });
    await world.register('move', { docType: 432, items: [], to: ATTIC });
    await world.register('untold', { items: [Q], place: ATTIC });
    await world.catchUp();
    await world.execute('move', HOLD);
    await world.settle();
    await given('ahead', { items: [Q], place: CELLAR, to: ATTIC });
    expect(world.state('move')).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: 'shipment' }] });
    expect([world.sent, world.waitsFor('ahead')]).toEqual([['shipment', 'untold'], ['untold']]);
    await world.execute('move', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.conclude('shipment', 'accepted');
    await world.settle();
    expect(world.waitsFor('move')).toEqual(['untold']);
    for (const id of ['untold', 'move', 'ahead']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['shipment', 'untold', 'move', 'ahead']);
  });

  it('is released before it was told to wait, and documents of its places wait for it again', async () => {
    await given('shipment', { items: [P] });
    await world.register('move', { docType: 432, items: [], to: ATTIC });
    await world.catchUp();
    await world.execute('move', HOLD);
    await world.execute('move', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.settle();
    await given('later', { items: [Q] });
    expect([world.waitsFor('move'), world.waitsFor('later')]).toEqual([['shipment'], ['move']]);
  });

  it('of a held group is nothing that others wait for, and neither is it where it is told late', async () => {
    await given('x', { items: [P], place: CELLAR });
    await world.register('whole', { docType: 432, items: [], to: ATTIC, group: 'g' });
    await world.register('of a pack', { items: [P], group: 'g' });
    await world.registerGroup('g', ['whole', 'of a pack'], { after: ['x'], waives: false });
    await given('later', { items: [Q] });
    await given('same pack', { items: [P], place: CELLAR });
    expect([world.waitsFor('later'), world.waitsFor('same pack')]).toEqual([['g'], ['g']]);
    await world.conclude('x', 'rejected');
    await world.settle();
    await given('ahead', { items: [], docType: 415 });
    expect(world.group('g')).toMatchObject({ phase: 'waiting', holds: [{ kind: 'after' }] });
    expect(world.sent).toEqual(['x', 'later', 'ahead']);
    expect(world.waitsFor('same pack')).toEqual(['g']);
  });

  it('waits for packs that go there, and leaves all in its container', async () => {
    const BOX = '146070000000000011';
    await given('packing', { docType: 911, items: [P], into: BOX });
    await world.conclude('packing', 'accepted');
    await given('in', { docType: 431, items: [BOX], place: CELLAR, to: HOME });
    await given('move', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('move')).toEqual(['in']);
    for (const id of ['in', 'move']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(await world.rows('item_container')).toBe(1);
  });

  it('of the predecessor of a company names that place itself', async () => {
    await given('shipment', { items: [P], place: CELLAR });
    await given('succession', { docType: 812, items: [], place: 'c0ffee00-0000-0000-0000-000000000000', from: CELLAR });
    expect(world.waitsFor('succession')).toEqual(['shipment']);
  });

  it('is the one thing that two documents of a place meet in', async () => {
    await given('a', { items: [P] });
    await given('b', { items: [Q] });
    expect([world.sent, await world.rows('item_claim')]).toEqual([['a', 'b'], 4]);
  });
});

/** Has `stuck` held while it waits for `y`, and ends what holds it. */
const ENDS_OF_HOLDS: [string, () => Promise<unknown>][] = [
  [
    'a person waives the hold of a person',
    async () => {
      await given('stuck', { items: [Q] });
      await world.execute('stuck', HOLD);
      await world.settle();
      await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['person@1'] });
    },
  ],
  [
    'a person waives a bad end',
    async () => {
      await given('stuck', { items: [P, Q] });
      await world.conclude('x', 'rejected');
      await world.settle();
      await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
    },
  ],
  [
    'a bad end is revised',
    async () => {
      await given('stuck', { items: [P, Q] });
      await world.conclude('x', 'failed');
      await world.settle();
      await world.revise('x', 'accepted');
    },
  ],
  [
    'a bad end lapses',
    async () => {
      await given('stuck', { docType: 511, items: [P, Q] });
      await world.conclude('x', 'rejected');
      await world.settle();
      await world.execute('stuck', { type: 'LapseHolds' });
    },
  ],
  [
    'the wait for what ended badly is lifted',
    async () => {
      await given('stuck', { items: [P, Q] });
      await world.conclude('x', 'rejected');
      await world.settle();
      await world.execute('stuck', { type: 'LiftItemWait', requestId: 'x' });
    },
  ],
  [
    'the gate lifts its hold',
    async () => {
      await world.register('stuck', { items: [Q] });
      await world.catchUp();
      const finding = { packs: [], packCount: 1, knownAt: '7' };
      await world.execute('stuck', { type: 'HoldAtGate', finding });
      await world.settle();
      await world.execute('stuck', {
        ...{ type: 'RejudgeAtGate', holdKnownAt: '7' },
        finding: { ...finding, packCount: 0, knownAt: '8' },
      });
    },
  ],
  [
    'a suspension ends',
    async () => {
      await world.register('stuck', { items: [Q] });
      await world.catchUp();
      const series = { gtin: '04607000000001', series: 'A', suspensions: ['s'], packs: [Q], packCount: 1 };
      const finding = { series: [series], packCount: 1, knownAt: '7' };
      await world.execute('stuck', { type: 'HoldForSuspension', finding });
      await world.settle();
      await world.execute('stuck', {
        ...{ type: 'RejudgeSuspension', holdKnownAt: '7' },
        finding: { series: [], packCount: 0, knownAt: '8' },
      });
    },
  ],
  ...(['waived', 'revised', 'lapsed', 'lifted'] as const).map((how): [string, () => Promise<unknown>] => [
    `the bad end that holds a group is ${how}`,
    async () => {
      await world.register('one', { docType: 511, items: [P], group: 'stuck' });
      await world.register('two', { docType: 511, items: [Q], group: 'stuck' });
      await world.registerGroup('stuck', ['one', 'two'], { waives: false });
      await world.settle();
      await world.conclude('x', 'failed');
      await world.settle();
      if (how === 'revised') return world.revise('x', 'partial');
      if (how === 'waived') return world.executeGroup('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
      if (how === 'lapsed') return world.executeGroup('stuck', { type: 'LapseHolds' });
      return world.executeGroup('stuck', { type: 'LiftItemWait', requestId: 'x' });
    },
  ]),
];

describe('what waits on when nothing holds it any more', () => {
  it.each(ENDS_OF_HOLDS)('is waited for by a move of its place: %s', async (_how, holdAndEnd) => {
    await given('x', { items: [P], place: CELLAR });
    await given('y', { items: [Q], place: CELLAR });
    await holdAndEnd();
    await world.settle();
    await given('move', { docType: 432, items: [], to: ATTIC });
    const stuck = [world.state('stuck'), world.group('stuck')].find(({ phase }) => phase !== 'absent');
    expect(stuck).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: 'y' }], holds: [] });
    expect([world.waitsFor('move'), world.sent]).toEqual([['stuck'], ['x', 'y']]);
  });

  it('is waited for where the hold and its end come in one page with the move', async () => {
    await given('y', { items: [Q], place: CELLAR });
    await given('stuck', { items: [Q] });
    await world.execute('stuck', HOLD);
    await world.register('ahead', { docType: 432, items: [], to: ATTIC });
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.register('move', { docType: 432, items: [], to: ATTIC });
    await world.settle();
    await world.conclude('ahead', 'accepted');
    await world.settle();
    expect([world.sent, world.waitsFor('move')]).toEqual([['y', 'ahead'], ['stuck']]);
  });

  it('is waited for by a move that is to be planned, and not by one that has gone ahead', async () => {
    await given('y', { items: [Q], place: CELLAR });
    await given('stuck', { items: [Q] });
    await world.execute('stuck', HOLD);
    await world.settle();
    await given('under way', { docType: 432, items: [], to: '00000000000467' });
    await given('to be planned', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('to be planned')).toEqual(['under way']);
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.settle();
    await world.conclude('under way', 'accepted');
    await world.settle();
    expect([world.sent, world.waitsFor('to be planned')]).toEqual([['y', 'under way'], ['stuck']]);
    for (const id of ['y', 'stuck']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['y', 'under way', 'stuck', 'to be planned']);
  });

  it.each(['before', 'after'])(
    'is waited for by a move that registers %s the resend of what held it is held',
    async (when) => {
      await given('x', { items: [P], place: CELLAR });
      await given('y', { items: [Q], place: CELLAR });
      await given('stuck', { items: [], docType: 415, after: ['x', 'y'] });
      await world.conclude('x', 'rejected');
      await given('resend', { items: [P], place: CELLAR, resendOf: 'x' });
      await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
      await world.settle();
      const move = () => given('move', { docType: 432, items: [], to: ATTIC });
      if (when === 'before') await move();
      await world.execute('resend', HOLD);
      await world.settle();
      if (when === 'after') await move();
      expect(world.state('stuck')).toMatchObject({ phase: 'waiting', waitingFor: [{ requestId: 'y' }], holds: [] });
      expect(world.waitsFor('move')).toEqual(['stuck']);
    },
  );

  it('is not waited for while another hold is left', async () => {
    await given('x', { items: [P], place: CELLAR });
    await given('y', { items: [Q], place: CELLAR });
    await given('stuck', { items: [P, Q] });
    await world.execute('stuck', HOLD);
    await world.conclude('x', 'rejected');
    await world.settle();
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await given('first', { docType: 432, items: [], to: ATTIC });
    expect(world.sent).toEqual(['x', 'y', 'first']);
    await world.conclude('first', 'accepted');
    await world.execute('stuck', { type: 'WaiveHolds', predecessors: ['x'] });
    await given('second', { docType: 432, items: [], to: ATTIC });
    expect(world.waitsFor('second')).toEqual(['stuck']);
  });
});

describe('a recall', () => {
  it.each([
    ['request_id', (id: string) => id],
    ['request_id in capital letters', (id: string) => id.toUpperCase()],
    ['id of the registry', registryIdOf],
    ['id of the registry in capital letters', (id: string) => registryIdOf(id).toUpperCase()],
  ])('waits for documents of the packs of its operation, named by %s, and they for it', async (_what, named) => {
    await given('operation', { docType: 431, items: [P, Q], to: ATTIC });
    await world.conclude('operation', 'accepted');
    await given('shipment', { items: [P], place: ATTIC });
    await given('recall', { docType: 250, items: [], recalls: named('operation') });
    await given('later', { items: [Q], place: ATTIC });
    expect(world.waitsFor('recall')).toEqual(['shipment']);
    expect(world.waitsFor('later')).toEqual(['recall']);
    for (const id of ['shipment', 'recall', 'later']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['operation', 'shipment', 'recall', 'later']);
  });

  it.each([
    ['request_id', 'operation'],
    ['id of the registry', registryIdOf('operation')],
    ['id of a copy', 'copy'],
    ['id of a copy in capital letters', 'COPY'],
  ])('finds an operation of before this table was there in the read models, by %s', async (_what, recalls) => {
    await given('operation', { docType: 431, items: [P], to: ATTIC });
    await world.conclude('operation', 'accepted');
    await given('shipment', { items: [P], place: CELLAR });
    const { rows } = await world.pool.query<{ sha256: string }>(
      'DELETE FROM item_operation RETURNING document_sha256 AS sha256',
    );
    await world.pool.query(
      `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
         subject_id, operation_date, item_count, phase, waiting_for, held_for, attempts, error_count, document_sha256,
         duplicate, registered_at)
       VALUES ('operation', 1, 1, 'operation', 'main', 431, '', '', 1, 'concluded', '[]', '[]', 1, 0, $1, false,
         now())`,
      [rows[0]?.sha256],
    );
    await world.pool.query(`INSERT INTO sent_document VALUES ('operation', $1)`, [registryIdOf('operation')]);
    await world.pool.query(
      `INSERT INTO movement_document (known_from, request_id, document_id, channel, doc_type, outcome, subject_id,
         operation_date, ordered_at, document_sha256)
       VALUES (2, 'operation', 'copy', 'other_system', 431, 'accepted', '', '', now(), 'bytes of the copy')`,
    );
    await given('recall', { docType: 250, items: [], recalls });
    expect(world.waitsFor('recall')).toEqual(['shipment']);
  });

  it('waits for its operation, also where both come in one page', async () => {
    await world.register('operation', { docType: 431, items: [P], to: ATTIC });
    await given('recall', { docType: 250, items: [], recalls: 'operation' });
    expect(world.waitsFor('recall')).toEqual(['operation']);
  });

  it('waits for a move of the place to which its operation went', async () => {
    await given('operation', { docType: 431, items: [P], to: ATTIC });
    await world.conclude('operation', 'accepted');
    await given('move', { docType: 432, items: [], place: ATTIC, to: CELLAR });
    await given('recall', { docType: 250, items: [], recalls: registryIdOf('operation') });
    expect(world.waitsFor('recall')).toEqual(['move']);
  });

  it('of what is not known here concerns no pack', async () => {
    await given('shipment', { items: [P] });
    await given('recall', { docType: 250, items: [], recalls: 'never seen' });
    expect(world.sent).toEqual(['shipment', 'recall']);
  });
});
