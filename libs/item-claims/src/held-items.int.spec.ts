import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from '#domain';
import { P, Q, inEachTest, type ItemWorld } from '../test/item-world.js';
import { stuckAmong } from './waits.js';

let world: ItemWorld;
inEachTest((one) => (world = one));

describe('a document that is held, and what waits by its items', () => {
  it('is nothing behind what the sequence gate holds: that waits for what went ahead, once it is released', async () => {
    const finding = { packs: [], packCount: 1, knownAt: '7' };
    await world.register('held', { items: [P, Q] });
    await world.register('told', { items: [P] });
    await world.settle();
    expect(world.waitsFor('told')).toEqual(['held']);
    // One that is to wait, and is not told yet when the gate holds the first.
    await world.register('untold', { items: [Q] });
    await world.execute('held', { type: 'HoldAtGate', finding });
    await world.settle();
    expect(world.sent).toEqual(['held', 'told', 'untold']);
    await world.register('later', { items: [P] });
    await world.settle();
    expect(world.waitsFor('later')).toEqual(['told']);
    await world.execute('held', { type: 'WaiveHolds', predecessors: ['gate@7'] });
    await world.settle();
    expect(world.waitsFor('held').sort()).toEqual(['later', 'untold']);
    for (const id of ['told', 'untold', 'later']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['held', 'told', 'untold', 'later', 'held']);
    await world.register('last', { items: [P] });
    await world.settle();
    expect(world.waitsFor('last')).toEqual(['held']);
  });

  it('is nothing that waits for it: released, and released again by what it waited for, it goes first', async () => {
    await world.register('held', { items: [P] });
    await world.settle();
    await world.execute('held', { type: 'HoldAtGate', finding: { packs: [], packCount: 1, knownAt: '7' } });
    await world.settle();
    await world.register('ahead', { items: [P] });
    await world.settle();
    await world.register('after', { items: [Q], after: ['held'] });
    await world.register('behind', { items: [P, Q] });
    await world.settle();
    await world.execute('held', { type: 'WaiveHolds', predecessors: ['gate@7'] });
    await world.settle();
    expect(world.waitsFor('held')).toEqual(['ahead']);
    await world.conclude('ahead', 'accepted');
    await world.settle();
    expect([world.state('held').phase, world.sent]).toEqual(['ready', ['held', 'ahead', 'held']]);
  });

  it('is nothing that is held for what it replaces: a resend that was held goes before that, how often it may be', async () => {
    const hold = (knownAt: string): DocumentCommand => ({
      ...{ type: 'HoldAtGate', finding: { packs: [], packCount: 1, knownAt } },
    });
    await world.register('x', { items: [P] });
    await world.register('behind', { items: [P] });
    await world.register('last', { items: [P] });
    await world.settle();
    await world.conclude('x', 'rejected');
    await world.register('again', { items: [P], resendOf: 'x' });
    await world.settle();
    for (const knownAt of ['7', '8']) {
      await world.execute('again', hold(knownAt));
      await world.settle();
      await world.execute('again', { type: 'WaiveHolds', predecessors: [`gate@${knownAt}`] });
      await world.settle();
      expect([world.state('again').phase, world.waitsFor('behind')]).toEqual(['ready', []]);
    }
    for (const id of ['again', 'behind', 'last']) {
      expect(world.sent.at(-1)).toBe(id);
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(await world.rows('item_wait')).toBe(0);
  });

  it('is what was told to wait for a resend, and is let go when that is held', async () => {
    await world.register('x', { items: [P] });
    await world.register('behind', { items: [P] });
    await world.settle();
    await world.conclude('x', 'rejected');
    await world.register('again', { items: [P], resendOf: 'x' });
    await world.settle();
    await world.execute('behind', { type: 'WaiveHolds', predecessors: ['x'] });
    await world.settle();
    expect(world.waitsFor('behind')).toEqual(['again']);
    await world.execute('again', { type: 'HoldAtGate', finding: { packs: [], packCount: 1, knownAt: '7' } });
    await world.settle();
    expect(world.sent).toEqual(['x', 'again', 'behind']);
    await world.execute('again', { type: 'WaiveHolds', predecessors: ['gate@7'] });
    await world.settle();
    expect(world.waitsFor('again')).toEqual(['behind']);
  });

  it('is a document with a pack of one that an earlier attempt has sent, whatever holds that', async () => {
    for (const [n, isOnePage] of [true, false].entries()) {
      const item = `${P.slice(0, -1)}${n + 5}`;
      const [held, later] = [`held-${n}`, `later-${n}`];
      await world.register(held, { items: [item] });
      await world.settle();
      await world.tried(held);
      await world.execute(held, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
      if (!isOnePage) await world.settle();
      await world.execute(held, {
        ...{ type: 'RecordSendAnswer', attempt: 1 },
        answer: { kind: 'sent', documentId: held, answerSha256: 'a'.repeat(64) },
      });
      await world.register(later, { items: [item] });
      await world.settle();
      expect([world.state(held).phase, world.waitsFor(later)]).toEqual(['sent', [held]]);
      expect(world.sent).not.toContain(later);
    }
  });

  it('is a document with a pack of one that an earlier attempt has sent, whatever that was to wait for', async () => {
    for (const [n, isTold] of [true, false].entries()) {
      const pack = (digit: number): string => `${P.slice(0, -1)}${digit + n * 3}`;
      const [held, other, ahead, behind] = [`held-${n}`, `other-${n}`, `ahead-${n}`, `behind-${n}`];
      await world.register(held, { items: [pack(2), pack(3)] });
      await world.settle();
      await world.tried(held);
      await world.execute(held, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
      await world.settle();
      // `behind` keeps its place before `held`, which goes behind all when it is released.
      await world.register(other, { items: [pack(4)] });
      await world.register(behind, { items: [pack(3), pack(4)] });
      await world.register(ahead, { items: [pack(2)] });
      await world.settle();
      expect(world.sent.slice(-2)).toEqual([other, ahead]);
      await world.execute(held, { type: 'WaiveHolds', predecessors: ['person@1'] });
      if (isTold) await world.settle();
      else await world.catchUp();
      await world.execute(held, {
        ...{ type: 'RecordSendAnswer', attempt: 1 },
        answer: { kind: 'sent', documentId: held, answerSha256: 'a'.repeat(64) },
      });
      await world.settle();
      await world.conclude(other, 'accepted');
      await world.settle();
      expect([world.state(held).phase, world.waitsFor(behind)]).toEqual(['sent', [held]]);
    }
  });

  it('of a document that registered before another was released from the gate has its own number of sends', async () => {
    const hold: DocumentCommand = { type: 'HoldAtGate', finding: { packs: [], packCount: 1, knownAt: '7' } };
    const waive: DocumentCommand = { type: 'WaiveHolds', predecessors: ['gate@7'] };
    await world.register('held', { items: [P] });
    await world.settle();
    await world.execute('held', hold);
    await world.settle();
    await world.register('other', { items: [Q] });
    await world.execute('held', waive);
    await world.settle();
    await world.execute('other', hold);
    await world.settle();
    await world.execute('other', waive);
    await world.settle();
    expect(world.sent).toEqual(['held', 'other', 'held', 'other']);
  });

  it('is none for a member that a suspension held: its turn has come, and its group claims for it', async () => {
    await world.register('before', { items: [P] });
    await world.register('first', { items: [P], group: 'g' });
    await world.register('second', { items: [P], group: 'g' });
    await world.registerGroup('g', ['first', 'second']);
    await world.settle();
    expect(world.sent).toEqual(['before', 'first']);
    const finding = { series: [], packCount: 1, unknown: { items: [P], itemCount: 1 }, knownAt: '7' };
    await world.execute('second', { type: 'HoldForSuspension', finding });
    await world.settle();
    await world.execute('second', { type: 'WaiveHolds', predecessors: ['suspension@7'] });
    await world.settle();
    expect([world.sent, world.waitsFor('second')]).toEqual([['before', 'first', 'second'], []]);
  });

  it('and the hold of a person end in any order, and then it is sent once', async () => {
    for (const [n, order] of [['hold', 'wait'] as const, ['wait', 'hold'] as const].entries()) {
      const item = `${P.slice(0, -1)}${n + 5}`;
      const [before, id] = [`before-${n}`, `held-${n}`];
      await world.register(before, { items: [item] });
      await world.register(id, { items: [item] });
      if (n === 0) await world.settle();
      // The second is held before it was told to wait.
      await world.execute(id, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
      await world.settle();
      expect(world.waitsFor(id)).toEqual([before]);
      for (const end of order) {
        if (end === 'wait') await world.conclude(before, 'accepted');
        else await world.execute(id, { type: 'WaiveHolds', predecessors: ['person@1'] });
        await world.settle();
      }
      expect(world.sent.filter((one) => one === id)).toHaveLength(1);
    }
  });

  it('is lifted once more, when what was held goes to the gate again', async () => {
    const hold = (knownAt: string): DocumentCommand => ({
      type: 'HoldAtGate',
      finding: { packs: [], packCount: 1, knownAt },
    });
    const fits = { packs: [], packCount: 0, knownAt: '8' };
    await world.register('held', { items: [P] });
    await world.settle();
    await world.execute('held', hold('7'));
    await world.settle();
    await world.execute('held', { type: 'RejudgeAtGate', holdKnownAt: '7', finding: fits });
    await world.settle();
    await world.register('next', { items: [P] });
    await world.settle();
    expect(world.waitsFor('next')).toEqual(['held']);
    await world.execute('held', hold('9'));
    await world.settle();
    expect(world.sent).toEqual(['held', 'held', 'next']);
  });

  it('is what went ahead of a document that was held after an attempt which surely did not arrive', async () => {
    await world.register('held', { items: [P] });
    await world.settle();
    await world.tried('held');
    await world.execute('held', { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    await world.settle();
    await world.register('ahead', { items: [P] });
    await world.settle();
    expect(world.sent).toEqual(['held', 'ahead']);
    await world.execute('held', { type: 'WaiveHolds', predecessors: ['person@1'] });
    await world.settle();
    expect(world.waitsFor('held')).toEqual(['ahead']);
    await world.conclude('ahead', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['held', 'ahead', 'held']);
    // The send that was planned before the hold, and waited in its lane, no longer counts.
    expect([await world.begin('held', 0), await world.begin('held', 1)]).toEqual([false, true]);
  });
});

describe('a report of an accomplished fact whose time is up', () => {
  const lapse = async (id: string): Promise<void> => {
    await world.execute(id, { type: 'LapseHolds', stuck: await stuckAmong(world.pool, world.waitsFor(id)) });
    await world.settle();
  };

  it('goes before what is held, waits for what is under way all the same, and is waited for', async () => {
    await world.register('bad', { items: [P] });
    await world.register('flying', { items: [Q] });
    await world.register('held', { items: [P, Q] });
    await world.register('behind', { items: [P, Q] });
    await world.register('sale', { docType: 511, items: [Q] });
    await world.settle();
    expect([world.waitsFor('sale'), await stuckAmong(world.pool, ['behind'])]).toEqual([['behind'], []]);
    await world.conclude('bad', 'rejected');
    await world.settle();
    expect([world.state('held').phase, world.sent]).toEqual(['waiting', ['bad', 'flying']]);
    // A wait names the newest alone, so it comes to what is under way step by step.
    await lapse('sale');
    expect(world.waitsFor('sale')).toEqual(['held']);
    await lapse('sale');
    expect(world.waitsFor('sale')).toEqual(['flying']);
    await lapse('sale');
    expect(world.waitsFor('sale')).toEqual(['flying']);
    await world.conclude('flying', 'accepted');
    await world.settle();
    expect(world.sent).toEqual(['bad', 'flying', 'sale']);
    await world.execute('held', { type: 'WaiveHolds', predecessors: ['bad'] });
    await world.settle();
    expect(world.waitsFor('held')).toEqual(['sale']);
    for (const id of ['sale', 'held', 'behind']) {
      await world.conclude(id, 'accepted');
      await world.settle();
    }
    expect(world.sent).toEqual(['bad', 'flying', 'sale', 'held', 'behind']);
    expect([await world.rows('item_wait'), await world.rows('claim_holder')]).toEqual([0, 0]);
  });
});
