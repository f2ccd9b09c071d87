import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import type { suspensionReply } from '#read-models';
import { REPLY } from '../api/report-columns.js';
import { replyLetter } from './reply-letter.js';

type Reply = z.infer<typeof suspensionReply>;

const NOTHING = { found: 0, quarantined: 0, shipped: 0, returned: 0 };
const NONE_UNKNOWN = {
  ...{ gtin: '04600000000015', known_at: '9', packs: 0, branches: [] },
  packs_at: '/v1/packs?gtin=04600000000015&series_unknown=true',
};
const REPLIED: Reply = {
  ...{ suspension_id: '0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55', source: 'letter', action: 'suspend' },
  ...{ number: '01-1/26', date: '2026-03-01', from: 'the <inspectorate>', letter_sha256: 'ab'.repeat(32) },
  ...{ product: 'Aspirin', series: 'A1', matches: [{ gtin: '04600000000015', series: 'A1' }], look_alikes: [] },
  ...{ as_of: '2026-03-03T00:00:00Z', version: 1, is_newest: true, replied_at: '2026-03-02T00:00:00Z' },
  replied_by: { kind: 'person', name: 'anna', authenticated_by: 'loopback' },
  ...{ reason: 'the shelves were looked at', position: '7', stream: 'suspension-1', stream_version: 2 },
  places: [{ place: 'P1', ...NOTHING }],
  totals: NOTHING,
  nothing_found: true,
  record: [{ gtin: '04600000000015', series: 'A1', known_at: '9', branches: [] }],
  series_unknown: [NONE_UNKNOWN],
};

describe('the reply to a letter', () => {
  it('says in words that nothing was found, for which letter, and where the log has it', () => {
    const page = replyLetter(REPLIED);
    for (const part of ['Reply to the letter 01-1/26', 'Nothing was found: 1 places', 'log position', 'suspension-1'])
      expect(page).toContain(part);
    expect(page).toContain('our record holds no pack that is concerned');
    expect(page).not.toContain('a reply is owed again');
  });

  it('claims nothing of what was sold, nor of packs whose series nobody has told', () => {
    // Neither is among the packs that our record tells of the series.
    expect(replyLetter(REPLIED)).not.toMatch(/none has, had/);
    const unknown = { ...NONE_UNKNOWN, packs: 4, branches: [] };
    const page = replyLetter({ ...REPLIED, series_unknown: [unknown] } as Reply);
    expect(page).toContain('Nothing was found: 1 places were looked at. Of 4 packs no document has told the series');
  });

  it('claims no more than was looked at where our record knows packs of it', () => {
    const branches = [{ branch: 'P1', standing: 'shipped' as const, place: 'C1', packs: 7, recent: true }];
    const page = replyLetter({ ...REPLIED, record: [{ ...REPLIED.record[0], branches }] } as Reply);
    expect(page).toContain('Nothing was found: 1 places were looked at.');
    expect(page).toContain('Our record knows 7 packs of it');
    expect(page).not.toContain('and none has');
  });

  it.each([
    ['decision', 'Reply to the decision 01-1/26 of 2026-03-01', 'by the decisions of the registry'],
    ['list', 'Reply about series A1 of Aspirin', 'by the list of the registry'],
  ] as const)('calls a %s what it is', (source, title, by) => {
    const { from: _from, letter_sha256: _letter, number, date, ...rest } = REPLIED;
    const named = source === 'decision' ? { number, date } : {};
    const page = replyLetter({ ...rest, ...named, source, list_sha256: 'cd'.repeat(32) } as Reply);
    for (const part of [title, by, 'digest of the list']) expect(page).toContain(part);
    expect(page).not.toContain('the letter');
  });

  it('never says so where something was, and says what is out of date', () => {
    const counted = { found: 2, quarantined: 1, shipped: 0, returned: 0 };
    const page = replyLetter({
      ...REPLIED,
      ...{ places: [{ place: 'P1', ...counted }], totals: counted, nothing_found: false, is_newest: false },
    });
    expect(page).not.toContain('Nothing was found');
    expect(page).toContain('a reply is owed again');
  });

  it('tells the packs whose series nobody has told, of each product once', () => {
    expect(replyLetter(REPLIED)).not.toContain('no document has told');
    const branches = [{ branch: 'P1', standing: 'in_stock' as const, place: 'P1', packs: 4, recent: true }];
    const gtin = '04600000000015';
    const record = ['A1', 'A2'].map((series) => ({ gtin, series, known_at: '9', branches: [] }));
    const other = { ...NONE_UNKNOWN, gtin: '04600000000022', packs: 3, branches: [{ ...branches[0], packs: 3 }] };
    const unknown = { record, series_unknown: [{ ...NONE_UNKNOWN, packs: 4, branches }, other] };
    const page = replyLetter({ ...REPLIED, ...unknown } as Reply);
    expect(page.match(/Packs of \d+ whose series no document has told: \d+/g)).toEqual([
      `Packs of ${gtin} whose series no document has told: 4`,
      'Packs of 04600000000022 whose series no document has told: 3',
    ]);
    expect(page.match(/our record holds no pack that is concerned/g)).toHaveLength(2);
    expect(REPLY.rows({ ...REPLIED, ...unknown } as Reply).map((row) => row.series_unknown)).toEqual([7]);
  });

  it('takes nobody’s words for HTML', () => {
    expect(replyLetter(REPLIED)).toContain('the &lt;inspectorate&gt;');
    expect(replyLetter(REPLIED)).not.toMatch(/<script|the <inspectorate>/);
  });

  it('has a row for each place, with the letter and the position', () => {
    const [row] = REPLY.rows(REPLIED);
    const told = Object.entries(REPLY.columns).map(([name, valueOf]) => [name, valueOf(row as never)]);
    expect(Object.fromEntries(told)).toMatchObject({
      ...{ place: 'P1', found: 0, number: '01-1/26', means: '04600000000015=A1', replied_by: 'anna', position: '7' },
      ...{ nothing_found: true, as_of: '2026-03-03T00:00:00Z' },
    });
  });
});
