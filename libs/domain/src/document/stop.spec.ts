import { describe, expect, it } from '@jest/globals';
import { continueDocument } from '../continuation/continue.js';
import { reactToDocumentEvent } from '../saga/document-saga.js';
import type { DocumentCommand } from './decide.js';
import type { DocumentEvent } from './events.js';
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
import type { SuspensionFinding } from './stop-events.js';

const SGTIN = '046070000000011234567890123';
const finding = (knownAt: string, ...suspensions: string[]): SuspensionFinding => ({
  series: suspensions.map((id) => ({
    ...{ gtin: SGTIN.slice(0, 14), series: `of ${id}`, suspensions: [id], packs: [SGTIN], packCount: 1 },
  })),
  packCount: suspensions.length,
  knownAt,
});
const unknown = (knownAt: string): SuspensionFinding => ({
  ...{ series: [], packCount: 0, knownAt },
  unknown: { items: [SGTIN], itemCount: 1 },
});
const stop = (found: SuspensionFinding): DocumentCommand => ({ type: 'HoldForSuspension', finding: found });
const rejudge = (found: SuspensionFinding, holdKnownAt = '7'): DocumentCommand => ({
  ...{ type: 'RejudgeSuspension', holdKnownAt, finding: found },
});
const heldFor = (found: SuspensionFinding): DocumentEvent => ({
  type: 'DocumentHeld',
  data: { hold: { kind: 'suspension', ...found } },
});
const held = heldFor(finding('7', 's-1'));
const waive = (id = 'suspension@7'): DocumentCommand => ({ type: 'WaiveHolds', predecessors: [id] });
const sendable = (given: DocumentEvent[]) => typesOf(when(given, { type: 'BeginSend' }));

describe('a document of suspended packs', () => {
  it('is held once, and nothing of it is sent', () => {
    expect(when([registered()], stop(finding('7', 's-1')))).toEqual([held]);
    expect(sendable([registered(), held])).toEqual([]);
    expect(when([registered(), held], stop(finding('8', 's-1')))).toEqual([]);
  });

  it('is held before a later attempt too, and goes on with that one', () => {
    const tried = [registered(), attempted(1), unconfirmed(1), absenceProven(1)];
    const stopped = [...tried, ...when(tried, stop(finding('7', 's-1')))];
    expect(stateAfter(stopped)).toMatchObject({ phase: 'waiting', tried: { attempt: 2 } });
    const released = when(stopped, waive());
    expect(released.at(-1)).toEqual({ type: 'DocumentReleased', data: { gateHolds: 1, attempt: 2 } });
    const begun = when([...stopped, ...released], { type: 'BeginSend' });
    expect(begun).toMatchObject([{ type: 'SendAttempted', data: { attempt: 2 } }]);
  });

  it('that an earlier attempt has brought there after all is sent, and not forgotten', () => {
    const tried = [registered(), attempted(1), unconfirmed(1), absenceProven(1)];
    const late: DocumentCommand = {
      ...{ type: 'RecordSendAnswer', attempt: 1 },
      answer: { kind: 'sent', documentId: 'd-1', answerSha256: 'a'.repeat(64) },
    };
    expect(typesOf(when([...tried, held], late))).toEqual(['DocumentSent']);
    expect(when([registered(), held], late)).toEqual([]);
  });

  it('that an earlier attempt has brought there after a person ended it is an alarm', () => {
    const tried = [registered(), attempted(1), unconfirmed(1), absenceProven(1), held];
    const end: DocumentCommand = { type: 'EndHeld', predecessors: ['suspension@7'] };
    const late: DocumentCommand = {
      ...{ type: 'RecordSendAnswer', attempt: 1 },
      answer: { kind: 'sent', documentId: 'd-1', answerSha256: 'a'.repeat(64) },
    };
    expect(when([...tried, ...when(tried, end)], late)).toEqual([
      { type: 'DuplicateDetected', data: { documentIds: ['d-1'], answerSha256: 'a'.repeat(64) } },
    ]);
    expect(when([...tried, ...when(tried, end)], { ...late, attempt: 2 })).toEqual([]);
    const untried = [registered(), held];
    expect(when([...untried, ...when(untried, end)], late)).toEqual([]);
  });

  it('is not held while nobody knows what became of an attempt', () => {
    expect(when([registered(), attempted(1)], stop(finding('7', 's-1')))).toEqual([]);
    expect(when([registered(), attempted(1), unconfirmed(1)], stop(finding('7', 's-1')))).toEqual([]);
  });

  it('is held as a member of a group too: its turn has come', () => {
    const group = { groupId: 'g-1', index: 0, of: 2, kind: 'split' as const };
    const member: DocumentEvent = { type: 'DocumentRegistered', data: { ...registration(), group } };
    expect(typesOf(when([member], stop(finding('7', 's-1'))))).toEqual(['DocumentHeld']);
  });

  it('ends with its group, which halted while it was held', () => {
    const group = { groupId: 'g-1', index: 1, of: 2, kind: 'given' as const };
    const member: DocumentEvent = { type: 'DocumentRegistered', data: { ...registration(), group } };
    const because = { groupId: 'g-1', failed: { ...FIRST, outcome: 'rejected' as const } };
    const ended = when([member, held], { type: 'ConcludeNotProcessed', because });
    expect(ended).toMatchObject([
      { type: 'DocumentNotProcessed', data: because },
      { type: 'DocumentConcluded', data: { outcome: 'failed', cause: 'not_processed' } },
    ]);
    const given = [member, held, ...ended];
    expect([stateAfter(given).phase, when(given, rejudge(finding('9')))]).toEqual(['concluded', []]);
    expect(when([member, held], { type: 'ConcludeNotProcessed', because: { groupId: 'g-2' } })).toEqual([]);
  });

  it('goes when a person overrides it, and is held again for another suspension alone', () => {
    const waived = when([registered(), held], waive());
    expect(typesOf(waived)).toEqual(['HoldWaived', 'DocumentReleased']);
    const given = [registered(), held, ...waived];
    expect(when(given, stop(finding('9', 's-1')))).toEqual([]);
    expect(typesOf(when(given, stop(finding('9', 's-1', 's-2'))))).toEqual(['DocumentHeld']);
    // The override holds for every attempt.
    const again: DocumentEvent[] = [...given, attempted(1), unconfirmed(1), absenceProven(1)];
    expect(when(again, stop(finding('9', 's-1')))).toEqual([]);
  });

  it('is held for a series behind those that a finding names, when these are overridden', () => {
    const ids = Array.from({ length: 21 }, (_, n) => `s-${String(n).padStart(2, '0')}`);
    const many = finding('7', ...ids.slice(0, 20));
    const all = { ...finding('9', ...ids.slice(0, 20)), packCount: 21, suspensions: ids };
    const given = [registered(), heldFor(many), ...when([registered(), heldFor(many)], waive())];
    expect(when(given, stop({ ...many, knownAt: '9' }))).toEqual([]);
    expect(when(given, stop(all))).toEqual([heldFor(all)]);
    const again = [...given, heldFor(all)];
    expect(when(again, rejudge({ ...all, knownAt: '10' }, '9'))).toEqual([]);
    const others = { ...all, knownAt: '10', suspensions: [...ids.slice(0, 20), 's-99'] };
    expect(when(again, rejudge(others, '9'))).toEqual([heldFor(others)]);
    expect(when([...again, ...when(again, waive('suspension@9'))], stop(all))).toEqual([]);
  });

  it('stays held when the person saw another hold', () => {
    expect(when([registered(), held], waive('suspension@6'))).toEqual([]);
  });

  it('goes when its suspension has ended, by a send of its own', () => {
    expect(when([registered(), held], rejudge(finding('9')))).toEqual([
      { type: 'SuspensionHoldLifted', data: { knownAt: '9' } },
      { type: 'DocumentReleased', data: { gateHolds: 1 } },
    ]);
  });

  it('stays held while one of two is in force, and says so', () => {
    const both = [registered(), heldFor(finding('7', 's-1', 's-2'))];
    expect(when(both, rejudge(finding('9', 's-1', 's-2')))).toEqual([]);
    const [again] = when(both, rejudge(finding('9', 's-2')));
    expect(again).toEqual(heldFor(finding('9', 's-2')));
    expect(stateAfter([...both, again as DocumentEvent])).toMatchObject({
      holds: [{ kind: 'suspension', knownAt: '9' }],
    });
    expect(when(both, rejudge(finding('9'), '6'))).toEqual([]);
  });

  it('is not held again for what a person overrode, when what was announced turns out to be absent', () => {
    const stopped = [registered(), held];
    const overridden = [...stopped, ...when(stopped, waive())];
    const opened: DocumentEvent = {
      ...{ type: 'UploadOpened', data: { attempt: 1, documentId: 'd-1', foundByLookUp: false } },
    };
    const given = [...overridden, attempted(1), opened, absenceProven(1)];
    expect(stateAfter(given)).toMatchObject({ phase: 'ready', gate: { holds: 1 } });
    expect(when(given, stop(finding('9', 's-1')))).toEqual([]);
    expect(typesOf(when(given, stop(finding('9', 's-2'))))).toEqual(['DocumentHeld']);
  });

  it('ends when a person ends it', () => {
    expect(when([registered(), held], { type: 'EndHeld', predecessors: ['suspension@7'] })).toMatchObject([
      { type: 'DocumentRefused', data: { suspension: { packCount: 1 } } },
      { type: 'DocumentConcluded', data: { outcome: 'failed', cause: 'packs_forbid' } },
    ]);
  });

  it('whose series nobody knows goes with one warning, or is held until a person says otherwise', () => {
    const warn: DocumentCommand = { type: 'WarnOfSuspension', finding: unknown('7') };
    const warned = when([registered()], warn);
    expect(warned).toEqual([{ type: 'SuspensionWarned', data: unknown('7') }]);
    expect(when([registered(), ...warned], warn)).toEqual([]);
    expect(sendable([registered(), ...warned])).toEqual(['SendAttempted']);
    const stopped = [registered(), ...when([registered()], stop(unknown('7')))];
    const given = [...stopped, ...when(stopped, waive())];
    expect(when(given, stop(unknown('9')))).toEqual([]);
    expect(typesOf(when(given, stop({ ...finding('9', 's-1'), ...unknown('9'), packCount: 1 })))).toEqual([]);
    expect(typesOf(when(given, stop(finding('9', 's-1'))))).toEqual(['DocumentHeld']);
  });
});

describe('a document that a person holds', () => {
  const hold = { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' } as const;
  const byAnna: DocumentEvent = {
    ...{ type: 'DocumentHeld' as const },
    data: { hold: { kind: 'person', number: 1, by: 'anna', reason: 'quality looks' } },
  };

  it('is not sent until a person releases it, and then once', () => {
    expect(when([registered()], hold)).toEqual([byAnna]);
    expect(sendable([registered(), byAnna])).toEqual([]);
    expect(when([registered(), byAnna], hold)).toEqual([]);
    expect(when([registered(), byAnna], waive('person@1')).at(-1)).toEqual({
      ...{ type: 'DocumentReleased', data: { gateHolds: 1 } },
    });
    expect(when([registered(), byAnna], { type: 'EndHeld', predecessors: ['person@1'] })).toMatchObject([
      { type: 'DocumentRefused', data: { person: { by: 'anna' } } },
      { type: 'DocumentConcluded', data: { cause: 'ended_by_person' } },
    ]);
  });

  it('and releases is not held once more by the same task, which may come again; by another it is', () => {
    const held = [registered(), byAnna];
    const released = [...held, ...when(held, waive('person@1'))];
    expect(when(released, { ...hold, holds: 0 })).toEqual([]);
    expect(typesOf(when(released, { ...hold, holds: 1 }))).toEqual(['DocumentHeld']);
    expect(typesOf(when(released, hold))).toEqual(['DocumentHeld']);
  });

  it('waits on for what it comes after, and the other way round', () => {
    const waiting: DocumentEvent[] = [registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }];
    const both = [...waiting, ...when(waiting, hold)];
    const news = { type: 'NotePredecessor', requestId: 'r-1', outcome: 'accepted' } as const;
    expect(typesOf(when(both, news))).toEqual(['PredecessorConcluded']);
    expect(typesOf(when(both, waive('person@1')))).toEqual(['HoldWaived']);
    expect(typesOf(when([...both, ...when(both, news)], waive('person@1')))).toEqual([
      'HoldWaived',
      'DocumentReleased',
    ]);
  });

  it('that a suspension holds too needs both to end', () => {
    const both = [registered(), held, ...when([registered(), held], hold)];
    expect(stateAfter(both)).toMatchObject({ holds: [{ kind: 'suspension' }, { kind: 'person', number: 2 }] });
    expect(typesOf(when(both, rejudge(finding('9'))))).toEqual(['SuspensionHoldLifted']);
    expect(typesOf(when(both, waive('person@2')))).toEqual(['HoldWaived']);
  });

  it('is none that was tried, nor a member of a group', () => {
    expect(when([registered(), attempted(1)], hold)).toEqual([]);
    const group = { groupId: 'g-1', index: 0, of: 2, kind: 'given' as const };
    expect(when([{ type: 'DocumentRegistered', data: { ...registration(), group } }], hold)).toEqual([]);
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

  it('has what is held looked at again, also when an operator carries it on', () => {
    expect(tasksOf(held)).toMatchObject([{ key: 'rejudge_suspension:r-9:3', payload: { holdKnownAt: '7' } }]);
    const planned = continueDocument(stateAfter([registered(), held]), { id: '1', at: new Date(5) });
    expect(planned).toMatchObject([{ kind: 'rejudge_suspension', payload: { holdKnownAt: '7' } }]);
  });

  it('sends the attempt that comes next, under a key of its own', () => {
    expect(tasksOf({ type: 'DocumentReleased', data: { gateHolds: 1, attempt: 2 } })).toMatchObject([
      { key: 'send:r-9:2:gate-1', payload: { attempt: 2 } },
    ]);
  });
});
