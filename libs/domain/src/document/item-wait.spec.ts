import { describe, expect, it } from '@jest/globals';
import { reactToDocumentEvent, DOCUMENT_SAGA, keysOfDocumentEvent } from '../saga/document-saga.js';
import type { DocumentCommand } from './decide.js';
import { decide } from './decide.js';
import type { DocumentEvent, ItemHold, ItemPredecessor } from './events.js';
import {
  absenceProven,
  attempted,
  FIRST,
  registered,
  registration,
  REMEMBERED,
  SECOND,
  stateAfter,
  unconfirmed,
} from '../../test/given-document.js';

const SGTIN = '046070000000011234567890123';
const met: ItemPredecessor = { ...FIRST, items: [SGTIN], itemCount: 1 };
const wait = (round: number, ...named: ItemPredecessor[]): DocumentEvent => ({
  type: 'DocumentWaiting',
  data: { kind: 'items', account: 'main', round, for: named },
});
const hold: ItemHold = { kind: 'items', for: met, outcome: 'rejected' };
const bad: DocumentCommand = { type: 'NotePredecessor', requestId: FIRST.requestId, outcome: 'rejected' };
const good: DocumentCommand = { ...bad, outcome: 'accepted' };
const typesOf = (given: DocumentEvent[], command: DocumentCommand): string[] =>
  decide(stateAfter(given), command).map((event) => event.type);
const ofType = (docType: number): DocumentEvent => ({
  type: 'DocumentRegistered',
  data: { ...registration(), docType },
});

describe('a document that waits for its items', () => {
  it('waits before its first send, and goes when the earlier one is accepted', () => {
    const command: DocumentCommand = { type: 'WaitForItems', round: 1, for: [met] };
    expect(decide(stateAfter([registered()]), command)).toEqual([wait(1, met)]);
    expect(typesOf([registered(), wait(1, met)], good)).toEqual(['PredecessorConcluded', 'DocumentReleased']);
  });

  it('is not stopped once its first send has begun', () => {
    expect(decide(stateAfter([registered(), attempted(1)]), { type: 'WaitForItems', round: 1, for: [met] })).toEqual(
      [],
    );
  });

  it('is told of one wait once, also when it was released meanwhile', () => {
    const released: DocumentEvent[] = [
      registered(),
      wait(1, met),
      { type: 'PredecessorConcluded', data: { requestId: FIRST.requestId, outcome: 'accepted' } },
      { type: 'DocumentReleased', data: {} },
    ];
    expect(typesOf(released, { type: 'WaitForItems', round: 1, for: [met] })).toEqual([]);
    expect(typesOf(released, { type: 'WaitForItems', round: 2, for: [{ ...met, ...SECOND }] })).toEqual([
      'DocumentWaiting',
    ]);
    // Nor after an attempt that surely did not arrive: its next send is planned, and would be used up by the wait.
    const tried = [...released, attempted(1), unconfirmed(1), absenceProven(1)];
    expect(typesOf(tried, { type: 'WaitForItems', round: 1, for: [met] })).toEqual([]);
    expect(typesOf(tried, { type: 'WaitForItems', round: 2, for: [met] })).toEqual(['DocumentWaiting']);
  });

  it('waits on top of what its command comes after', () => {
    const given: DocumentEvent[] = [
      registered([SECOND]),
      { type: 'DocumentWaiting', data: { for: [SECOND] } },
      wait(1, met),
    ];
    expect(typesOf(given, good)).toEqual(['PredecessorConcluded']);
    expect(typesOf(given, { ...good, requestId: SECOND.requestId } as DocumentCommand)).toEqual([
      'PredecessorConcluded',
    ]);
  });

  it('is held when the earlier one ends badly, whatever its type ends at once for', () => {
    expect(decide(stateAfter([registered(), wait(1, met)]), { ...bad, endAtOnceDocTypes: [415] } as never)).toEqual([
      { type: 'PredecessorConcluded', data: { requestId: FIRST.requestId, outcome: 'rejected' } },
      { type: 'DocumentHeld', data: { hold } },
    ]);
  });

  it('goes on when the earlier one ends badly with which it meets in places alone: these need order, no good end', () => {
    const places = ['00000000000464', '00000000000465'];
    const there: ItemPredecessor = { ...FIRST, items: places, itemCount: 2 };
    for (const outcome of ['rejected', 'failed'] as const) {
      const news: DocumentCommand = { ...bad, outcome };
      expect(typesOf([registered(), wait(1, there)], news)).toEqual(['PredecessorConcluded', 'DocumentReleased']);
      for (const met of [
        { ...there, items: [...places, SGTIN], itemCount: 3 },
        { ...there, itemCount: 4 },
      ])
        expect(typesOf([registered(), wait(1, met)], news)).toEqual(['PredecessorConcluded', 'DocumentHeld']);
    }
  });

  it.each([511, 521, 531, 552])('is released with a warning when it reports an accomplished fact (%s)', (docType) => {
    const held: DocumentEvent[] = [ofType(docType), wait(1, met), { type: 'DocumentHeld', data: { hold } }];
    expect(decide(stateAfter(held), { type: 'LapseHolds' })).toEqual([
      { type: 'HoldLapsed', data: { holds: [hold] } },
      { type: 'DocumentReleased', data: {} },
    ]);
  });

  it('waits no more for what is held itself when it reports a fact and its time is up, and waits on for the rest', () => {
    const [held, other] = [met, { ...met, ...SECOND }];
    const lapse: DocumentCommand = { type: 'LapseHolds', stuck: [FIRST.requestId] };
    const lapsed = { type: 'HoldLapsed', data: { holds: [], stuck: [FIRST] } };
    expect(decide(stateAfter([ofType(511), wait(1, held)]), lapse)).toEqual([
      lapsed,
      { type: 'DocumentReleased', data: {} },
    ]);
    const both = [ofType(511), wait(1, held, other)];
    expect(decide(stateAfter(both), lapse)).toEqual([lapsed]);
    expect(typesOf([...both, lapsed as DocumentEvent], lapse)).toEqual([]);
    expect(typesOf([...both, lapsed as DocumentEvent], { ...good, requestId: SECOND.requestId } as never)).toEqual([
      'PredecessorConcluded',
      'DocumentReleased',
    ]);
    expect(typesOf([registered(), wait(1, held)], lapse)).toEqual([]);
    // What its command comes after stays.
    expect(typesOf([{ ...ofType(511) }, { type: 'DocumentWaiting', data: { for: [FIRST] } }], lapse)).toEqual([]);
  });

  it('stays held when it is a shipment, and while nothing holds it', () => {
    const held: DocumentEvent[] = [registered(), wait(1, met), { type: 'DocumentHeld', data: { hold } }];
    expect(typesOf(held, { type: 'LapseHolds' })).toEqual([]);
    expect(typesOf([ofType(511), wait(1, met)], { type: 'LapseHolds' })).toEqual([]);
  });

  it('is released by a revision of the bad end, and by a person', () => {
    const held: DocumentEvent[] = [registered(), wait(1, met), { type: 'DocumentHeld', data: { hold } }];
    expect(typesOf(held, good)).toEqual(['PredecessorConcluded', 'DocumentReleased']);
    expect(typesOf(held, { type: 'WaiveHolds', predecessors: [FIRST.requestId] })).toEqual([
      'HoldWaived',
      'DocumentReleased',
    ]);
  });

  it('goes on to its other waits when one is lifted, held or not, and is released by the last; once', () => {
    const lift = (requestId: string): DocumentCommand => ({ type: 'LiftItemWait', requestId });
    const lifted: DocumentEvent = { type: 'ItemWaitLifted', data: { for: FIRST } };
    const both = [registered(), wait(1, met, { ...met, ...SECOND })];
    expect(decide(stateAfter(both), lift(FIRST.requestId))).toEqual([lifted]);
    expect(typesOf([...both, lifted], lift(FIRST.requestId))).toEqual([]);
    expect(typesOf([...both, lifted], lift(SECOND.requestId))).toEqual(['ItemWaitLifted', 'DocumentReleased']);
    const held: DocumentEvent[] = [registered(), wait(1, met), { type: 'DocumentHeld', data: { hold } }];
    expect(typesOf(held, lift(FIRST.requestId))).toEqual(['ItemWaitLifted', 'DocumentReleased']);
  });

  it('waits on for what its own command comes after, and when it is on its way nothing is lifted', () => {
    const lift: DocumentCommand = { type: 'LiftItemWait', requestId: FIRST.requestId };
    expect(typesOf([registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }], lift)).toEqual([]);
    expect(typesOf([registered(), attempted(1)], lift)).toEqual([]);
  });

  it('is refused when it would wait for itself', () => {
    const refused = decide(stateAfter([registered()]), { type: 'RefuseRing', ring: [FIRST, SECOND] });
    expect(refused).toMatchObject([
      { type: 'DocumentRefused', data: { predecessor: FIRST, ring: [FIRST, SECOND] } },
      { type: 'DocumentConcluded', data: { outcome: 'failed', cause: 'waits_in_ring' } },
    ]);
    expect(typesOf([registered(), attempted(1)], { type: 'RefuseRing', ring: [FIRST] })).toEqual([]);
  });
});

describe('its saga', () => {
  const rules = {
    statusAfterSendMs: 1,
    receiptAfterStatusMs: 1,
    statusPollMs: 1,
    failedGraceMs: 0,
    unknownGraceMs: 1,
    statusGridMs: 1,
    lookUpEveryMs: 1,
    itemsDecide: true as const,
  };
  const recorded = (event: DocumentEvent) => ({ ...event, stream: 'document-r-9', version: 3, handledAt: new Date(5) });
  const react = reactToDocumentEvent(rules);

  it('leaves the first send to whoever decides by items', () => {
    expect(react(DOCUMENT_SAGA.initial, recorded(registered()), 'r-9').tasks).toEqual([]);
    expect(react(REMEMBERED, recorded({ type: 'DocumentReleased', data: {} }), 'r-9').tasks).toEqual([]);
  });

  it('keeps a row of who waits, with each that it waits for', () => {
    expect(keysOfDocumentEvent(recorded(wait(1, met)))).toEqual(['r-9', FIRST.requestId]);
    expect(react(REMEMBERED, recorded(wait(1, met)), FIRST.requestId)).toMatchObject({
      tasks: [],
      dependents: [{ dependent: 'r-9', data: { account: 'main' } }],
    });
  });

  it('has a wait by items looked at again when its time is up, and one by `after` not', () => {
    const tasksOf = (event: DocumentEvent) => react(REMEMBERED, recorded(event), 'r-9').tasks.map((task) => task.key);
    expect(tasksOf(wait(1, met))).toEqual(['lapse_holds:r-9:3']);
    expect(tasksOf({ type: 'DocumentWaiting', data: { for: [FIRST] } })).toEqual([]);
  });

  it('has a hold by items looked at again, and one by `after` not', () => {
    const tasksOf = (data: Extract<DocumentEvent, { type: 'DocumentHeld' }>['data']) =>
      react(REMEMBERED, recorded({ type: 'DocumentHeld', data }), 'r-9').tasks.map((task) => task.key);
    expect(tasksOf({ hold })).toEqual(['lapse_holds:r-9:3']);
    expect(tasksOf({ hold: { kind: 'after', for: FIRST, outcome: 'failed' } })).toEqual([]);
  });
});
