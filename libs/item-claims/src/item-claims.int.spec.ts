import { describe, expect, it } from '@jest/globals';
import { BOX, PALLET, P, Q, inEachTest, type ItemWorld } from '../test/item-world.js';

let world: ItemWorld;
inEachTest((one) => (world = one));

const ordersOf = (links: string): string[] =>
  links === '' ? [''] : [...links].flatMap((first) => ordersOf(links.replace(first, '')).map((rest) => first + rest));
/** Every order of four links, and one of five in which a wait of the first for the last closes a ring of others. */
const ORDERS = [...ordersOf('abcd'), 'ceabd'];

/** Packs and concludes. */
async function packed(items: string[], into: string): Promise<void> {
  await world.register(`pack ${into}`, { docType: 911, items, into });
  await world.settle();
  await world.conclude(`pack ${into}`, 'accepted');
  await world.settle();
}

describe('what waits by its items', () => {
  it('is nothing where no item is shared: no event and no task but the send', async () => {
    await world.register('a', { items: [P] });
    await world.register('b', { items: [Q] });
    await world.settle();
    expect(world.sent).toEqual(['a', 'b']);
    await world.conclude('a', 'accepted');
    await world.conclude('b', 'rejected');
    await world.settle();
    expect(await Promise.all(['claim_holder', 'item_claim', 'item_wait'].map((one) => world.rows(one)))).toEqual([
      0, 0, 0,
    ]);
  });

  it('is a document with a pack of an earlier one, until that one is accepted', async () => {
    await world.register('a', { items: [P, Q] });
    await world.register('b', { items: [Q] });
    await world.settle();
    expect(world.state('b')).toMatchObject({
      phase: 'waiting',
      waitingFor: [{ requestId: 'a', items: [Q], itemCount: 1 }],
    });
    expect(world.sent).toEqual(['a']);
    await world.conclude('a', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['a', 'b']);
  });

  it('is decided in the order of the log, also within one page and after a crash', async () => {
    for (const id of ['a', 'b', 'c']) await world.register(id, { items: [P] });
    world.crashes = 1;
    await world.settle();
    expect(world.sent).toEqual(['a']);
    expect([world.waitsFor('b'), world.waitsFor('c')]).toEqual([['a'], ['b']]);
    await world.conclude('a', 'accepted');
    world.crashes = 1;
    await world.settle();
    expect(world.sent).toEqual(['a', 'b']);
  });

  it('is decided all the same where a page is too slow to be worked whole', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await world.register(id, { items: [P], after: [] });
    await world.register('e', { items: [Q] });
    world.eachEventMs = 4_000;
    await world.settle();
    // Ten seconds are over when the fourth would be begun.
    expect(world.pages.slice(0, 2)).toEqual([3, 2]);
    expect(world.sent).toEqual(['a', 'e']);
    expect(['b', 'c', 'd'].map((id) => world.waitsFor(id))).toEqual([['a'], ['b'], ['c']]);
    world.eachEventMs = 20_000;
    const before = world.pages.length;
    for (const id of ['a', 'b', 'c', 'd']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['a', 'e', 'b', 'c', 'd']);
    expect(Math.max(...world.pages.slice(before))).toBe(1);
  });

  it('is a document that moves the container around a pack, and the other way round', async () => {
    await packed([P, Q], BOX);
    await world.register('pack', { items: [P] });
    await world.register('box', { items: [BOX] });
    await world.register('other pack', { items: [Q] });
    await world.settle();
    expect(world.waitsFor('box')).toEqual(['pack']);
    // Two packs of one box do not wait for each other; this one waits for the box.
    expect(world.waitsFor('other pack')).toEqual(['box']);
  });

  it('is decided by claims of earlier pages as by those of its own', async () => {
    await packed([P, Q], BOX);
    for (const [id, item] of Object.entries({ pack: P, 'other pack': Q, pallet: PALLET })) {
      await world.register(id, { items: [item] });
      await world.settle();
    }
    // The box is only around both packs.
    expect(world.sent).toContain('other pack');
    await world.register('onto the pallet', { docType: 915, items: [BOX], into: PALLET });
    await world.settle();
    expect(world.waitsFor('onto the pallet')).toEqual(['other pack', 'pack', 'pallet']);
  });

  it('is a document of a pack while one of an earlier page moves a container around it', async () => {
    await packed([P], BOX);
    await packed([BOX], PALLET);
    await world.register('pallet', { items: [PALLET] });
    await world.settle();
    await world.register('pack', { items: [P] });
    await world.settle();
    expect(world.waitsFor('pack')).toEqual(['pallet']);
  });

  it('sees the container of a container, and who packs into it without having concluded', async () => {
    await packed([P], BOX);
    await world.register('nest', { docType: 915, items: [BOX], into: PALLET });
    await world.settle();
    await world.register('pack', { items: [P] });
    await world.register('pallet', { items: [PALLET] });
    await world.settle();
    expect(world.waitsFor('pack')).toEqual(['nest']);
    await world.conclude('nest', 'accepted');
    await world.settle();
    expect(world.sent).toContain('pack');
    // The pack registered while the pallet was only about to hold it, and was told first.
    expect(world.waitsFor('pallet')).toEqual(['pack']);
  });

  it('sees the container into which a document packs that registers later, and that both come after', async () => {
    await packed([BOX], PALLET);
    await world.register('take', { items: [P], after: ['pack'] });
    await world.register('open', { docType: 912, items: [BOX], after: ['pack'] });
    await world.register('pallet', { items: [PALLET], after: ['pack'] });
    await world.register('pack', { docType: 911, items: [P, Q], into: BOX });
    await world.settle();
    expect(world.sent).toEqual([`pack ${PALLET}`, 'pack']);
    await world.conclude('pack', 'accepted');
    await world.settle();
    expect(world.sent).toEqual([`pack ${PALLET}`, 'pack', 'take']);
    expect([world.waitsFor('open'), world.waitsFor('pallet')]).toEqual([['take'], ['open']]);
    for (const id of ['take', 'open']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent.slice(3)).toEqual(['open', 'pallet']);
  });

  it('forgets a container that was opened, and an item that was taken out', async () => {
    await packed([P, Q], BOX);
    await world.register('take', { items: [P] });
    await world.settle();
    await world.conclude('take', 'accepted');
    await world.settle();
    await world.register('pack', { items: [P] });
    await world.register('box', { docType: 912, items: [BOX] });
    await world.settle();
    expect(world.sent).toContain('box');
    await world.conclude('box', 'accepted');
    await world.settle();
    expect(await world.rows('item_container')).toBe(0);
  });

  it('is nothing where its command waives that; later ones wait for it', async () => {
    await world.register('a', { items: [P] });
    await world.register('b', { items: [P], waives: true });
    await world.register('c', { items: [P] });
    await world.settle();
    expect(world.sent).toEqual(['a', 'b']);
    // The newest is named; the other one is found when that wait is over.
    expect(world.waitsFor('c')).toEqual(['b']);
    await world.conclude('b', 'accepted');
    await world.settle();
    expect(world.waitsFor('c')).toEqual(['a']);
    await world.conclude('a', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['a', 'b', 'c']);
  });

  it('is held by a bad end, and released by a person, by a revision, or by a resend in its place', async () => {
    for (const how of ['person', 'revision', 'resend'] as const) {
      const [a, b, again] = [`a ${how}`, `b ${how}`, `again ${how}`];
      await world.register(a, { items: [P] });
      await world.register(b, { items: [P] });
      await world.settle();
      await world.conclude(a, 'failed');
      await world.settle();
      expect(world.state(b)).toMatchObject({ phase: 'waiting', holds: [{ kind: 'items', outcome: 'failed' }] });
      expect(world.sent).not.toContain(b);
      if (how === 'person') await world.execute(b, { type: 'WaiveHolds', predecessors: [a] });
      if (how === 'revision') await world.tell(a, 'accepted');
      if (how === 'resend') {
        await world.register(again, { items: [P], resendOf: a });
        await world.settle();
        // It does not wait for the one that waits for what it replaces.
        expect(world.sent).toContain(again);
        await world.conclude(again, 'accepted');
      }
      await world.settle();
      expect(world.sent).toContain(b);
      await world.conclude(b, 'accepted');
      await world.settle();
    }
  });

  it('keeps the place of a resend that failed for the next one, and waits for what may be under way', async () => {
    await world.register('a', { items: [P] });
    await world.register('b', { items: [P] });
    await world.settle();
    await world.conclude('a', 'rejected');
    await world.register('first', { items: [P], resendOf: 'a' });
    await world.settle();
    await world.conclude('first', 'rejected');
    await world.register('other', { items: [Q] });
    await world.register('second', { items: [P, Q], resendOf: 'first' });
    await world.settle();
    expect(world.waitsFor('second')).toEqual(['other']);
    await world.conclude('other', 'accepted');
    await world.settle();
    expect(world.sent).toContain('second');
    // A person lets the one that was held go: it waits for the resend, which is in the place before it.
    await world.execute('b', { type: 'WaiveHolds', predecessors: ['a'] });
    await world.settle();
    expect(world.waitsFor('b')).toEqual(['second']);
  });

  it('waits by items on top of `after`, whichever ends first', async () => {
    for (const first of ['early', 'named']) {
      const [early, named, late] = [`early ${first}`, `named ${first}`, `late ${first}`];
      await world.register(early, { items: [P] });
      await world.register(named, { items: [Q] });
      await world.register(late, { items: [P], after: [named] });
      await world.settle();
      expect(world.waitsFor(late)).toEqual([early, named].sort());
      await world.conclude(`${first} ${first}`, 'accepted');
      await world.settle();
      expect(world.sent).not.toContain(late);
      await world.conclude(first === 'early' ? named : early, 'accepted');
      await world.settle();
      expect(world.sent).toContain(late);
      await world.conclude(late, 'accepted');
      await world.settle();
    }
  });

  it('is told, where what its command comes after ended before the subscription had decided', async () => {
    await world.register('early', { items: [P] });
    await world.register('named', { items: [Q] });
    await world.settle();
    await world.register('late', { items: [P], after: ['named'] });
    await world.conclude('named', 'accepted');
    expect(world.state('late').phase).toBe('ready');
    await world.settle();
    expect(world.waitsFor('late')).toEqual(['early']);
    expect(world.sent).toEqual(['early', 'named']);
    await world.conclude('early', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['early', 'named', 'late']);
  });

  it('goes before an earlier document whose command comes after it', async () => {
    await world.register('late', { items: [P], after: ['early'] });
    await world.register('early', { items: [P] });
    await world.settle();
    expect(world.sent).toEqual(['early']);
    await world.conclude('early', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['early', 'late']);
  });

  it('lifts a wait by items for one that turns out to come after it, and refuses nobody', async () => {
    // With the link of the chain on a later page, on the same page, and before the wait was told.
    for (const how of ['later', 'at once', 'untold'] as const) {
      const [c, a, b, d] = [`c ${how}`, `a ${how}`, `b ${how}`, `d ${how}`];
      await world.register(d, { items: [Q] });
      await world.settle();
      await world.register(c, { items: [P], after: [b] });
      await world.register(a, { items: [P, Q] });
      if (how === 'later') await world.settle();
      if (how === 'untold') await world.catchUp();
      await world.register(b, { items: [P], after: [a] });
      world.crashes = 1;
      await world.settle();
      // It goes on to its other wait.
      expect([a, b, c].map((id) => world.waitsFor(id))).toEqual([[d], [a], [b]]);
      for (const id of [d, a, b, c]) {
        expect(world.sent.at(-1)).toBe(id);
        await world.conclude(id, 'accepted');
        await world.settle();
      }
      expect(await world.rows('item_wait')).toBe(0);
    }
  });

  it.each(ORDERS)('goes in the order of a chain of `after` whose links register as %s', async (order) => {
    const chain = [...order].sort();
    for (const link of order) {
      await world.register(link, { items: [P], after: chain.slice(0, chain.indexOf(link)).slice(-1) });
      await world.settle();
    }
    for (const link of chain) {
      expect(world.sent.at(-1)).toBe(link);
      await world.conclude(link, 'accepted');
      await world.settle();
    }
    expect([world.sent, await world.rows('item_wait')]).toEqual([chain, 0]);
  });

  it('is what a later document has under way that went ahead, once what was waited for turns out to come after', async () => {
    await world.register('y', { items: [P], after: ['x', 'w'] });
    await world.register('p', { items: [P], after: ['z'] });
    await world.settle();
    expect(world.waitsFor('p')).toEqual(['y', 'z']);
    // It waits for one that comes after this, and what it comes after may say that it does too.
    await world.register('x', { items: [P] });
    await world.settle();
    expect(world.sent).toEqual(['x']);
    await world.register('w', { items: [P], after: ['p'] });
    await world.register('z', { items: [Q] });
    await world.settle();
    expect(world.waitsFor('p')).toEqual(['z']);
    await world.conclude('z', 'accepted');
    await world.settle();
    expect(world.waitsFor('p')).toEqual(['x']);
    for (const id of ['x', 'p', 'w', 'y']) {
      expect(world.sent.at(-1)).toBe(id === 'x' ? 'z' : id);
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('is no link to a command that never came, once a person has decided that, whatever that comes after', async () => {
    await world.register('first', { items: [Q] });
    await world.register('waits', { items: [P], after: ['never', 'first'] });
    await world.settle();
    await world.execute('waits', { type: 'WaiveHolds', predecessors: [], missing: ['never'] });
    await world.settle();
    expect(world.waitsFor('waits')).toEqual(['first']);
    // It comes after all, and after the one that waited for it: that is no ring.
    await world.register('never', { items: [P], after: ['waits'] });
    await world.settle();
    for (const id of ['first', 'waits', 'never']) {
      expect(world.sent.at(-1)).toBe(id);
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('refuses a ring of `after` alone', async () => {
    await world.register('a', { items: [P], after: ['c'] });
    await world.register('b', { items: [Q], after: ['a'] });
    await world.register('c', { items: [P], after: ['b'] });
    await world.settle();
    expect(world.state('c')).toMatchObject({ outcome: 'failed', cause: 'waits_in_ring' });
    expect(world.sent).toEqual([]);
  });

  it('refuses the document that closes a ring of `after` and items', async () => {
    await world.register('first', { items: [P], after: ['last'] });
    await world.register('between', { items: [P, Q] });
    await world.register('last', { items: [Q] });
    await world.settle();
    expect(world.waitsFor('between')).toEqual(['first']);
    expect(world.state('last')).toMatchObject({ phase: 'concluded', outcome: 'failed', cause: 'waits_in_ring' });
    expect(world.sent).toEqual([]);
  });

  it('refuses it also where one of the ring comes after a document that is over', async () => {
    await world.register('first', { items: [P] });
    await world.settle();
    await world.register('late', { items: [P], after: ['last'] });
    await world.register('second', { items: [P], after: ['first'] });
    // It is released from that before it is told to wait for the other one.
    await world.catchUp();
    await world.conclude('first', 'accepted');
    await world.settle();
    expect(world.waitsFor('second')).toEqual(['late']);
    await world.register('last', { items: [P] });
    await world.settle();
    expect(world.state('last')).toMatchObject({ outcome: 'failed', cause: 'waits_in_ring' });
    expect(world.sent).toEqual(['first']);
  });

  it.each([1, 500])('is what lies in a container since a packing that has just ended, in pages of %i', async (size) => {
    await world.register('pack', { items: [P] });
    await world.register('into box', { docType: 911, items: [P], into: BOX, waives: true });
    await world.settle(size);
    await world.conclude('into box', 'accepted');
    await world.register('box', { items: [BOX] });
    await world.settle(size);
    expect([world.sent, world.waitsFor('box')]).toEqual([['pack', 'into box'], ['pack']]);
  });

  it('is nothing because of a query, whatever becomes of that; what a command names as `after` is waited for', async () => {
    await packed([P], BOX);
    await world.register('query', { docType: 220, items: [BOX] });
    await world.register('ship', { items: [BOX] });
    await world.register('later', { items: [BOX], after: ['query'] });
    await world.register('ask', { docType: 210, items: [P] });
    await world.settle();
    expect(world.sent.slice(1)).toEqual(['query', 'ship', 'ask']);
    expect(world.waitsFor('later')).toEqual(['query', 'ship']);
    await world.conclude('query', 'rejected');
    await world.settle();
    expect(world.state('later')).toMatchObject({ holds: [{ kind: 'after', for: { requestId: 'query' } }] });
    for (const id of ['ship', 'ask']) await world.conclude(id, 'accepted');
    await world.settle();
    await world.execute('later', { type: 'WaiveHolds', predecessors: ['query'] });
    await world.settle();
    await world.conclude('later', 'accepted');
    await world.settle();
    expect([world.sent.at(-1), await world.rows('claim_holder'), await world.rows('item_wait')]).toEqual([
      'later',
      0,
      0,
    ]);
  });

  it('goes on with the documents of before: those in flight claim, and nothing is planned for them again', async () => {
    await world.register('old', { items: [P] });
    await world.register('done', { items: [Q] });
    await world.conclude('done', 'accepted');
    await world.pool.query('UPDATE item_claim_start SET position = 100');
    await world.pool.query(
      `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
         subject_id, operation_date, item_count, phase, waiting_for, held_for, attempts, outcome, error_count,
         document_sha256, duplicate, registered_at)
       SELECT 'done', 2, 2, 'done', 'main', 415, '', '', 1, 'concluded', '[]', '[]', 1, 'accepted', 0, '', false,
         now()`,
    );
    await world.settle();
    expect([world.sent, await world.rows('claim_holder')]).toEqual([[], 1]);
  });

  it('plans nothing anew for a document of before that was held and released: that version sends it', async () => {
    await world.pool.query('UPDATE item_claim_start SET position = 100');
    await world.register('first', { items: [Q] });
    await world.register('shipment', { items: [P] });
    await world.register('move', { docType: 432, items: [], after: ['first'] });
    await world.conclude('first', 'rejected');
    await world.execute('move', { type: 'WaiveHolds', predecessors: ['first'] });
    await world.settle();
    expect([world.state('move').phase, world.sent, world.tasks.size]).toEqual(['ready', [], 0]);
    // It may be under way: what comes later waits for it.
    await world.pool.query('UPDATE item_claim_start SET position = 0');
    await world.register('later', { items: [Q] });
    await world.settle();
    expect(world.waitsFor('later')).toEqual(['move']);
  });
});
