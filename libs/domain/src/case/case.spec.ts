import { describe, expect, it } from '@jest/globals';
import { decideCase, isStale, type CaseCommand } from './decide.js';
import { caseIdOf, partOf, type CaseEvent, type CaseSighting } from './events.js';
import { remedyOf } from './remedy.js';
import { CASE_PHASES, evolveCase, NO_CASE, type CaseState, type KnownCase } from './state.js';

const CAUSE = { kind: 'series', gtin: '04600000000015', series: 'A1', place: '00000000100101' } as const;
const CODE = 'missing_locally';
const CASE = caseIdOf(CODE, CAUSE);
const DUE = '2026-11-30T00:00:00.000Z';
const DIGEST = 'a'.repeat(64);

const sighting = (day: number, count = 10, id = `run-${day}`): CaseSighting => ({
  run: { kind: 'packs', id, moment: `2026-11-${String(day).padStart(2, '0')}T05:00:00.000Z` },
  ...{ count, findingsSha256: DIGEST, rows: { from: 0, to: count } },
});
const see = (day: number, count?: number, more: Partial<CaseCommand & { type: 'See' }> = {}): CaseCommand => ({
  ...{ type: 'See', caseId: CASE, code: CODE, cause: CAUSE, severity: 'warning', dueAt: DUE },
  ...{ seen: sighting(day, count), ...more },
});
const miss = (day: number): CaseCommand => ({
  ...{ type: 'Miss', caseId: CASE, run: sighting(day).run, findingsSha256: DIGEST },
});
/** The same of runs of documents. */
const DOCUMENTS = { kind: 'documents', id: 'documents' } as const;
const seeDocument = (day: number, more: Partial<CaseCommand & { type: 'See' }> = {}): CaseCommand => {
  const { run, ...seen } = sighting(day, 1);
  return see(day, 1, { seen: { ...seen, run: { ...run, ...DOCUMENTS } }, ...more });
};
const missDocument = (day: number): CaseCommand => ({
  ...{ type: 'Miss', caseId: CASE, run: { ...sighting(day).run, ...DOCUMENTS }, findingsSha256: DIGEST },
});
const ACKNOWLEDGE: CaseCommand = { type: 'Acknowledge', caseId: CASE };
const ASSIGN: CaseCommand = { type: 'Assign', caseId: CASE, assignee: 'anna' };
const COMMENT: CaseCommand = { type: 'Comment', caseId: CASE, text: 'looked at it' };
const EXPLAIN: CaseCommand = { type: 'Explain', caseId: CASE, text: 'the pallet is on its way back' };
const RESOLVE: CaseCommand = {
  ...{ type: 'Resolve', caseId: CASE, at: '2026-11-03T12:00:00.000Z' },
  by: { kind: 'person', resolution: 'corrected_here', note: 'found behind the rack' },
};
const REOPEN: CaseCommand = { type: 'Reopen', caseId: CASE, at: '2026-11-05T12:00:00.000Z', dueAt: DUE };
const PART = caseIdOf(CODE, partOf(CASE, ['x', 'y']));
const SPLIT: CaseCommand = { type: 'Split', caseId: CASE, part: PART, items: ['x', 'y'], count: 2 };
const RELEASE: CaseCommand = {
  ...{ type: 'ReleaseRemedy', caseId: CASE, action: 'resend', commandId: 'c', requestId: 'r' },
};
const RECEIPT: CaseCommand = {
  ...{ type: 'ConcludeRemedy', caseId: CASE, at: '2026-11-04T00:00:00.000Z', requestId: 'r', outcome: 'accepted' },
};

/** What becomes of a case that is told these one after another. */
function told(...commands: CaseCommand[]): { state: CaseState; newest: string[]; events: CaseEvent[] } {
  let state: CaseState = NO_CASE;
  let newest: CaseEvent[] = [];
  const events: CaseEvent[] = [];
  for (const command of commands) {
    newest = decideCase(state, command);
    state = newest.reduce(evolveCase, state);
    events.push(...newest);
  }
  return { state, newest: newest.map(({ type }) => type), events };
}
const known = (...commands: CaseCommand[]): KnownCase => told(...commands).state as KnownCase;

const IN = {
  absent: [],
  open: [see(1)],
  acknowledged: [see(1), ACKNOWLEDGE],
  explained: [see(1), EXPLAIN],
  resolved: [see(1), RESOLVE],
} satisfies Record<string, CaseCommand[]>;

/** Every command in every phase: the events that follow. A command that is not named for a phase changes nothing. */
const TABLE: [name: string, command: CaseCommand, follows: Partial<Record<keyof typeof IN, string[]>>][] = [
  [
    ...(['is seen by a later run', see(9)] as const),
    {
      ...{ absent: ['CaseOpened'], open: ['CaseSeen'], acknowledged: ['CaseSeen'], explained: ['CaseSeen'] },
      resolved: ['CaseReopened'],
    },
  ],
  ['is seen by the same run again', see(1), { absent: ['CaseOpened'] }],
  [
    ...(['is missed by a later run', miss(9)] as const),
    { open: ['CaseResolved'], acknowledged: ['CaseResolved'], explained: ['CaseResolved'] },
  ],
  ['is missed by a run of the same moment', miss(1), {}],
  ['is acknowledged', ACKNOWLEDGE, { open: ['CaseAcknowledged'] }],
  [
    ...(['is assigned', ASSIGN] as const),
    { open: ['CaseAssigned'], acknowledged: ['CaseAssigned'], explained: ['CaseAssigned'] },
  ],
  [
    ...(['is commented', COMMENT] as const),
    {
      ...{ open: ['CaseCommented'], acknowledged: ['CaseCommented'], explained: ['CaseCommented'] },
      resolved: ['CaseCommented'],
    },
  ],
  [
    ...(['is explained', EXPLAIN] as const),
    { open: ['CaseExplained'], acknowledged: ['CaseExplained'], explained: ['CaseExplained'] },
  ],
  [
    ...(['is resolved', RESOLVE] as const),
    { open: ['CaseResolved'], acknowledged: ['CaseResolved'], explained: ['CaseResolved'] },
  ],
  ['is reopened', REOPEN, { resolved: ['CaseReopened'] }],
  ['is split', SPLIT, { open: ['CaseSplit'], acknowledged: ['CaseSplit'], explained: ['CaseSplit'] }],
  [
    ...(['has its remedy released', RELEASE] as const),
    { open: ['CaseRemedyReleased'], acknowledged: ['CaseRemedyReleased'], explained: ['CaseRemedyReleased'] },
  ],
  ['hears of a receipt that is not its own', RECEIPT, {}],
];

describe('a case', () => {
  it('has all its phases in the table', () => {
    expect(Object.keys(IN).sort()).toEqual(['absent', ...CASE_PHASES].sort());
  });

  describe.each(TABLE)('that %s', (_, command, follows) => {
    it.each(Object.entries(IN))('while it is %s', (phase, given) => {
      expect(told(...given).state.phase).toBe(phase);
      expect(told(...given, command).newest).toEqual(follows[phase as keyof typeof IN] ?? []);
    });
  });

  it('is one over runs, whether it grows or shrinks: first seen, last seen, runs seen', () => {
    const days = Array.from({ length: 25 }, (_, n) => see(n + 1, n % 2 === 0 ? 5_000 : 3));
    const { state, events } = told(...days, ...days);
    expect(events).toHaveLength(25);
    expect(state).toMatchObject({
      ...{ runsSeen: 25, count: 5_000, firstSeen: { run: { id: 'run-1' } }, lastSeen: { run: { id: 'run-25' } } },
    });
  });

  it('has a key of code and cause alone', () => {
    expect(caseIdOf(CODE, { ...CAUSE })).toBe(CASE);
    expect(caseIdOf('status_mismatch', CAUSE)).not.toBe(CASE);
    expect(caseIdOf(CODE, { ...CAUSE, place: null })).not.toBe(CASE);
  });

  it('takes two runs of one moment, each once, and none of an earlier one', () => {
    const other = see(5, 4, { seen: sighting(5, 4, 'other') });
    const { state, events } = told(see(5), other, see(5), other, see(4));
    expect(events.map(({ type }) => type)).toEqual(['CaseOpened', 'CaseSeen']);
    expect(state).toMatchObject({ count: 4, runsSeen: 2 });
  });

  it('is not reopened by what a run saw before it was resolved, and is by what one saw after', () => {
    expect(told(see(1), RESOLVE, see(3)).state.phase).toBe('resolved');
    expect(known(see(1), RESOLVE, see(4))).toMatchObject({ phase: 'open', end: null, resolvedAt: null, runsSeen: 2 });
  });

  it('is none for what a later run has not found, and is told as long as it is one', () => {
    const late = (day: number) => see(day, 4, { onlyKnown: true });
    expect(told(late(1)).events).toEqual([]);
    expect(told(see(1), miss(2), late(3)).newest).toEqual([]);
    expect(told(see(1), late(3)).newest).toEqual(['CaseSeen']);
  });

  it('that a run resolved is reopened by the next run that finds it', () => {
    const { state, events } = told(see(1), miss(2), see(3));
    expect(events[1]).toMatchObject({ data: { by: { kind: 'run', run: { id: 'run-2' } } } });
    expect(state).toMatchObject({ phase: 'open', firstSeen: { run: { id: 'run-1' } } });
  });

  it('stays explained as long as it does not grow', () => {
    expect(told(see(1, 10), EXPLAIN, see(2, 10), see(3, 4)).state.phase).toBe('explained');
    expect(told(see(1, 10), EXPLAIN, see(2, 11)).state.phase).toBe('open');
  });

  it('that was explained is open again when it is worse, or of items of which the explanation did not speak', () => {
    expect(told(see(1), EXPLAIN, see(2, 10, { severity: 'critical' })).state.phase).toBe('open');
    expect(told(see(1), EXPLAIN, see(2, 10, { hasNew: true })).state.phase).toBe('open');
    expect(told(see(1, 10), EXPLAIN, see(2, 9, { severity: 'information', hasNew: false })).state.phase).toBe(
      'explained',
    );
    expect(told(see(1), ACKNOWLEDGE, see(2, 10, { hasNew: true })).state.phase).toBe('acknowledged');
  });

  it('that a person reopened is not resolved by a run of an earlier moment', () => {
    expect(told(see(1), RESOLVE, REOPEN, miss(5)).state.phase).toBe('open');
    expect(told(see(1), RESOLVE, REOPEN, miss(6)).state.phase).toBe('resolved');
  });

  it('that a person resolved is reopened by what came about since, and not by what was known then', () => {
    const since = (at: string) => seeDocument(9, { since: at });
    expect(told(seeDocument(1), RESOLVE, since('2026-11-03T12:00:00.000Z')).newest).toEqual([]);
    const { newest, events } = told(seeDocument(1), RESOLVE, since('2026-11-03T12:00:00.001Z'));
    expect(newest).toEqual(['CaseReopened']);
    expect(events[2]?.data).not.toHaveProperty('since');
    // A run, or a receipt, is no person.
    expect(told(seeDocument(1), missDocument(5), since('2026-11-01T00:00:00.000Z')).newest).toEqual(['CaseReopened']);
    expect(told(seeDocument(1), RELEASE, RECEIPT, since('2026-11-01T00:00:00.000Z')).newest).toEqual(['CaseReopened']);
    expect(told(seeDocument(1), since('2026-11-01T00:00:00.000Z')).newest).toEqual(['CaseSeen']);
    expect(told(seeDocument(1), RESOLVE, REOPEN, since('2026-11-01T00:00:00.000Z')).newest).toEqual(['CaseSeen']);
  });

  it('is not reopened by a sighting of items that the run could not judge', () => {
    const carried = (count: number, unjudged: number, day: number) =>
      see(day, count, { seen: { ...sighting(day, count), unjudged } });
    expect(told(see(1), RESOLVE, carried(2, 2, 5)).newest).toEqual([]);
    expect(told(see(1), RESOLVE, carried(2, 1, 5)).newest).toEqual(['CaseReopened']);
  });

  it('that a person reopened keeps all items that a run of an earlier moment could not judge or found over', () => {
    const carried = (day: number) => see(day, 3, { seen: { ...sighting(day, 3), unjudged: 1 } });
    expect(known(see(1), RESOLVE, REOPEN, carried(4)).count).toBe(10);
    expect(known(see(1), RESOLVE, REOPEN, carried(6)).count).toBe(3);
    expect(known(see(1), RESOLVE, REOPEN, see(4, 3)).count).toBe(10);
    expect(known(see(1), RESOLVE, REOPEN, see(6, 3)).count).toBe(3);
  });

  it('is told nothing that was judged on another sighting than it has', () => {
    const on = (basis: string | null) => [see(4, 2, { basis }), { ...miss(4), basis }] as const;
    for (const command of on('run-1')) {
      expect(told(see(1), command).newest).toHaveLength(1);
      expect(told(see(1), see(2), command).newest).toEqual([]);
      const state = known(see(1), see(2));
      expect(isStale(state, command)).toBe(true);
      // What it would not be told anyway need not be made again.
      expect(isStale(known(see(1), see(5)), command)).toBe(false);
      expect(isStale(known(see(1), miss(5)), command)).toBe(false);
      expect(isStale(known(see(1), { ...RESOLVE, at: '2026-11-06T00:00:00.000Z' } as CaseCommand), command)).toBe(
        false,
      );
      expect(told(see(1), seeDocument(2), command).newest).toHaveLength(1);
    }
    const [again] = on('run-1');
    const withParts = (parts: number) => ({ ...again, parts }) as CaseCommand;
    expect(told(see(1), SPLIT, withParts(0)).newest).toEqual([]);
    expect(isStale(known(see(1), SPLIT), withParts(0))).toBe(true);
    expect(told(see(1), SPLIT, withParts(1)).newest).toEqual(['CaseSeen']);
    expect(told(see(1), SPLIT, withParts(1)).events.at(-1)?.data).not.toHaveProperty('parts');
    const [found] = on(null);
    expect(told(found).newest).toEqual(['CaseOpened']);
    expect(told(seeDocument(1), found).newest).toEqual(['CaseSeen']);
    expect(told(see(1), miss(2), found).newest).toEqual(['CaseReopened']);
    expect(told(see(1), found).newest).toEqual([]);
  });

  it('is due earlier when it becomes worse, and never later', () => {
    const sooner = '2026-11-05T00:00:00.000Z';
    expect(known(see(1), see(2, 1, { severity: 'critical', dueAt: sooner }))).toMatchObject({
      ...{ severity: 'critical', dueAt: sooner },
    });
    expect(known(see(1), see(2, 1, { severity: 'information', dueAt: '2027-01-01T00:00:00.000Z' })).dueAt).toBe(DUE);
  });

  it('gives items away once, never all of them, and a part none', () => {
    expect(known(see(1, 10), SPLIT)).toMatchObject({ count: 8, parts: [PART] });
    expect(told(see(1, 10), SPLIT, SPLIT).newest).toEqual([]);
    expect(told(see(1, 2), SPLIT).newest).toEqual([]);
    const cause = partOf(CASE, ['y', 'x', 'x']);
    expect(caseIdOf(CODE, cause)).toBe(PART);
    expect(told(see(1, 10, { cause }), SPLIT).newest).toEqual([]);
  });

  it('is closed by the accepted receipt of its own remedy, and goes on after another outcome', () => {
    expect(told(see(1), RELEASE, RECEIPT).newest).toEqual(['CaseRemedyConcluded', 'CaseResolved']);
    expect(known(see(1), RELEASE, RECEIPT)).toMatchObject({ end: { kind: 'receipt', requestId: 'r' }, remedy: null });
    const rejected = { ...RECEIPT, outcome: 'rejected' } as CaseCommand;
    expect(told(see(1), RELEASE, rejected).newest).toEqual(['CaseRemedyConcluded']);
    expect(told(see(1), RELEASE, rejected, RELEASE).newest).toEqual(['CaseRemedyReleased']);
    expect(told(see(1), RELEASE, RELEASE).newest).toEqual([]);
    expect(told(see(1), RELEASE, RESOLVE, RECEIPT).newest).toEqual(['CaseRemedyConcluded']);
    // What the intake did not take is no document that anything could be done to.
    const notTaken = { ...RECEIPT, outcome: 'not_taken', why: 'no such account' } as CaseCommand;
    expect(told(see(1), RELEASE, notTaken).newest).toEqual(['CaseRemedyConcluded']);
    expect(known(see(1), RELEASE, notTaken)).toMatchObject({ phase: 'open', remedy: null, remedies: 1 });
    expect([known(see(1), RELEASE, notTaken).successor, known(see(1), RELEASE, rejected).successor]).toEqual([
      undefined,
      'r',
    ]);
  });

  it('is not closed by a receipt of a moment that a run, or a person who reopened it, has left behind', () => {
    const released = [see(1), RELEASE];
    const concluded = (...commands: CaseCommand[]) => {
      const { newest, state } = told(...released, ...commands, RECEIPT);
      return [newest, (state as KnownCase).remedy];
    };
    expect(concluded(see(5))).toEqual([['CaseRemedyConcluded'], null]);
    expect(concluded(seeDocument(5))).toEqual([['CaseRemedyConcluded'], null]);
    expect(concluded(RESOLVE, REOPEN)).toEqual([['CaseRemedyConcluded'], null]);
    expect(concluded(see(3))).toEqual([['CaseRemedyConcluded', 'CaseResolved'], null]);
  });

  it('has what each kind of runs has seen, and ends when it is over for both', () => {
    const both = [see(2), seeDocument(3)];
    expect(known(...both)).toMatchObject({ count: 10, lastSeen: { run: { kind: 'documents' } }, runsSeen: 2 });
    expect(told(...both, miss(4)).newest).toEqual(['CaseMissed']);
    expect(known(...both, miss(4))).toMatchObject({ phase: 'open', count: 1 });
    expect(told(...both, miss(4), miss(5)).newest).toEqual([]);
    expect(told(...both, miss(4), missDocument(4)).newest).toEqual(['CaseResolved']);
    expect(told(...both, missDocument(4)).newest).toEqual(['CaseMissed']);
    expect(told(...both, missDocument(4), miss(4)).newest).toEqual(['CaseResolved']);
    expect(
      told(...both, miss(4), see(4), see(5))
        .events.map(({ type }) => type)
        .slice(-2),
    ).toEqual([...['CaseMissed', 'CaseSeen']]);
  });

  it('is told by packs as of a moment before that of documents, and by either once', () => {
    expect(known(seeDocument(3), see(2))).toMatchObject({
      count: 10,
      runsSeen: 2,
      lastSeen: { run: { id: 'documents' } },
    });
    expect(told(seeDocument(3), see(2), seeDocument(3), see(2), see(1)).events).toHaveLength(2);
  });

  it('is as bad as the worst that either kind has seen, and not open again by turns of them', () => {
    const [bad, mild] = [see(1, 10, { severity: 'critical' }), seeDocument(2)];
    expect(known(bad, mild).severity).toBe('critical');
    expect(told(bad, mild, EXPLAIN, see(3, 10, { severity: 'critical' }), seeDocument(4)).state.phase).toBe(
      'explained',
    );
    expect(known(bad, mild, miss(3)).severity).toBe('warning');
  });

  it('has by packs what a person takes out, though a run of documents was the last', () => {
    expect(known(see(1, 10), seeDocument(2), SPLIT)).toMatchObject({ count: 8 });
    expect(known(see(1, 10), seeDocument(2), SPLIT, seeDocument(3)).count).toBe(8);
  });

  it('that is resolved is over for both kinds, and a person who reopens it takes that back', () => {
    const both = [see(1), seeDocument(2)];
    expect(known(...both, RESOLVE, seeDocument(5)).count).toBe(1);
    expect(told(...both, RESOLVE, seeDocument(5), missDocument(6)).newest).toEqual(['CaseResolved']);
    expect(told(...both, RESOLVE, REOPEN, missDocument(6)).newest).toEqual(['CaseMissed']);
    expect(told(...both, RESOLVE, REOPEN, missDocument(6), miss(6)).newest).toEqual(['CaseResolved']);
    // What was over before the resolution stays so.
    expect(told(...both, miss(3), missDocument(4), REOPEN, missDocument(6)).newest).toEqual(['CaseResolved']);
  });

  it('tells what runs of a kind have missed from what a person has resolved', () => {
    const missed = (...commands: Parameters<typeof known>) => known(...commands).sightings?.packs?.missed;
    const both = [see(1), seeDocument(2)] as const;
    expect([missed(...both, miss(3)), missed(...both, miss(3), missDocument(4))]).toEqual([true, true]);
    expect([missed(...both, RESOLVE), missed(...both, missDocument(3), RESOLVE)]).toEqual([undefined, undefined]);
    expect(missed(...both, missDocument(3), miss(4))).toBe(true);
    expect(missed(...both, missDocument(3), miss(4), REOPEN)).toBeUndefined();
    expect(missed(...both, RESOLVE, seeDocument(6))).toBeUndefined();
  });

  it('goes on from the row of an earlier version, which kept the last sighting alone', () => {
    const { sightings, ...old } = known(see(1), see(2));
    expect(Object.keys(sightings ?? {})).toEqual(['packs']);
    const before = { ...old, runsOfMoment: ['run-2'] } as KnownCase;
    expect(decideCase(before, see(2))).toEqual([]);
    const after = decideCase(before, seeDocument(3)).reduce(evolveCase, before as CaseState);
    expect(after).toMatchObject({ count: 10, sightings: { packs: { count: 10 }, documents: { count: 1 } } });
    expect(decideCase(before, miss(3)).map(({ type }) => type)).toEqual(['CaseResolved']);
  });

  it('is not resolved by a run while the document that was sent for it has not ended', () => {
    expect(told(see(1), RELEASE, miss(2)).newest).toEqual([]);
    const rejected = { ...RECEIPT, outcome: 'rejected' } as CaseCommand;
    expect(told(see(1), RELEASE, miss(2), rejected, miss(3)).newest).toEqual(['CaseResolved']);
  });

  it('has the last of its resends sent again, for a document is sent again once', () => {
    const about = { code: 'rejected_document', cause: { kind: 'document', document: 'r-0' } } as const;
    const rejected = { ...RECEIPT, outcome: 'rejected' } as CaseCommand;
    expect(remedyOf(known(see(1, 1, about)))).toEqual({ action: 'resend', requestId: 'r-0' });
    expect(remedyOf(known(see(1, 1, about), RELEASE, rejected))).toEqual({ action: 'resend', requestId: 'r' });
    const partial = { ...RECEIPT, outcome: 'partial' } as CaseCommand;
    const taken = known(see(1, 1, about), RELEASE, partial);
    expect([taken.phase, taken.successor, remedyOf(taken)]).toEqual(['open', undefined, undefined]);
  });

  it('stops loudly at an event that it does not know, and at one without a beginning', () => {
    const forgotten = { type: 'CaseForgotten', data: {} } as never;
    expect(() => evolveCase(told(see(1)).state, forgotten)).toThrow('unknown case event');
    expect(() => evolveCase(NO_CASE, { type: 'CaseAcknowledged', data: { caseId: CASE } })).toThrow('never opened');
  });
});
