import { describe, expect, it } from '@jest/globals';
import { readCalendar } from './calendar.js';
import { daysLate, dueOf, type Due, type DutyFacts } from './due.js';
import { GIVEN_CALENDAR } from '../../test/given-calendar.js';
import { standingOf, type Duty } from './standing.js';

const CALENDAR = readCalendar(GIVEN_CALENDAR);
const at = (text: string): Date => new Date(text);

const shipped = (operationAt: string | null): DutyFacts => ({
  role: 'sender',
  docType: 415,
  channel: 'api',
  operationAt: operationAt === null ? null : at(operationAt),
  knownAt: at('2026-03-01T00:00:00Z'),
  acceptedAt: null,
});
/** Sent in place of others: what each claims, the earliest first. */
const sentAnew = (...days: string[]): DutyFacts => {
  const claims = days.map((day) => at(`${day}T12:00:00+03:00`));
  return { ...shipped(null), operationAt: claims[0] ?? null, claims };
};
const told = (knownAt: string): DutyFacts => ({
  ...shipped(null),
  role: 'receiver',
  docType: 601,
  channel: 'counterparty',
  knownAt: at(knownAt),
});
const shown = (due: Due): string => {
  if (due.kind === 'due') return due.at.toISOString();
  return due.kind === 'none' ? 'none' : due.why;
};

describe('the moment from which a document is too late', () => {
  it.each<[string, DutyFacts, string]>([
    // Thursday: Friday, (weekend, holiday), Tuesday, Wednesday.
    ['skips the weekend and the holiday', shipped('2026-03-05T12:00:00+03:00'), '2026-03-11T21:00:00.000Z'],
    ['counts a working Saturday', shipped('2026-03-12T12:00:00+03:00'), '2026-03-16T21:00:00.000Z'],
    ['counts from the day in its own zone', shipped('2026-03-04T21:30:00Z'), '2026-03-11T21:00:00.000Z'],
    ['and from the day before until midnight there', shipped('2026-03-04T20:59:59Z'), '2026-03-10T21:00:00.000Z'],
    ['counts hours from the start itself', shipped('2026-07-03T12:00:00+03:00'), '2026-07-04T21:00:00.000Z'],
    ['takes the row that was in force then', shipped('2026-06-30T20:59:59Z'), '2026-07-03T21:00:00.000Z'],
    ['and the next one from its first day on', shipped('2026-06-30T21:00:00Z'), '2026-07-02T09:00:00.000Z'],
    ['moves calendar days to a working day', told('2026-03-06T08:00:00Z'), '2026-03-10T21:00:00.000Z'],
    ['does not guess the days of another year', told('2026-12-30T08:00:00Z'), 'days_not_listed'],
    ['passes over a wrong date before all rows', sentAnew('2006-03-05', '2026-03-05'), '2026-03-11T21:00:00.000Z'],
    ['but over no date that a row knows', sentAnew('2026-03-04', '2026-03-05'), '2026-03-10T21:00:00.000Z'],
    ['nor a row before the first', shipped('2025-12-31T12:00:00+03:00'), 'not_in_force'],
    ['nor a start that nobody names', shipped(null), 'not_started'],
    ['nor a type that the calendar does not speak of', { ...told('2026-03-06T08:00:00Z'), docType: 605 }, 'not_listed'],
    ['nor one that nobody knows', { ...told('2026-03-06T08:00:00Z'), docType: null }, 'not_listed'],
    ['is none where the calendar says so', { ...told('2026-03-06T08:00:00Z'), docType: 607 }, 'none'],
  ])('%s', (_, facts, expected) => expect(shown(dueOf(CALENDAR, facts))).toBe(expected));

  it('is not known without a calendar', () => {
    expect(dueOf(undefined, shipped('2026-03-05T12:00:00+03:00'))).toEqual({ kind: 'unknown', why: 'no_calendar' });
  });
});

describe('how a duty stands', () => {
  const duty: Duty = {
    ...shipped('2026-03-05T12:00:00+03:00'),
    metSentAt: null,
    metAcceptedAt: null,
    metOutcome: null,
    isReplaced: false,
  };
  const DUE = '2026-03-11T21:00:00.000Z';
  const by = (change: Partial<Duty>, now = '2026-03-20T09:00:00Z') =>
    standingOf(CALENDAR, { ...duty, ...change }, at(now));

  it('is pending up to the moment, and overdue from it on', () => {
    expect(by({}, '2026-03-11T20:59:59.999Z')).toMatchObject({ state: 'pending', due: { at: at(DUE) } });
    expect(by({}, DUE)).toMatchObject({ state: 'overdue', daysLate: 1 });
    expect(by({}, '2026-03-12T21:00:00Z')).toMatchObject({ state: 'overdue', daysLate: 2 });
  });

  it('is met by what the row names: here the send', () => {
    expect(by({ metSentAt: at('2026-03-11T20:59:59.999Z') })).toMatchObject({ state: 'on_time' });
    expect(by({ metSentAt: at(DUE) })).toMatchObject({ state: 'late', doneAt: at(DUE), daysLate: 1 });
  });

  it('takes the registry at its word where it had the document before we knew', () => {
    const found = { metSentAt: at('2026-03-12T08:00:00Z'), metAcceptedAt: at('2026-03-11T20:00:00Z') };
    expect(by({ ...found, metOutcome: 'accepted' })).toMatchObject({
      state: 'on_time',
      doneAt: at('2026-03-11T20:00:00Z'),
    });
  });

  it('is met by the acceptance where the row says so', () => {
    const facts = { operationAt: at('2026-07-03T09:00:00Z'), metSentAt: at('2026-07-03T10:00:00Z') };
    expect(by(facts, '2026-07-03T12:00:00Z').state).toBe('pending');
    const accepted = { ...facts, metAcceptedAt: at('2026-07-05T21:00:00Z') };
    expect(by({ ...accepted, metOutcome: 'partial' })).toMatchObject({ state: 'late', daysLate: 2 });
    expect(by(accepted, '2026-07-03T12:00:00Z').state).toBe('pending');
  });

  it('is not met by a document that ended badly, whenever that was sent', () => {
    const rejected = { metSentAt: at('2026-03-06T08:00:00Z'), metAcceptedAt: at('2026-03-06T08:01:00Z') };
    expect(by({ ...rejected, metOutcome: 'rejected' })).toMatchObject({ state: 'overdue', daysLate: 9 });
    expect(by({ ...rejected, metOutcome: 'failed', isReplaced: true }).state).toBe('replaced');
  });

  it('says what it does not know', () => {
    expect(by({ docType: 552 })).toEqual({ state: 'not_known', why: 'not_listed' });
    expect(standingOf(undefined, duty, at(DUE))).toEqual({ state: 'not_known', why: 'no_calendar' });
    expect(by({ role: 'receiver', channel: 'counterparty', docType: 607 })).toEqual({ state: 'no_deadline' });
  });
});

it('counts days late as the days of the zone on which it was late', () => {
  const due = at('2026-03-11T21:00:00Z');
  expect(daysLate(CALENDAR, due, due)).toBe(1);
  expect(daysLate(CALENDAR, due, at('2026-03-12T20:59:59Z'))).toBe(1);
  expect(daysLate(CALENDAR, due, at('2026-03-12T21:00:00Z'))).toBe(2);
});
