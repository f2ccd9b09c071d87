import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from './decide.js';
import type { DocumentEvent, DocumentReference } from './events.js';
import { FIRST, registered, SECOND, SHA, typesOf, when } from '../../test/given-document.js';
import { eventsOf, groupRegistration, then, typesOf as groupTypesOf } from '../../test/given-group.js';
import type { GroupCommand } from '../group/decide.js';

const RESENT: DocumentReference = { commandId: 'resend-r-1', requestId: 'r-11' };
const note = (requestId: string, outcome: 'accepted' | 'partial' | 'rejected' | 'failed', more: object = {}) => ({
  type: 'NotePredecessor' as const,
  requestId,
  outcome,
  ...more,
});
const hold = (one: DocumentReference, outcome: 'rejected' | 'failed') => ({
  kind: 'after' as const,
  for: one,
  outcome,
});
const held = (one: DocumentReference, outcome: 'rejected' | 'failed'): DocumentEvent => ({
  type: 'DocumentHeld',
  data: { hold: hold(one, outcome) },
});
const concluded = (one: DocumentReference, outcome: 'accepted' | 'failed' | 'rejected'): DocumentEvent => ({
  type: 'PredecessorConcluded',
  data: { requestId: one.requestId, outcome },
});
const ENDED = {
  type: 'DocumentConcluded',
  data: { outcome: 'failed', cause: 'predecessor_failed', docType: 415, documentSha256: SHA },
};

const waiting: DocumentEvent[] = [
  registered([FIRST, SECOND]),
  { type: 'DocumentWaiting', data: { for: [FIRST, SECOND] } },
];
const heldForFirst: DocumentEvent[] = [...waiting, concluded(FIRST, 'failed'), held(FIRST, 'failed')];
const alone: DocumentEvent[] = [...heldForFirst, concluded(SECOND, 'accepted')];

describe('a document after one that ended badly', () => {
  it.each(['rejected', 'failed'] as const)('is held when it ended %s, and nothing is sent', (outcome) => {
    expect(when(waiting, note('r-1', outcome))).toEqual([concluded(FIRST, outcome), held(FIRST, outcome)]);
    expect(when([...waiting, concluded(FIRST, outcome), held(FIRST, outcome)], { type: 'BeginSend' })).toEqual([]);
  });

  it('stays held when the others end well', () => {
    expect(when(heldForFirst, note('r-2', 'accepted'))).toEqual([concluded(SECOND, 'accepted')]);
    expect(when(alone, { type: 'BeginSend' })).toEqual([]);
  });

  it.each(['accepted', 'partial'] as const)(
    'is released when that turns out %s, once nothing else is waited for',
    (outcome) => {
      expect(typesOf(when(alone, note('r-1', outcome)))).toEqual(['PredecessorConcluded', 'DocumentReleased']);
      expect(typesOf(when(heldForFirst, note('r-1', outcome)))).toEqual(['PredecessorConcluded']);
    },
  );

  it('is released by the document that was sent again in its place, which the event names', () => {
    expect(when(alone, note('r-1', 'accepted', { by: RESENT }))).toEqual([
      { type: 'PredecessorConcluded', data: { requestId: 'r-1', outcome: 'accepted', by: RESENT } },
      { type: 'DocumentReleased', data: {} },
    ]);
  });

  it('hears of a failure that turned out a rejection, and no older news after that', () => {
    expect(when(heldForFirst, note('r-1', 'failed'))).toEqual([]);
    const rejected = when(heldForFirst, note('r-1', 'rejected'));
    expect(rejected).toEqual([concluded(FIRST, 'rejected'), held(FIRST, 'rejected')]);
    expect(when([...heldForFirst, ...rejected], note('r-1', 'failed'))).toEqual([]);
    expect(when([...waiting, concluded(FIRST, 'accepted')], note('r-1', 'failed'))).toEqual([]);
  });

  it('is ended at once where the installation wants that of its type, and of no other', () => {
    const refused = { type: 'DocumentRefused', data: { predecessor: FIRST, predecessorOutcome: 'failed' } };
    expect(when(waiting, note('r-1', 'failed', { endAtOnceDocTypes: [701, 415] }))).toEqual([
      concluded(FIRST, 'failed'),
      refused,
      ENDED,
    ]);
    expect(when(waiting, note('r-1', 'failed', { endAtOnceDocTypes: [701] }))).toEqual([
      concluded(FIRST, 'failed'),
      held(FIRST, 'failed'),
    ]);
  });
});

describe('a person decides', () => {
  const release = (...predecessors: string[]): DocumentCommand => ({ type: 'WaiveHolds', predecessors });
  const end = (...predecessors: string[]): DocumentCommand => ({ type: 'EndHeld', predecessors });

  it('releases it: it goes when nothing else is waited for', () => {
    const waived = { type: 'HoldWaived', data: { holds: [hold(FIRST, 'failed')] } };
    expect(when(alone, release('r-1'))).toEqual([waived, { type: 'DocumentReleased', data: {} }]);
    expect(when(heldForFirst, release('r-1'))).toEqual([waived]);
    const afterwards = [...heldForFirst, ...when(heldForFirst, release('r-1'))];
    expect(typesOf(when(afterwards, note('r-2', 'accepted')))).toEqual(['PredecessorConcluded', 'DocumentReleased']);
  });

  it('releases only what that person saw', () => {
    const both = [...heldForFirst, concluded(SECOND, 'rejected'), held(SECOND, 'rejected')];
    expect(typesOf(when(both, release('r-1')))).toEqual(['HoldWaived']);
    expect(typesOf(when(both, release('r-1', 'r-2')))).toEqual(['HoldWaived', 'DocumentReleased']);
  });

  it('ends it as failed for what it was held for', () => {
    expect(when(alone, end('r-1'))).toEqual([
      { type: 'DocumentRefused', data: { predecessor: FIRST, predecessorOutcome: 'failed' } },
      ENDED,
    ]);
  });

  it('has it wait no more for what never came, and for nothing else', () => {
    const missing = (type: 'WaiveHolds' | 'EndHeld', ...ids: string[]): DocumentCommand => ({
      ...{ type, predecessors: [], missing: ids },
    });
    const [waived] = when(waiting, missing('WaiveHolds', 'r-1')) as [DocumentEvent];
    expect(when(waiting, missing('WaiveHolds', 'r-1'))).toEqual([
      { type: 'HoldWaived', data: { holds: [], missing: [FIRST] } },
    ]);
    // It comes after all, and that is no news any more.
    expect(when([...waiting, waived], note('r-1', 'rejected'))).toEqual([]);
    expect(typesOf(when([...waiting, waived], note('r-2', 'accepted')))).toEqual([
      'PredecessorConcluded',
      'DocumentReleased',
    ]);
    expect(when([...waiting, waived], missing('WaiveHolds', 'r-1'))).toEqual([]);
    expect(when(waiting, missing('EndHeld', 'r-2'))).toEqual([
      { type: 'DocumentRefused', data: { predecessor: SECOND } },
      ENDED,
    ]);
    const items: DocumentEvent = {
      type: 'DocumentWaiting',
      data: { kind: 'items', account: 'main', round: 1, for: [{ ...FIRST, items: ['p'], itemCount: 1 }] },
    };
    expect(when([registered(), items], missing('WaiveHolds', 'r-1'))).toEqual([]);
  });

  it('holds it, and then releases it from what never came with its own hold', () => {
    const byPerson: DocumentCommand = { type: 'HoldByPerson', by: 'anna', reason: 'where is r-1' };
    const held = [...waiting, ...when(waiting, byPerson)];
    const decided = when(held, { type: 'WaiveHolds', predecessors: ['person@1'], missing: ['r-1', 'r-2'] });
    expect(decided).toMatchObject([
      { type: 'HoldWaived', data: { holds: [{ kind: 'person' }], missing: [FIRST, SECOND] } },
      { type: 'DocumentReleased' },
    ]);
  });

  it('says nothing new where nothing is held, or not any more', () => {
    for (const command of [release('r-1'), end('r-1')]) {
      expect(when(waiting, command)).toEqual([]);
      expect(when([registered()], command)).toEqual([]);
      expect(when([...alone, concluded(FIRST, 'accepted'), { type: 'DocumentReleased', data: {} }], command)).toEqual(
        [],
      );
    }
  });
});

describe('a group after something that ended badly', () => {
  const start: GroupCommand = { type: 'Register', registration: groupRegistration([FIRST]) };
  const bad: GroupCommand = note('r-1', 'failed');

  it('is held, and released by a revision', () => {
    expect(then([start, bad])[1]).toEqual({ type: 'GroupHeld', data: { hold: hold(FIRST, 'failed') } });
    expect(groupTypesOf(then([start, bad, note('r-1', 'accepted')]))).toEqual([
      'GroupPredecessorConcluded',
      'GroupReleased',
    ]);
    expect(then([start, bad, bad])).toEqual([]);
  });

  it('is released or ended by a person', () => {
    expect(groupTypesOf(then([start, bad, { type: 'WaiveHolds', predecessors: ['r-1'] }]))).toEqual([
      'GroupHoldWaived',
      'GroupReleased',
    ]);
    expect(then([start, bad, { type: 'EndHeld', predecessors: ['r-1'] }])).toMatchObject([
      {
        type: 'GroupHalted',
        data: {
          cause: 'predecessor_failed',
          started: false,
          predecessor: { commandId: 'c-1', outcome: 'failed' },
          rest: ['m-0', 'm-1', 'm-2'],
        },
      },
    ]);
    expect(groupTypesOf(eventsOf([start, { type: 'EndHeld', predecessors: ['r-1'] }]))).toEqual([
      'GroupRegistered',
      'GroupWaiting',
    ]);
  });

  it('is released or ended by a person where what it comes after never came', () => {
    const decided = (type: 'WaiveHolds' | 'EndHeld'): GroupCommand => ({ type, predecessors: [], missing: ['r-1'] });
    expect(then([start, decided('WaiveHolds')])).toEqual([
      { type: 'GroupHoldWaived', data: { holds: [], missing: [FIRST] } },
      { type: 'GroupReleased', data: {} },
    ]);
    expect(then([start, decided('EndHeld')])).toMatchObject([
      { type: 'GroupHalted', data: { cause: 'predecessor_failed', started: false, text: 'c-1 never came' } },
    ]);
  });

  it('is ended at once where all its members are of such a type', () => {
    expect(groupTypesOf(then([start, note('r-1', 'failed', { endAtOnceDocTypes: [415] })]))).toEqual([
      'GroupPredecessorConcluded',
      'GroupHalted',
    ]);
    expect(groupTypesOf(then([start, note('r-1', 'failed', { endAtOnceDocTypes: [701] })]))).toEqual([
      'GroupPredecessorConcluded',
      'GroupHeld',
    ]);
  });
});
