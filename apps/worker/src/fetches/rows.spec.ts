import { describe, expect, it } from '@jest/globals';
import type { NoRecord, RawAnswer } from '#registry-client';
import { pageOfFilter, pageOfList } from './rows.js';

const RAW = { body: Buffer.from('{}'), receivedAt: new Date('2026-11-23T06:00:00Z') } as RawAnswer;
const failed = (reason: NoRecord['reason']): NoRecord => ({ sgtin: reason, reason });
const answers = {
  found: [],
  failed: [failed('not_found'), failed('access_denied'), failed('not_told'), failed('other')],
  unanswered: ['left out'],
};

describe('an answer by list', () => {
  it('makes absent only what the registry calls so', () => {
    const { rows, missing, unanswered } = pageOfList(answers, RAW, 'list');
    expect(rows.map(({ item, answer }) => [item, answer])).toEqual([['access_denied', 'denied']]);
    expect([missing, unanswered]).toEqual([['not_found'], ['left out', 'not_told', 'other']]);
  });

  it('of the archive takes a code without a reason for absence, as it writes it', () => {
    const { rows, missing, unanswered } = pageOfList(answers, RAW, 'archive');
    expect(rows.map(({ item, answer }) => [item, answer])).toEqual([
      ['access_denied', 'denied'],
      ['not_found', 'not_found'],
      ['not_told', 'not_found'],
    ]);
    expect([missing, unanswered]).toEqual([[], ['left out', 'other']]);
  });
});

describe('a record', () => {
  it('becomes a row with the moment of its answer; what is not a day is left out', () => {
    const record = {
      ...{ sgtin: 's', status: 'new word', sscc: 'box', expiresOn: 'soon', statusAt: '2026-01-01T00:00:00Z' },
      ...{ funding: '2', inn: '7701234567' },
    };
    expect(pageOfFilter([{ ...record, fields: {} }], RAW).rows).toEqual([
      {
        ...{ item: 's', answer: 'found', status: 'new word', container: 'box', moved_at: '2026-01-01T00:00:00Z' },
        ...{ funding: '2', owner: '7701234567' },
        moment: '2026-11-23T06:00:00.000Z',
      },
    ]);
  });
});
