import { describe, expect, it } from '@jest/globals';
import { continueDocument } from '../continuation/continue.js';
import { reactToDocumentEvent } from '../saga/document-saga.js';
import type { DocumentCommand } from './decide.js';
import type { DocumentEvent } from './events.js';
import type { GateFinding } from './gate-events.js';
import {
  absenceProven,
  attempted,
  FIRST,
  registered,
  registration,
  stateAfter,
  typesOf,
  unconfirmed,
  when,
  REMEMBERED,
} from '../../test/given-document.js';

const SGTIN = '046070000000011234567890123';
const finding = (knownAt: string, ...items: string[]): GateFinding => ({
  packs: items.map((item) => ({ item, reasons: ['not_in_trade'], status: 'in_sale' })),
  packCount: items.length,
  knownAt,
});
const SOLD = finding('7', SGTIN);
const judge: DocumentCommand = { type: 'HoldAtGate', finding: SOLD };
const warn: DocumentCommand = { type: 'WarnAtGate', finding: SOLD };
const held: DocumentEvent = { type: 'DocumentHeld', data: { hold: { kind: 'gate', ...SOLD } } };
const waive: DocumentCommand = { type: 'WaiveHolds', predecessors: ['gate@7'] };
const rejudge = (found: GateFinding, holdKnownAt = '7'): DocumentCommand => ({
  type: 'RejudgeAtGate',
  holdKnownAt,
  finding: found,
});

describe('a document at the sequence gate', () => {
  it('is held, and nothing is sent', () => {
    expect(when([registered()], judge)).toEqual([held]);
    expect(when([registered(), held], { type: 'BeginSend' })).toEqual([]);
    expect(when([registered(), held], judge)).toEqual([]);
  });

  it('is not judged once an attempt was made, which may have landed', () => {
    expect(when([registered(), attempted(1)], judge)).toEqual([]);
    expect(when([registered(), attempted(1), unconfirmed(1), absenceProven(1)], judge)).toEqual([]);
  });

  it('is not judged as a member of a group, which goes as a whole', () => {
    const group = { groupId: 'g-1', index: 0, of: 2, kind: 'given' as const };
    const member: DocumentEvent = { type: 'DocumentRegistered', data: { ...registration(), group } };
    expect(when([member], judge)).toEqual([]);
    expect(when([member], warn)).toEqual([]);
  });

  it('is warned of once, and is ready all the same', () => {
    const warned: DocumentEvent = { type: 'GateWarned', data: SOLD };
    expect(when([registered()], warn)).toEqual([warned]);
    expect(when([registered(), warned], warn)).toEqual([]);
    expect(when([registered(), warned], judge)).toEqual([]);
    expect(typesOf(when([registered(), warned], { type: 'BeginSend' }))).toEqual(['SendAttempted']);
  });

  it('is judged again after a hold: the warning before it told of the packs as they stood then', () => {
    const warned: DocumentEvent = { type: 'GateWarned', data: SOLD };
    const byAnna = when([registered(), warned], { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
    const released = when([registered(), warned, ...byAnna], { type: 'WaiveHolds', predecessors: ['person@1'] });
    const since = [registered(), warned, ...byAnna, ...released];
    expect(typesOf(since.slice(2))).toEqual(['DocumentHeld', 'HoldWaived', 'DocumentReleased']);
    expect(typesOf(when(since, judge))).toEqual(['DocumentHeld']);
    expect(typesOf(when(since, warn))).toEqual(['GateWarned']);
    expect(when([...since, warned], judge)).toEqual([]);
  });

  it('goes when a person waives the hold, and is not judged again', () => {
    const waived = when([registered(), held], waive);
    expect(waived).toEqual([
      { type: 'HoldWaived', data: { holds: [{ kind: 'gate', ...SOLD }] } },
      { type: 'DocumentReleased', data: { gateHolds: 1 } },
    ]);
    expect(when([registered(), held, ...waived], judge)).toEqual([]);
  });

  it('stays held when the person saw another hold', () => {
    expect(when([registered(), held], { type: 'WaiveHolds', predecessors: ['gate@6', 'r-1'] })).toEqual([]);
  });

  it('ends when a person ends it', () => {
    expect(when([registered(), held], { type: 'EndHeld', predecessors: ['gate@7'] })).toMatchObject([
      { type: 'DocumentRefused', data: { gate: { packs: SOLD.packs } } },
      { type: 'DocumentConcluded', data: { outcome: 'failed', cause: 'packs_forbid' } },
    ]);
  });

  it('goes when the state of its packs fits, and is judged again at its next send', () => {
    const released = when([registered(), held], rejudge(finding('9')));
    expect(released).toEqual([
      { type: 'GateHoldLifted', data: { knownAt: '9' } },
      { type: 'DocumentReleased', data: { gateHolds: 1 } },
    ]);
    const again = { type: 'HoldAtGate', finding: finding('11', SGTIN) } as const;
    expect(typesOf(when([registered(), held, ...released], again))).toEqual(['DocumentHeld']);
    const twice = [registered(), held, ...released, ...when([registered(), held, ...released], again)];
    expect(when(twice, rejudge(finding('12'), '11')).at(-1)).toEqual({
      type: 'DocumentReleased',
      data: { gateHolds: 2 },
    });
  });

  it('says once for what it is held, and again when that is something else', () => {
    expect(when([registered(), held], rejudge(finding('9', SGTIN)))).toEqual([]);
    expect(typesOf(when([registered(), held], rejudge(finding('9', SGTIN, 'another'))))).toEqual(['DocumentHeld']);
    expect(when([registered(), held], rejudge(finding('9'), '6'))).toEqual([]);
  });

  it('waits for what it meets after its release, and is released from that under the number of its holds', () => {
    const given = [registered(), held, ...when([registered(), held], waive)];
    const met = { ...FIRST, items: [SGTIN], itemCount: 1 };
    const wait: DocumentCommand = { type: 'WaitForItems', round: 1, for: [met] };
    const waiting = [...given, ...when(given, wait)];
    expect(when(waiting, { type: 'NotePredecessor', requestId: 'r-1', outcome: 'accepted' }).at(-1)).toEqual({
      type: 'DocumentReleased',
      data: { gateHolds: 1 },
    });
  });

  it('does not go for the end of a predecessor while the gate holds it', () => {
    const both = stateAfter([registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }, held]);
    expect(both).toMatchObject({ phase: 'waiting', waitingFor: [FIRST], holds: [{ kind: 'gate' }] });
    const given: DocumentEvent[] = [registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }, held];
    const note = { type: 'NotePredecessor', requestId: 'r-1', outcome: 'accepted' } as const;
    expect(typesOf(when(given, note))).toEqual(['PredecessorConcluded']);
    expect(typesOf(when(given, waive))).toEqual(['HoldWaived']);
  });
});

describe('its saga', () => {
  const rules = {
    ...{ statusAfterSendMs: 1, receiptAfterStatusMs: 1, statusPollMs: 1, failedGraceMs: 0, unknownGraceMs: 1 },
    ...{ statusGridMs: 1, lookUpEveryMs: 1 },
  };
  const tasksOf = (event: DocumentEvent) =>
    reactToDocumentEvent(rules)(
      REMEMBERED,
      { ...event, stream: 'document-r-9', version: 3, handledAt: new Date(5) },
      'r-9',
    ).tasks;

  it('has what is held looked at again', () => {
    expect(tasksOf(held)).toMatchObject([{ key: 'rejudge_at_gate:r-9:3', payload: { holdKnownAt: '7' } }]);
  });

  it('sends after each release under a key of its own, for that of the first send is used', () => {
    expect(tasksOf({ type: 'DocumentReleased', data: {} })[0]?.key).toBe('send:r-9:1');
    expect(tasksOf({ type: 'DocumentReleased', data: { gateHolds: 2 } })[0]?.key).toBe('send:r-9:1:gate-2');
  });

  it('is carried on by an operator', () => {
    const planned = continueDocument(stateAfter([registered(), held]), { id: '1', at: new Date(5) });
    expect(planned).toMatchObject([{ kind: 'rejudge_at_gate', payload: { holdKnownAt: '7' } }]);
  });
});
