import { describe, expect, it } from '@jest/globals';
import type { NoRecord, RawAnswer } from '#registry-client';
import { hierarchyOf } from '../../test/listed-packs.js';
import { pageOfContainer, pageOfDecisions, pageOfFilter, pageOfList } from './rows.js';

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
  it.each([
    ['2027-05-31', '2027-05-31'],
    ['2027-05-31T00:00:00Z', '2027-05-31'],
    ['31.05.2027', '2027-05-31'],
    ['31.05.2027 00:00', '2027-05-31'],
    ['2027-02-31', undefined],
    ['31.02.2027', undefined],
    ['2027-05', undefined],
  ])('that expires on %s expires on the day %s', (expiresOn, expiry) => {
    const record = { sgtin: 's', status: 'word', expiresOn, fields: {} };
    expect(pageOfFilter([record], RAW).rows[0]?.expiry).toBe(expiry);
  });

  it.each([
    [' A 1\t', 'A 1'],
    ['A1\u00a0', 'A1\u00a0'],
    [' \n', undefined],
  ])('of the series %j is of %j: no series on a pack begins or ends with a blank', (written, series) => {
    const record = { sgtin: 's', status: 'word', series: written, fields: {} };
    expect(pageOfFilter([record], RAW).rows[0]?.series).toBe(series);
    const decision = { haltId: 'h', haltType: 0, gtin: '04601234567893', series: written, fields: {} };
    expect(pageOfDecisions([decision], RAW).rows[0]?.series).toBe(series ?? '');
  });

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

describe('an answer about a container', () => {
  const [PALLET, BOX, INNER] = ['046012345678900034', '046012345678900010', '046012345678900041'];
  const pack = (n: number): string => `04601234567893${String(n).padStart(13, '0')}`;
  const moment = '2026-11-23T06:00:00.000Z';
  const raw = (httpStatus: number): RawAnswer => ({ ...RAW, httpStatus });

  it('tells what it stands in, the containers in it, and the packs that are to be asked for', () => {
    const inner = { sscc: INNER, packs: [pack(2)] };
    const value = hierarchyOf({ sscc: BOX, packs: [pack(1)], boxes: [inner], up: PALLET });
    expect(pageOfContainer(BOX, { kind: 'ok', value, raw: raw(200) })).toMatchObject({
      rows: [
        { item: BOX, answer: 'found', container: PALLET, moment },
        { item: INNER, answer: 'found', container: BOX, moment },
      ],
      ...{ missing: [pack(1), pack(2)], unanswered: [] },
    });
  });

  it('names the one right around it, of several', () => {
    const { up, down } = hierarchyOf({ sscc: BOX, up: PALLET });
    const outermost = up.map((one) => ({ ...one, sscc: INNER, containers: [one] }));
    const page = pageOfContainer(BOX, { kind: 'ok', value: { up: outermost, down }, raw: raw(200) });
    expect(page?.rows).toEqual([{ item: BOX, answer: 'found', container: PALLET, moment }]);
  });

  it('about the outermost one names no other', () => {
    const page = pageOfContainer(BOX, { kind: 'ok', value: hierarchyOf({ sscc: BOX }), raw: raw(200) });
    expect(page?.rows).toEqual([{ item: BOX, answer: 'found', moment }]);
  });

  it('about another one is none', () => {
    const value = hierarchyOf({ sscc: PALLET });
    const page = pageOfContainer(BOX, { kind: 'ok', value, raw: raw(200) });
    expect([page?.rows, page?.unanswered]).toEqual([[], [BOX]]);
  });

  it('tells denied from absent', () => {
    const said = [
      { kind: 'not_found', text: 'unknown', raw: raw(404) },
      { kind: 'access_denied', text: "another's", raw: raw(200) },
      { kind: 'refused', code: '', text: 'no right', raw: raw(403) },
    ] as const;
    const told = said.map((one) => pageOfContainer(BOX, one)?.rows.map(({ answer }) => answer));
    expect(told).toEqual([['not_found'], ['denied'], ['denied']]);
  });

  it('that refuses this one, or cannot be read, leaves it unanswered; any other is asked for again', () => {
    const said = [
      { kind: 'refused', code: '', text: 'no SSCC', raw: raw(400) },
      { kind: 'unknown', reason: 'no JSON', raw: raw(200) },
      { kind: 'refused', code: 'http_404', text: 'a page of a proxy', mayBeOthers: true, raw: raw(404) },
      { kind: 'refused', code: '', text: 'signed out', raw: raw(401) },
      { kind: 'refused', code: 'http_403', text: 'a page of a proxy', mayBeOthers: true, raw: raw(403) },
      { kind: 'refused', code: 'http_400', text: 'a page of a proxy', mayBeOthers: true, raw: raw(400) },
      { kind: 'unknown', reason: 'bad gateway', raw: raw(502) },
      { kind: 'unknown', reason: 'no connection' },
      { kind: 'rate_limited', text: 'later', raw: raw(429) },
      { kind: 'not_sent', reason: 'no slot' },
    ] as const;
    const told = said.map((one) => pageOfContainer(BOX, one)?.unanswered);
    expect(told).toEqual([[BOX], [BOX], [BOX], ...Array<undefined>(7).fill(undefined)]);
  });
});
