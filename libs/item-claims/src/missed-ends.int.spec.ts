import { describe, expect, it } from '@jest/globals';
import { P, Q, inEachTest, type ItemWorld } from '../test/item-world.js';

let world: ItemWorld;
inEachTest((one) => (world = one));

/** What holds a document now, by request_id. */
const heldFor = (id: string): string[] => {
  const state = world.state(id);
  return 'holds' in state ? state.holds.map((one) => ('for' in one ? one.for.requestId : one.kind)) : [];
};
const concluded = async (id: string, outcome: 'accepted' | 'rejected' | 'failed'): Promise<void> => {
  await world.conclude(id, outcome);
  await world.settle();
};
const waive = async (id: string, hold: string): Promise<void> => {
  await world.execute(id, { type: 'WaiveHolds', predecessors: [hold] });
  await world.settle();
};

describe('a bad end before a document that was not told to wait for it', () => {
  it('holds a document of more packs than a wait names documents', async () => {
    const packs = Array.from({ length: 103 }, (_, n) => `${P.slice(0, -3)}${100 + n}`);
    for (const [n, pack] of packs.entries()) await world.register(`first-${n}`, { items: [pack] });
    await world.register('all', { items: packs });
    await world.settle();
    expect(world.waitsFor('all')).toHaveLength(100);
    expect(world.waitsFor('all')).not.toContain('first-1');
    await concluded('first-1', 'rejected');
    for (const n of packs.keys()) if (n !== 1) await world.conclude(`first-${n}`, 'accepted');
    await world.settle();
    expect(heldFor('all')).toEqual(['first-1']);
    expect(world.state('all')).toMatchObject({
      holds: [{ kind: 'items', outcome: 'rejected', for: { items: [packs[1]], itemCount: 1 } }],
    });
    expect(world.sent).not.toContain('all');
    await waive('all', 'first-1');
    expect(world.sent).toContain('all');
    expect(await world.rows('item_wait')).toBe(0);
  });

  it.each(['one page', 'pages of one event'])(
    'holds what waits for one that did not wait for it: %s',
    async (pages) => {
      const size = pages === 'one page' ? 500 : 1;
      await world.register('first', { items: [P, Q] });
      await world.settle();
      await world.register('waiving', { items: [P], waives: true });
      await world.register('last', { items: [P] });
      // Not told yet that it waits: it is when this has ended.
      await world.catchUp(size);
      await world.conclude('first', 'rejected');
      await world.settle(size);
      expect([world.waitsFor('last'), heldFor('last')]).toEqual([['waiving'], []]);
      await world.register('later', { items: [P] });
      await world.settle(size);
      await concluded('waiving', 'accepted');
      expect([world.waitsFor('last'), heldFor('last'), world.waitsFor('later')]).toEqual([[], ['first'], ['last']]);
      await waive('last', 'first');
      await concluded('last', 'accepted');
      expect(world.sent.at(-1)).toBe('later');
    },
  );

  it('holds nothing behind one that is held for it: a person decides once', async () => {
    for (const id of ['first', 'second', 'third']) await world.register(id, { items: [P] });
    await world.settle();
    await concluded('first', 'rejected');
    expect([heldFor('second'), world.waitsFor('third')]).toEqual([['first'], ['second']]);
    await waive('second', 'first');
    await concluded('second', 'accepted');
    expect(world.sent).toEqual(['first', 'second', 'third']);
  });

  it('holds what shares another pack with it than the one that is held between them', async () => {
    await world.register('first', { items: [P, Q] });
    await world.settle();
    await world.register('waiving', { items: [Q], waives: true });
    await world.register('second', { items: [P] });
    await world.register('third', { items: [P, Q] });
    await world.settle();
    await concluded('first', 'rejected');
    await concluded('waiving', 'accepted');
    await waive('second', 'first');
    await concluded('second', 'accepted');
    expect(heldFor('third')).toEqual(['first']);
  });

  it('holds what comes behind a report of a fact whose hold for it has lapsed', async () => {
    await world.register('first', { items: [P] });
    await world.register('fact', { docType: 511, items: [P] });
    await world.register('third', { items: [P] });
    await world.settle();
    await concluded('first', 'rejected');
    expect([heldFor('fact'), world.waitsFor('third')]).toEqual([['first'], ['fact']]);
    await world.execute('fact', { type: 'LapseHolds' });
    await world.settle();
    expect(world.sent).toEqual(['first', 'fact']);
    await concluded('fact', 'accepted');
    expect([world.sent, heldFor('third')]).toEqual([['first', 'fact'], ['first']]);
  });

  it('holds what comes behind one that is held for something else', async () => {
    await world.register('other', { items: [Q] });
    await world.register('first', { items: [P] });
    await world.register('second', { items: [P, Q] });
    await world.settle();
    await concluded('first', 'rejected');
    await waive('second', 'first');
    await world.register('again', { items: [P], resendOf: 'first' });
    await world.register('waiving', { items: [P], waives: true });
    await world.register('last', { items: [P] });
    await world.settle();
    expect([world.waitsFor('second'), world.waitsFor('last')]).toEqual([['other'], ['waiving']]);
    await concluded('again', 'rejected');
    for (const id of ['waiving', 'other', 'second']) await concluded(id, 'accepted');
    expect([heldFor('last'), world.sent.includes('last')]).toEqual([['again'], false]);
  });

  it('holds what comes behind one that was held for it, and that an earlier attempt had sent', async () => {
    await world.register('tried', { items: [P] });
    await world.settle();
    await world.tried('tried');
    await world.execute('tried', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    await world.settle();
    await world.register('first', { items: [P] });
    await world.settle();
    await world.execute('tried', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.settle();
    await world.register('waiving', { items: [P], waives: true });
    await world.register('last', { items: [P] });
    await world.settle();
    expect([world.waitsFor('tried'), world.waitsFor('last')]).toEqual([['first'], ['waiving']]);
    await concluded('first', 'rejected');
    expect(heldFor('tried')).toEqual(['first']);
    await world.execute('tried', {
      ...{ type: 'RecordSendAnswer', attempt: 1 },
      answer: { kind: 'sent', documentId: 'tried', answerSha256: 'a'.repeat(64) },
    });
    await world.settle();
    await world.execute('tried', {
      type: 'RecordReceipt',
      receipt: { receiptSha256: 'b'.repeat(64), result: 'accepted', acceptedAt: '2026-03-01T10:00:00Z', errorCount: 0 },
    });
    await world.tell('tried', 'accepted');
    await concluded('waiving', 'accepted');
    expect([world.state('tried').phase, heldFor('last')]).toEqual(['concluded', ['first']]);
  });

  it('holds nothing that waives, and that is no shield', async () => {
    await world.register('first', { items: [P] });
    await world.register('waiving', { items: [P], waives: true, after: ['late'] });
    await world.register('last', { items: [P] });
    await world.settle();
    await concluded('first', 'rejected');
    await world.register('late', { items: [Q] });
    await world.settle();
    await concluded('late', 'accepted');
    expect([heldFor('waiving'), world.sent.at(-1)]).toEqual([[], 'waiving']);
    await concluded('waiving', 'accepted');
    expect(heldFor('last')).toEqual(['first']);
  });

  it('holds nothing that goes before it by its command', async () => {
    await world.register('first', { items: [P], after: ['before'] });
    await world.register('free', { items: [P], waives: true, after: ['late'] });
    await world.register('before', { items: [P], after: ['late'] });
    await world.settle();
    await world.execute('first', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    await world.execute('first', { type: 'EndHeld', predecessors: ['person@1'] });
    await world.settle();
    expect(world.state('first')).toMatchObject({ phase: 'concluded', outcome: 'failed' });
    await world.register('late', { items: [Q] });
    await world.settle();
    await concluded('late', 'accepted');
    expect([heldFor('free'), world.sent.at(-1)]).toEqual([[], 'free']);
    await concluded('free', 'accepted');
    expect([heldFor('before'), world.sent.at(-1)]).toEqual([[], 'before']);
  });

  it('holds nothing that came before it and was overtaken', async () => {
    await world.register('other', { items: [Q] });
    await world.register('early', { items: [P, Q] });
    await world.register('first', { items: [P], waives: true });
    await world.settle();
    await concluded('first', 'rejected');
    await concluded('other', 'accepted');
    expect([heldFor('early'), world.sent.at(-1)]).toEqual([[], 'early']);
  });

  it('holds what comes behind one that ended itself before it heard of that', async () => {
    for (const id of ['first', 'second', 'third']) await world.register(id, { items: [P] });
    await world.catchUp();
    await world.conclude('first', 'rejected');
    await world.catchUp();
    await world.execute('second', { type: 'RefuseRing', ring: [{ commandId: 'command first', requestId: 'first' }] });
    await world.settle();
    expect(heldFor('third')).toEqual(['second']);
    await waive('third', 'second');
    expect(heldFor('third')).toEqual(['first']);
  });

  it('holds what comes behind one that ended itself, right before', async () => {
    for (const id of ['first', 'second', 'third']) await world.register(id, { items: [P] });
    await world.settle();
    await world.execute('second', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    await world.execute('second', { type: 'EndHeld', predecessors: ['person@1'] });
    await world.conclude('first', 'rejected');
    await world.tell('second', 'failed');
    await world.settle();
    expect(heldFor('third')).toEqual(['second']);
    await waive('third', 'second');
    expect(heldFor('third')).toEqual(['first']);
  });

  it('holds nothing that registers after it, on one page too', async () => {
    await world.register('other', { items: [Q] });
    await world.register('first', { items: [P] });
    await world.settle();
    await world.conclude('first', 'rejected');
    await world.register('behind', { items: [P, Q] });
    await world.settle();
    await concluded('other', 'accepted');
    expect([heldFor('behind'), world.sent.at(-1)]).toEqual([[], 'behind']);
  });

  it('holds nothing behind what stood aside as it ended', async () => {
    await world.register('first', { items: [P] });
    await world.settle();
    await world.execute('first', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    await world.settle();
    await world.register('other', { items: [Q] });
    await world.register('behind', { items: [P, Q] });
    await world.settle();
    await world.execute('first', { type: 'EndHeld', predecessors: ['person@1'] });
    await world.settle();
    await concluded('other', 'accepted');
    expect([heldFor('behind'), world.sent.at(-1)]).toEqual([[], 'behind']);
  });

  it('holds nothing where it has turned out well by then', async () => {
    await world.register('first', { items: [P] });
    await world.register('waiving', { items: [P], waives: true });
    await world.register('last', { items: [P] });
    await world.settle();
    await concluded('first', 'failed');
    await world.revise('first', 'accepted');
    await concluded('waiving', 'accepted');
    expect([heldFor('last'), world.sent.at(-1)]).toEqual([[], 'last']);
  });

  it('is that of a split document as a whole', async () => {
    await world.register('zero', { items: [P] });
    for (const [n, item] of [P, Q].entries()) await world.register(`part-${n}`, { items: [item], group: 'whole' });
    await world.registerGroup('whole', ['part-0', 'part-1'], { waives: false });
    await world.register('waiving', { items: [P, Q], waives: true });
    await world.register('last', { items: [P, Q] });
    await world.settle();
    await concluded('zero', 'rejected');
    await world.executeGroup('whole', { type: 'EndHeld', predecessors: ['zero'] });
    for (const requestId of ['part-0', 'part-1'])
      await world.executeGroup('whole', {
        ...{ type: 'NoteMemberConcluded', requestId, outcome: 'failed', partialStops: false },
      });
    await world.settle();
    expect([world.waitsFor('last'), world.group('whole').phase]).toEqual([['waiving'], 'concluded']);
    await concluded('waiving', 'accepted');
    expect(world.state('last')).toMatchObject({
      holds: [{ for: { requestId: 'whole', items: [P, Q], itemCount: 2 } }],
    });
  });
});
