import { describe, expect, it } from '@jest/globals';
import { decideSuspension, whyNotSuspension, type SuspensionCommand } from './decide.js';
import { letterSuspensionId, listedSuspensionId, type SuspensionEvent } from './events.js';
import {
  decideSuspendedList,
  doubtOf,
  hasNewUnnamed,
  evolveSuspendedList,
  looksAlike,
  NO_LIST,
  seriesInOrder,
} from './list.js';
import type { SuspendedListCommand, SuspendedListState } from './list.js';
import { evolveSuspension, isInForce, NO_SUSPENSION, SUSPENSION_PHASES } from './state.js';
import type { KnownSuspension, SuspensionState } from './state.js';

const GTIN = '04600000000015';
const SHA = 'a'.repeat(64);
const LETTER = { number: '01И-1/26', date: '2026-11-20', from: 'the inspectorate', letterSha256: SHA };
const ID = letterSuspensionId(LETTER);
const ENTER: SuspensionCommand = {
  ...{ type: 'Enter', suspensionId: ID, action: 'suspend', product: 'Aspirin', series: 'A1', ...LETTER },
};
const MATCH: SuspensionCommand = { type: 'Match', suspensionId: ID, matches: [{ gtin: GTIN, series: 'A1' }] };
const NONE_OF_OURS: SuspensionCommand = { type: 'Match', suspensionId: ID, matches: [] };
const RELEASE: SuspensionCommand = {
  ...{ type: 'Change', suspensionId: ID, action: 'release', ...LETTER, number: '01И-9/26', date: '2026-11-22' },
};
const PLACE = { place: '00000000100101', found: 0, quarantined: 0, shipped: 0, returned: 0 };
const REPLY: SuspensionCommand = { type: 'Reply', suspensionId: ID, places: [PLACE] };
const CLOSE: SuspensionCommand = { type: 'Close', suspensionId: ID };

const LISTED = listedSuspensionId({ gtin: GTIN, series: 'A1' });
const version = { listSha256: SHA, fetchedAt: '2026-11-23T06:00:00.000Z' };
const LIST: SuspensionCommand = { type: 'List', suspensionId: LISTED, gtin: GTIN, series: 'A1', ...version };
const UNLIST: SuspensionCommand = { type: 'Unlist', suspensionId: LISTED, ...version };

/** What becomes of a suspension that is told these one after another. */
function told(...commands: SuspensionCommand[]): { state: SuspensionState; newest: string[] } {
  let state = NO_SUSPENSION;
  let newest: SuspensionEvent[] = [];
  for (const command of commands) {
    newest = decideSuspension(state, command);
    state = newest.reduce(evolveSuspension, state);
  }
  return { state, newest: newest.map(({ type }) => type) };
}
const known = (...commands: SuspensionCommand[]): KnownSuspension => told(...commands).state as KnownSuspension;

const IN = {
  absent: [],
  unmatched: [ENTER],
  open: [ENTER, MATCH],
  replied: [ENTER, MATCH, REPLY],
  closed: [ENTER, MATCH, REPLY, CLOSE],
} satisfies Record<string, SuspensionCommand[]>;
type Phase = keyof typeof IN;

/** Every command to a letter in every phase: the events that follow. What is not named for a phase changes nothing. */
const TABLE: [name: string, command: SuspensionCommand, follows: Partial<Record<Phase, string[]>>][] = [
  ['is entered', ENTER, { absent: ['SuspensionEntered'] }],
  ['is matched as before', MATCH, { unmatched: ['SuspensionMatched'] }],
  [
    'is matched otherwise',
    NONE_OF_OURS,
    {
      ...{ unmatched: ['SuspensionMatched'], open: ['SuspensionMatched'], replied: ['SuspensionMatched'] },
      closed: ['SuspensionMatched'],
    },
  ],
  [
    'is changed by a letter',
    RELEASE,
    {
      ...{ unmatched: ['SuspensionChanged'], open: ['SuspensionChanged'], replied: ['SuspensionChanged'] },
      closed: ['SuspensionChanged'],
    },
  ],
  ['is replied to', REPLY, { open: ['SuspensionReplied'], replied: ['SuspensionReplied'] }],
  ['is closed', CLOSE, { replied: ['SuspensionClosed'] }],
];

describe('a letter about the same', () => {
  it('that is repeated changes nothing: a reply to it stays', () => {
    expect(told(...IN.open, RELEASE, RELEASE)).toMatchObject({ newest: [], state: { versions: 2 } });
    expect(told(...IN.open, RELEASE, REPLY, CLOSE, RELEASE)).toMatchObject({ newest: [], state: { phase: 'closed' } });
    const other = { ...RELEASE, letterSha256: 'b'.repeat(64) } as SuspensionCommand;
    expect(told(...IN.open, RELEASE, other)).toMatchObject({ newest: ['SuspensionChanged'], state: { versions: 3 } });
  });

  it('that is repeated after a later one releases nothing, and that is said', () => {
    const suspends = { ...RELEASE, action: 'suspend', number: '01И-10/26' } as SuspensionCommand;
    const late = told(...IN.open, RELEASE, suspends, RELEASE);
    expect(late).toMatchObject({ newest: [], state: { versions: 3, newest: { action: 'suspend' } } });
    expect(whyNotSuspension(late.state, RELEASE)).toContain('a later letter');
    expect(whyNotSuspension(late.state, suspends)).toBeUndefined();
    const first = { ...RELEASE, ...LETTER, action: 'suspend' } as SuspensionCommand;
    expect(told(...IN.open, RELEASE, first)).toMatchObject({ newest: [], state: { newest: { action: 'release' } } });
  });

  it('is no other content of the one that it began with', () => {
    expect(whyNotSuspension(known(...IN.open, RELEASE), ENTER)).toBeUndefined();
    expect(told(...IN.open, RELEASE, ENTER)).toMatchObject({ newest: [], state: { versions: 2 } });
    expect(whyNotSuspension(known(...IN.open, RELEASE), { ...ENTER, series: 'A2' })).toContain('with other content');
  });
});

describe('a letter', () => {
  it('has all its phases in the table', () => {
    expect(Object.keys(IN).sort()).toEqual(['absent', ...SUSPENSION_PHASES].sort());
  });

  describe.each(TABLE)('that %s', (_, command, follows) => {
    it.each(Object.entries(IN))('while it is %s', (phase, given) => {
      expect(told(...given).state.phase).toBe(phase);
      expect(told(...given, command).newest).toEqual(follows[phase as Phase] ?? []);
    });
  });

  it('is not closed without a reply, and that is said', () => {
    expect(whyNotSuspension(known(ENTER, MATCH), CLOSE)).toBe('its newest version has no reply yet');
    expect(whyNotSuspension(known(ENTER), REPLY)).toContain('match it first');
  });

  it('is replied to also where no product of ours is meant, and where nothing was found', () => {
    expect(known(ENTER, NONE_OF_OURS, REPLY, CLOSE)).toMatchObject({
      ...{ phase: 'closed', matches: [], reply: { version: 1, places: [PLACE] } },
    });
  });

  it('owes a reply again for each later version, and is in force until one releases it', () => {
    const before = known(...IN.closed);
    const after = known(...IN.closed, RELEASE);
    expect([isInForce(before), isInForce(after)]).toEqual([true, false]);
    expect(after).toMatchObject({ phase: 'open', versions: 2, reply: null, newest: { number: '01И-9/26' } });
    expect(known(...IN.closed, RELEASE, REPLY).reply?.version).toBe(2);
  });

  it('of the same writer, number and date is the same one, and with other words it is refused in words', () => {
    expect(whyNotSuspension(known(ENTER), ENTER)).toBeUndefined();
    expect(whyNotSuspension(known(ENTER), { ...ENTER, series: 'A2' })).toContain('entered already');
    expect(letterSuspensionId({ ...LETTER, from: 'the maker' })).not.toBe(ID);
  });

  it('of look-alike series is never the same', () => {
    const [latin, cyrillic] = ['A1', 'А1'].map((series) => listedSuspensionId({ gtin: GTIN, series }));
    expect(latin).not.toBe(cyrillic);
    expect([looksAlike('A1', 'А1'), looksAlike('A1', 'A1'), looksAlike('A1', 'Б1')]).toEqual([true, false, false]);
    // As a comparison of packs has it (`look_alike_letters`).
    expect([looksAlike('13', '1\u0417'), looksAlike('13', '1\u0437')]).toEqual([true, false]);
    expect(
      seriesInOrder([
        { gtin: GTIN, series: 'А1' },
        { gtin: GTIN, series: 'A1' },
        { gtin: GTIN, series: 'A1' },
      ]),
    ).toHaveLength(2);
  });

  it('stops loudly at an event that cannot follow', () => {
    const closed: SuspensionEvent = { type: 'SuspensionClosed', data: { suspensionId: ID } };
    expect(() => evolveSuspension(known(ENTER, MATCH), closed)).toThrow('SuspensionClosed in phase open');
    expect(() => evolveSuspension(NO_SUSPENSION, closed)).toThrow('which never began');
  });
});

describe('a series of the list', () => {
  it('is suspended when it is listed, released when it is not any more, and suspended again', () => {
    expect(told(LIST).newest).toEqual(['SuspensionListed']);
    expect(told(LIST, LIST).newest).toEqual([]);
    expect(known(LIST, UNLIST)).toMatchObject({ phase: 'open', versions: 2, newest: { action: 'release' } });
    expect(told(LIST, UNLIST, UNLIST).newest).toEqual([]);
    expect(known(LIST, UNLIST, LIST)).toMatchObject({ versions: 3, newest: { action: 'suspend' } });
    expect(told(UNLIST).newest).toEqual([]);
  });

  it('is matched by the list alone, and no letter changes it', () => {
    expect(whyNotSuspension(known(LIST), { ...MATCH, suspensionId: LISTED })).toContain('names the product itself');
    expect(whyNotSuspension(known(LIST), { ...RELEASE, suspensionId: LISTED })).toContain('enter the letter');
  });
});

describe('the list', () => {
  const hold = (hour: number, over: object = {}): SuspendedListCommand => ({
    ...{
      type: 'Hold',
      account: 'main',
      series: 4,
      packs: 9,
      packsWithoutSeries: 0,
      calls: 1,
      appeared: 0,
      vanished: 0,
    },
    ...{
      listSha256: SHA,
      inForceSha256: SHA,
      fetchId: `f${hour}`,
      fetchedAt: `2026-11-23T0${hour}:00:00.000Z`,
      ...over,
    },
  });
  const OTHER = 'b'.repeat(64);
  const doubted = hold(2, { listSha256: OTHER, doubt: 'empty', series: 0, vanished: 4 });
  const after = (...commands: SuspendedListCommand[]): SuspendedListState => {
    let state = NO_LIST;
    for (const command of commands) state = decideSuspendedList(state, command).reduce(evolveSuspendedList, state);
    return state;
  };

  it('that is doubted counts only once a person confirms that very one', () => {
    expect(after(hold(1), doubted)).toMatchObject({
      ...{ phase: 'doubted', newest: { listSha256: OTHER }, believed: { listSha256: SHA } },
    });
    expect(decideSuspendedList(after(hold(1), doubted), { type: 'Confirm', listSha256: SHA })).toEqual([]);
    expect(decideSuspendedList(after(hold(1)), { type: 'Confirm', listSha256: SHA })).toEqual([]);
    expect(after(hold(1), doubted, { type: 'Confirm', listSha256: OTHER })).toMatchObject({
      ...{ phase: 'believed', believed: { listSha256: OTHER, series: 0 } },
    });
  });

  it('is held once for each reading', () => {
    expect(decideSuspendedList(after(hold(2)), hold(2))).toEqual([]);
    expect(decideSuspendedList(after(hold(2)), hold(3))).toHaveLength(1);
  });

  it.each([
    [0, 0, 0, undefined],
    [1, 0, 1, 'empty'],
    [3, 1, 2, undefined],
    [4, 1, 3, 'shrunken'],
    [6, 3, 3, undefined],
    [1_000, 499, 501, 'shrunken'],
    [1_000, 2_000, 600, 'shrunken'],
  ])('of %i series, then %i with %i gone, is doubted: %s', (believed, series, vanished, doubt) => {
    expect(doubtOf(believed, { series, vanished })).toBe(doubt);
  });

  it('is doubted where its entries name nothing, and other ones did in the believed one, or fewer', () => {
    expect(doubtOf(4, { series: 4, vanished: 0, isUnclear: true })).toBe('not_understood');
    expect(doubtOf(4, { series: 0, vanished: 4, isUnclear: true })).toBe('empty');
    const believed = { [SHA]: 2, [OTHER]: 1 };
    expect([{}, { [SHA]: 2 }, believed].map((one) => hasNewUnnamed(one, believed))).toEqual([false, false, false]);
    expect([{ [SHA]: 3 }, { ['c'.repeat(64)]: 1 }].map((one) => hasNewUnnamed(one, believed))).toEqual([true, true]);
  });
});
