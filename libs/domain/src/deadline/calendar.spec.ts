import { describe, expect, it } from '@jest/globals';
import { readCalendar } from './calendar.js';
import { GIVEN_CALENDAR as GIVEN } from '../../test/given-calendar.js';

type Fields = Record<string, unknown>;
const withRow = (index: number, change: Fields): Fields => ({
  ...GIVEN,
  deadlines: GIVEN.deadlines.map((row, at) => (at === index ? { ...row, ...change } : row)),
});
const withDays = (change: Fields): Fields => ({ ...GIVEN, workingDays: { ...GIVEN.workingDays, ...change } });
const without = (name: keyof typeof GIVEN): Fields => {
  const { [name]: _, ...rest } = GIVEN;
  return rest;
};

describe('a calendar of deadlines', () => {
  it('is named, and says first of all where it is made up', () => {
    expect(readCalendar(GIVEN).named).toEqual({ name: 'Test calendar', edition: '1' });
    expect(readCalendar({ fictitious: 'Made up.', ...GIVEN }).named.fictitious).toBe('Made up.');
    expect(() => readCalendar({ ...GIVEN, fictitious: 'Made up.' })).toThrow('/fictitious: must be the first field');
  });

  it('has the rows of a type in a role on a channel, and tells those that are said to have none', () => {
    const { rowsOf } = readCalendar(GIVEN);
    expect(rowsOf({ role: 'sender', docType: 415, channel: 'api' })?.map(({ clause }) => clause)).toEqual([
      'Made-up rule 1',
      'Made-up rule 2',
    ]);
    expect(rowsOf({ role: 'sender', docType: 415, channel: 'cabinet' })).toHaveLength(1);
    expect(rowsOf({ role: 'receiver', docType: 607, channel: 'counterparty' })).toEqual([]);
    expect(rowsOf({ role: 'sender', docType: 607, channel: 'api' })).toBeUndefined();
    expect(rowsOf({ role: 'sender', docType: 552, channel: 'api' })).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['no object', 'x', '/: '],
    ['a field that is missing', without('edition'), '/edition: '],
    ['a field that nobody knows', { ...GIVEN, holiday: [] }, '/holiday: is not known'],
    ['a zone that is none', { ...GIVEN, zone: 'Moscow' }, '/zone: is not a time zone'],
    [
      'a day that does not exist',
      withDays({ holidays: ['2026-02-30'] }),
      '/workingDays/holidays/0: 2026-02-30 is not a day',
    ],
    [
      'a day outside those listed',
      withDays({ holidays: ['2027-01-01'] }),
      '/workingDays/holidays/0: 2027-01-01 lies outside',
    ],
    ['a day twice', withDays({ workingWeekendDays: ['2026-05-01'] }), 'stands in holidays already'],
    ['a week without a working day', withDays({ weekend: new Array(7).fill('sunday') }), '/workingDays/weekend'],
    ['days that end before they begin', withDays({ to: '2025-01-01' }), '/workingDays/to: lies before from'],
    ['a hundred years', withDays({ to: '2126-01-01' }), '/workingDays/to: lies more than forty years'],
    ['a role that is none', withRow(0, { role: 'payer' }), '/deadlines/0/role: '],
    ['a channel of the other role', withRow(2, { channel: 'api' }), '/deadlines/2/channel: api is no channel'],
    ['no limit', withRow(1, { limit: { weeks: 1 } }), '/deadlines/1/limit: must be one of'],
    ['a limit that is not a number', withRow(1, { limit: { hours: 'two' } }), '/deadlines/1/limit/hours: '],
    ['a limit without end', withRow(0, { limit: { workingDays: 367 } }), '/deadlines/0/limit/workingDays: '],
    ['two limits', withRow(1, { limit: { hours: 1, workingDays: 1 } }), '/deadlines/1/limit: must be one of'],
    ['a receiver without an answer', withRow(2, { metBy: undefined }), '/deadlines/2/metBy: must name'],
    ['a sender with one', withRow(0, { metBy: [701] }), '/deadlines/0/metBy: is for the role receiver'],
    ['a sender with an end', withRow(0, { endedBy: [605] }), '/deadlines/0/endedBy: is for the role receiver'],
    ['a sender that waits for itself', withRow(0, { startsAt: 'accepted' }), '/deadlines/0/startsAt: '],
    ['a row that ends before it begins', withRow(0, { validTo: '2025-01-01' }), '/deadlines/0/validTo: lies before'],
    ['no clause', withRow(0, { clause: ' ' }), '/deadlines/0/clause: '],
    ['two rows for one day', withRow(0, { validTo: '2026-07-01' }), '/deadlines/1: speaks of type 415'],
    [
      'a type with and without a deadline',
      { ...GIVEN, withoutDeadline: [{ docTypes: [601], role: 'receiver', reason: 'x' }] },
      '/withoutDeadline/0: names type 601',
    ],
    [
      'more rows than anybody reads',
      { ...GIVEN, deadlines: new Array(1_001).fill(GIVEN.deadlines[0]) },
      '/deadlines: ',
    ],
  ])('is refused with %s, by its place', (_, given, message) => {
    expect(() => readCalendar(given)).toThrow(expect.objectContaining({ code: 'invalid_configuration' }));
    expect(() => readCalendar(given)).toThrow(message);
  });
});
