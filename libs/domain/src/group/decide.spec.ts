import { describe, expect, it } from '@jest/globals';
import {
  allSent,
  answered,
  begin,
  begun,
  ended,
  endedBy,
  eventsOf,
  groupAfter,
  groupRegistration,
  looked,
  mayNot,
  mayStart,
  memberSent,
  registered,
  started,
  then,
  typesOf,
} from '../../test/given-group.js';
import { evolveGroup, NO_GROUP, outcomeForDependents, outcomeOf, stopperOf } from './state.js';

const EARLIER = { commandId: 'c-1', requestId: 'r-1' };

describe('a group', () => {
  it('is registered once, and its members are sent one after the other', () => {
    expect(typesOf(then([registered]))).toEqual(['GroupRegistered']);
    expect(then([registered, registered])).toEqual([]);
    expect(then([registered, memberSent(0)])).toEqual([
      { type: 'MemberSent', data: { index: 0, requestId: 'm-0', documentId: 'd-0', nextRequestId: 'm-1' } },
    ]);
    expect(then([...allSent])).toEqual([
      { type: 'MemberSent', data: { index: 2, requestId: 'm-2', documentId: 'd-2' } },
    ]);
    expect(then([registered, memberSent(0), memberSent(0)])).toEqual([]);
    expect(groupAfter(allSent)).toMatchObject({ phase: 'checking', start: { step: 'open', attempt: 1 } });
  });

  it('waits for what it comes after, and is released or held by its end', () => {
    const waiting = { type: 'Register' as const, registration: groupRegistration([EARLIER]) };
    expect(typesOf(then([waiting]))).toEqual(['GroupRegistered', 'GroupWaiting']);
    expect(typesOf(then([waiting, { type: 'NotePredecessor', requestId: 'r-1', outcome: 'partial' }]))).toEqual([
      'GroupPredecessorConcluded',
      'GroupReleased',
    ]);
    expect(typesOf(then([waiting, { type: 'NotePredecessor', requestId: 'r-1', outcome: 'rejected' }]))).toEqual([
      'GroupPredecessorConcluded',
      'GroupHeld',
    ]);
    expect(then([waiting, { type: 'NotePredecessor', requestId: 'r-2', outcome: 'failed' }])).toEqual([]);
  });

  it('is checked, then started: the intent before the call', () => {
    expect(typesOf(eventsOf([...allSent, mayStart, begin, answered('started')])).slice(4)).toEqual([
      'GroupCheckPassed',
      'GroupStartAttempted',
      'GroupStarted',
    ]);
    expect(then([...allSent, begin])).toEqual([]);
    expect(then([...allSent, mayStart, begin, begin])).toEqual([]);
    expect(groupAfter(started)).toMatchObject({ phase: 'started' });
  });

  it('believes a no of the check only after five', () => {
    expect(typesOf(then([...allSent, mayNot, mayNot, mayNot, mayNot]))).toEqual(['GroupCheckDenied']);
    expect(then([...allSent, mayNot, mayNot, mayNot, mayNot, mayNot])).toMatchObject([
      { type: 'GroupCheckDenied', data: { check: 5 } },
      { type: 'GroupHalted', data: { cause: 'check_denied', text: 'not yet', started: false } },
    ]);
  });

  it('halts when the registry refuses to start it', () => {
    expect(then([...allSent, mayStart, begin, answered('refused')])).toMatchObject([
      { type: 'GroupStartRefused' },
      { type: 'GroupHalted', data: { cause: 'start_refused', started: false, rest: ['m-0', 'm-1', 'm-2'] } },
    ]);
  });
});

describe('a start that suspended packs stop', () => {
  const stop = { type: 'StopStart', text: 'packs of c-1 are suspended' } as const;
  const textOf = (commands: Parameters<typeof then>[0]): unknown =>
    then([...allSent, ...commands, stop]).map((event) => event.type === 'GroupHalted' && event.data.text);

  it('says so, and does not claim that none was made where one stayed without an answer', () => {
    expect(textOf([mayStart])).toEqual([stop.text]);
    const doubted = [mayStart, begin, answered('unconfirmed'), looked(false, 5_000), looked(false, 60_000), mayStart];
    expect(textOf(doubted)).toEqual([`${stop.text}; nobody knows whether an earlier start of it took effect`]);
  });
});

describe('a start of unknown outcome', () => {
  const unknown = [...allSent, mayStart, begin, answered('unconfirmed')];

  it('is not made again before the statuses tell, twice, the last time after the grace', () => {
    expect(then([...unknown, begin])).toEqual([]);
    expect(then([...unknown, looked(false, 90_000)])).toMatchObject([
      { type: 'GroupStartNotSeen', data: { lookUp: 1 } },
    ]);
    expect(then([...unknown, looked(false, 5_000), looked(false, 59_999)])).toMatchObject([
      { type: 'GroupStartNotSeen', data: { lookUp: 2 } },
    ]);
    const proven = [...unknown, looked(false, 5_000), looked(false, 60_000)];
    expect(typesOf(then(proven))).toEqual(['GroupStartAbsenceProven']);
    expect(then([...proven, mayStart, begin])).toEqual([{ type: 'GroupStartAttempted', data: { attempt: 2 } }]);
  });

  it('has begun when a member moves, or when the lost answer comes after all', () => {
    expect(then([...unknown, looked(true, 5_000)])).toMatchObject([
      { type: 'GroupStarted', data: { attempt: 1, seenByStatus: true } },
    ]);
    expect(then([...unknown, answered('started')])).toMatchObject([
      { type: 'GroupStarted', data: { seenByStatus: false } },
    ]);
  });

  it('makes a later refusal mean nothing: the statuses are asked again', () => {
    const again = [...unknown, looked(false, 5_000), looked(false, 60_000), mayStart, begin, answered('refused', 2)];
    expect(typesOf(then(again))).toEqual(['GroupStartRefused', 'GroupStartUnconfirmed']);
    expect(typesOf(then([...again, looked(true, 5_000, 2)]))).toEqual(['GroupStarted']);
    const denied = [...unknown, looked(false, 5_000), looked(false, 60_000), mayNot, mayNot, mayNot, mayNot, mayNot];
    expect(then(denied)).toMatchObject([
      { type: 'GroupCheckDenied' },
      { type: 'GroupStartUnconfirmed', data: { attempt: 2 } },
    ]);
  });

  it('is no start at all when it surely was not delivered', () => {
    const limited = [...allSent, mayStart, begin, answered('not_delivered')];
    expect(typesOf(then(limited))).toEqual(['GroupStartNotDelivered']);
    expect(then([...limited, begin])).toEqual([{ type: 'GroupStartAttempted', data: { attempt: 2 } }]);
    // So the refusal of the next one is believed as that of a first one is.
    expect(then([...limited, begin, answered('refused', 2)])).toMatchObject([
      { type: 'GroupStartRefused' },
      { type: 'GroupHalted', data: { cause: 'start_refused', started: false } },
    ]);
  });

  it('is not given up sooner because of starts that were not delivered, however many', () => {
    const nine = [2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap((attempt) => [begin, answered('not_delivered', attempt)]);
    const round = (attempt: number) => [
      begin,
      answered('refused', attempt),
      looked(false, 5_000, attempt),
      looked(false, 60_000, attempt),
      mayStart,
    ];
    const all = [
      ...unknown,
      looked(false, 5_000),
      looked(false, 60_000),
      mayStart,
      ...nine,
      ...[11, 12, 13, 14, 15, 16, 17, 18].flatMap(round),
    ];
    expect(typesOf(then([...all, begin]))).toEqual(['GroupStartAttempted']);
    expect(then([...all, begin, answered('refused', 19)]).at(-1)).toMatchObject({
      type: 'GroupHalted',
      data: { cause: 'start_refused' },
    });
  });

  it('is given up after ten starts that were all refused and proven not to have begun', () => {
    const round = (attempt: number) => [
      mayStart,
      begin,
      answered('refused', attempt),
      looked(false, 5_000, attempt),
      looked(false, 60_000, attempt),
    ];
    const all = [
      ...unknown,
      looked(false, 5_000),
      looked(false, 60_000),
      ...[2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(round),
    ];
    expect(eventsOf(all).at(-1)).toMatchObject({
      type: 'GroupHalted',
      data: { cause: 'start_refused', started: false },
    });
  });
});

describe('a group that a person ends', () => {
  const unknown = [...allSent, mayStart, begin, answered('unconfirmed')];
  const [byPerson, inWork] = [endedBy(1), endedBy(undefined, true)];
  const untouched = ended(1, 'failed', { cause: 'not_processed' });

  it('halts while nobody knows whether it has begun, with the reason and the start, and is not started any more', () => {
    const halt = { started: false, text: 'the registry lost it', attempt: 1, rest: ['m-0', 'm-1', 'm-2'] };
    expect(then([...unknown, byPerson])).toEqual([
      { type: 'GroupHalted', data: { cause: 'ended_by_person', ...halt } },
    ]);
    expect(then([...unknown, endedBy(1, true)])).toEqual([
      { type: 'GroupHalted', data: { cause: 'ended_in_work', ...halt } },
    ]);
    for (const late of [begin, mayStart, looked(true, 5_000), answered('refused'), byPerson])
      expect(then([...unknown, byPerson, late])).toEqual([]);
  });

  it('is none where the decision is about another start, or it stands elsewhere', () => {
    const again = [
      ...unknown,
      looked(false, 5_000),
      looked(false, 60_000),
      mayStart,
      begin,
      answered('unconfirmed', 2),
    ];
    expect(then([...again, byPerson])).toEqual([]);
    expect(typesOf(then([...again, endedBy(2)]))).toEqual(['GroupHalted']);
    const halted = [...started, ended(1, 'rejected')];
    for (const before of [[], allSent, [...allSent, mayStart], [...allSent, mayStart, begin], started, halted])
      for (const end of [byPerson, endedBy(), inWork]) expect(then([...before, end])).toEqual([]);
  });

  it('ends what is in work by a second decision alone, also where it halted otherwise before its start', () => {
    expect(then([...unknown, byPerson, endedBy()])).toEqual([]);
    expect(then([...unknown, byPerson, ended(0, 'accepted'), inWork])).toMatchObject([
      { type: 'GroupHalted', data: { cause: 'ended_in_work', started: false, attempt: 1, rest: ['m-1', 'm-2'] } },
    ]);
    expect(then([...unknown, byPerson, inWork, inWork])).toEqual([]);
    expect(then([...allSent, mayNot, mayNot, mayNot, mayNot, mayNot, inWork])).toMatchObject([
      { type: 'GroupHalted', data: { cause: 'ended_in_work', started: false } },
    ]);
    const notSent = [registered, memberSent(0), ended(1, 'failed', { cause: 'send_refused' }), inWork];
    expect(then(notSent)).toMatchObject([
      { type: 'GroupHalted', data: { cause: 'ended_in_work', member: { index: 1 }, rest: ['m-0', 'm-2'] } },
    ]);
  });

  it('has begun after all where the registry shows it, or the lost answer comes', () => {
    for (const end of [[byPerson], [byPerson, inWork], [endedBy(1, true)]]) {
      const members = [0, 1, 2].map((i) => ({ requestId: `m-${i}`, documentId: `d-${i}` }));
      const data = { attempt: 1, answerSha256: 'a'.repeat(64), members };
      expect(then([...unknown, ...end, begun])).toEqual([
        { type: 'GroupStarted', data: { ...data, seenByStatus: true } },
      ]);
      expect(then([...unknown, ...end, answered('started')])).toEqual([
        { type: 'GroupStarted', data: { ...data, seenByStatus: false } },
      ]);
      const all = [...unknown, ...end, begun, ended(0, 'accepted'), ended(1, 'accepted'), ended(2, 'accepted')];
      expect(then(all)).toMatchObject([{}, { type: 'GroupConcluded', data: { outcome: 'accepted' } }]);
      expect(then(all)[1]?.data).not.toHaveProperty('halt');
    }
    expect(then([...unknown, byPerson, answered('started', 2)])).toEqual([]);
    const denied = [...allSent, mayNot, mayNot, mayNot, mayNot, mayNot];
    for (const late of [begun, answered('started')]) expect(then([...denied, late])).toEqual([]);
  });

  it('stays ended where something was ended on that account: each of the others tells by itself', () => {
    for (const late of [begun, answered('started')]) expect(then([...unknown, byPerson, untouched, late])).toEqual([]);
    const over = [
      ...unknown,
      endedBy(1, true),
      ...[0, 1, 2].map((i) => ended(i, 'failed', { cause: 'not_processed' })),
    ];
    expect(then(over)[1]).toEqual({ type: 'GroupConcluded', data: { outcome: 'failed', halt: 'ended_in_work' } });
    expect(then([...over, ended(0, 'accepted', { version: 9 })])).toMatchObject([
      { type: 'MemberRevised' },
      {
        type: 'GroupConclusionRevised',
        data: { outcome: 'partial', previousOutcome: 'failed', halt: 'ended_in_work' },
      },
    ]);
  });
});

describe('the end of a group', () => {
  it('is accepted when every member is', () => {
    expect(then([...started, ended(0, 'accepted'), ended(1, 'accepted'), ended(2, 'accepted')])).toMatchObject([
      { type: 'MemberConcluded' },
      { type: 'GroupConcluded', data: { outcome: 'accepted' } },
    ]);
  });

  it('halts at the first member that fails, and concludes when the rest is ended', () => {
    const halted = [...started, ended(0, 'accepted'), ended(1, 'rejected')];
    expect(then(halted)).toMatchObject([
      { type: 'MemberConcluded' },
      {
        type: 'GroupHalted',
        data: { cause: 'member_rejected', started: true, member: { commandId: 'c-m-1', index: 1 }, rest: ['m-2'] },
      },
    ]);
    expect(then([...halted, ended(2, 'failed', { cause: 'not_processed' })])).toMatchObject([
      { type: 'MemberConcluded' },
      { type: 'GroupConcluded', data: { outcome: 'partial', halt: 'member_rejected' } },
    ]);
  });

  it('halts at a partial member only where the profile says so', () => {
    expect(typesOf(then([...started, ended(0, 'partial')]))).toEqual(['MemberConcluded', 'GroupHalted']);
    expect(typesOf(then([...started, ended(0, 'partial', { partialStops: false })]))).toEqual(['MemberConcluded']);
  });

  it('halts before the start when a member is not taken', () => {
    const halted = [registered, memberSent(0), ended(1, 'failed', { cause: 'send_refused' })];
    expect(then(halted)[1]).toMatchObject({ data: { cause: 'member_not_sent', started: false, rest: ['m-0', 'm-2'] } });
    const over = [
      ...halted,
      ended(0, 'failed', { cause: 'not_processed' }),
      ended(2, 'failed', { cause: 'not_processed' }),
    ];
    expect(then(over)[1]).toEqual({ type: 'GroupConcluded', data: { outcome: 'failed', halt: 'member_not_sent' } });
  });

  it('hears of members in any order', () => {
    const halted = [...started, ended(1, 'rejected')];
    expect(then(halted)[1]).toMatchObject({ data: { rest: ['m-2'] } });
    expect(typesOf(then([...halted, ended(2, 'failed', { cause: 'not_processed' })]))).toEqual(['MemberConcluded']);
    expect(then([...halted, ended(2, 'failed', { cause: 'not_processed' }), ended(0, 'accepted')])[1]).toMatchObject({
      type: 'GroupConcluded',
      data: { outcome: 'partial', halt: 'member_rejected' },
    });
  });

  it('hears of one member in any order: what an earlier event of it says undoes nothing of a later one', () => {
    const late = [
      ...started,
      ended(0, 'accepted', { version: 9 }),
      ended(0, 'failed', { cause: 'registry_failed', version: 7 }),
    ];
    expect(then(late)).toEqual([]);
    expect(then([...started, ended(0, 'failed', { version: 7 }), ended(0, 'accepted', { version: 9 })])).toMatchObject([
      { type: 'MemberRevised', data: { outcome: 'accepted', memberVersion: 9 } },
      { type: 'GroupHaltLifted' },
    ]);
    // Failed, then accepted, then failed once more; the one in the middle is heard last.
    expect(
      then([
        ...started,
        ended(0, 'failed', { version: 7 }),
        ended(0, 'failed', { version: 11 }),
        ended(0, 'accepted', { version: 9 }),
      ]),
    ).toEqual([]);
    expect(then([...started, ended(0, 'failed', { version: 7 }), ended(0, 'failed', { version: 7 })])).toEqual([]);
  });

  it('goes on when the member that stopped it turns out well before anything was ended on its account', () => {
    const halted = [...started, ended(0, 'failed', { cause: 'registry_failed' })];
    expect(typesOf(then([...halted, ended(0, 'accepted')]))).toEqual(['MemberRevised', 'GroupHaltLifted']);
    expect(groupAfter([...halted, ended(0, 'accepted')])).toMatchObject({ phase: 'started' });
    expect(typesOf(then([...halted, ended(1, 'failed', { cause: 'not_processed' }), ended(0, 'accepted')]))).toEqual([
      'MemberRevised',
    ]);
  });

  it('halts as before where a member was ended on account of what has turned, and the group hears of it late', () => {
    const notProcessed = { cause: 'not_processed' } as const;
    const turned = [...started, ended(0, 'failed', { cause: 'registry_failed' }), ended(0, 'accepted')];
    const heard = then([...turned, ended(1, 'failed', notProcessed)]);
    expect(heard).toMatchObject([
      { type: 'MemberConcluded', data: { index: 1 } },
      { type: 'GroupHalted', data: { cause: 'member_failed', member: { index: 0 }, started: true, rest: ['m-2'] } },
    ]);
    const over = groupAfter([...turned, ended(1, 'failed', notProcessed), ended(2, 'failed', notProcessed)]);
    expect(over).toMatchObject({ phase: 'concluded', outcome: 'partial', halt: { member: { index: 0 } } });
    // Nothing is to be corrected, for none of these was in error.
    expect(over.phase === 'concluded' && stopperOf(over)).toBeUndefined();
    const lastHeard = then([...turned, ended(2, 'accepted'), ended(1, 'failed', notProcessed)]);
    expect(lastHeard.map((one) => one.type)).toEqual(['MemberConcluded', 'GroupHalted', 'GroupConcluded']);
    const begunAfterEnd = [...allSent, mayStart, begin, answered('unconfirmed'), endedBy(1), begun];
    const byPerson = then([...begunAfterEnd, ended(2, 'failed', notProcessed)]);
    expect(byPerson[1]).toMatchObject({
      data: { cause: 'ended_by_person', started: false, attempt: 1, rest: ['m-0', 'm-1'] },
    });
  });

  it('is revised with its members', () => {
    const over = [
      ...started,
      ended(0, 'accepted'),
      ended(1, 'accepted'),
      ended(2, 'failed', { cause: 'registry_failed' }),
    ];
    expect(then([...over, ended(2, 'accepted')])).toMatchObject([
      { type: 'MemberRevised' },
      {
        type: 'GroupConclusionRevised',
        data: { outcome: 'accepted', previousOutcome: 'partial', halt: 'member_failed' },
      },
    ]);
  });

  it('is resumed once, and only when it halted', () => {
    const by = { groupId: 'g-2', commandId: 'G-2' };
    const halted = [...started, ended(0, 'accepted'), ended(1, 'accepted'), ended(2, 'rejected')];
    expect(then([...halted, { type: 'NoteResumption', by }])).toEqual([{ type: 'GroupResumed', data: { by } }]);
    expect(
      then([
        ...halted,
        { type: 'NoteResumption', by },
        { type: 'NoteResumption', by: { groupId: 'g-3', commandId: 'G-3' } },
      ]),
    ).toEqual([]);
    const well = [...started, ended(0, 'accepted'), ended(1, 'accepted'), ended(2, 'accepted')];
    expect(then([...well, { type: 'NoteResumption', by }])).toEqual([]);
  });

  it('tells those that wait for it that it failed, however much of it was accepted, when it halted', () => {
    expect(outcomeForDependents({ outcome: 'partial', halt: 'member_rejected' })).toBe('failed');
    expect(outcomeForDependents({ outcome: 'rejected', halt: 'member_rejected' })).toBe('rejected');
    expect(outcomeForDependents({ outcome: 'partial' })).toBe('partial');
    expect(outcomeOf([{ outcome: 'rejected' }, { outcome: 'failed' }])).toBe('rejected');
  });

  it('is not worked on when its stream is damaged', () => {
    expect(() => evolveGroup(NO_GROUP, { type: 'GroupReleased', data: {} })).toThrow('before GroupRegistered');
    expect(() => evolveGroup(groupAfter([registered]), { type: 'GroupRegistered', data: groupRegistration() })).toThrow(
      'in phase sending',
    );
    expect(() => evolveGroup(groupAfter([registered]), { type: 'GroupForgotten', data: {} } as never)).toThrow(
      'unknown group event',
    );
  });
});
