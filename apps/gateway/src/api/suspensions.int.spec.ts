import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { TestHarness } from '../../test/test-harness.js';
import { ANSWERS } from './answers.js';

const SERIES = [{ gtin: '04600000000015', series: 'A1' }];
const LETTER = {
  ...{ action: 'suspend', number: '7', date: '2026-03-01', from: 'the inspectorate', product: 'P', series: 'A1' },
  ...{ file: { media_type: 'text/plain', base64: Buffer.from('stop').toString('base64') }, reason: 'by post' },
};

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

describe('what is done about a suspension', () => {
  it('is answered as done, also where our packs cannot be counted', async () => {
    const entered = ANSWERS.SuspensionAfterAction.parse((await harness.post(LETTER, '/v1/suspensions')).json());
    expect(entered).toMatchObject({ state: 'unmatched', affected: [], series_unknown: [] });
    const path = `/v1/suspensions/${entered.suspension_id}`;
    const match = { action: 'match', matches: SERIES, reason: 'as the letter says' };
    // Nothing can be counted: a table is not there.
    await harness.db.pool.query('ALTER TABLE place_move RENAME TO place_move_away');
    try {
      const answers = [await harness.post(match, `${path}/actions`), await harness.post(LETTER, '/v1/suspensions')];
      for (const answer of answers) {
        expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
        const done = ANSWERS.SuspensionAfterAction.parse(answer.json());
        expect(done).toMatchObject({ state: 'open', matches: SERIES });
        // An empty list would say that we have none.
        expect([done.affected, done.series_unknown]).toEqual([undefined, undefined]);
      }
      expect(harness.logged.filter(({ msg }) => /could not count the packs/.test(String(msg)))).toHaveLength(2);
      expect((await harness.ask(path)).status).toBe(500);
    } finally {
      await harness.db.pool.query('ALTER TABLE place_move_away RENAME TO place_move');
    }
    const close = { action: 'close', reason: 'nothing more' };
    expect((await harness.post(close, `${path}/actions`)).status).toBe(409);
    const reply = {
      action: 'reply',
      places: [{ place: 'P1', found: 0, quarantined: 0, shipped: 0, returned: 0 }],
      reason: 'looked',
    };
    const replied = ANSWERS.SuspensionAfterAction.parse((await harness.post(reply, `${path}/actions`)).json());
    expect(replied.affected).toMatchObject([{ ...SERIES[0], branches: [] }]);
  });
});
