import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { ArrivalOrder } from './arrival-order.js';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

const sgtin = (n: number): string => `04600000000015ORDER${String(n).padStart(8, '0')}`;
/** A document of so many packs takes so long to be checked. */
const documentOf = (packs: number): string =>
  arrival(Array.from({ length: packs }, (_, n) => `<sgtin>${sgtin(n)}</sgtin>`).join(''));

describe('places in the order of arrival', () => {
  it('are reached one after the other, however they are left', async () => {
    const order = new ArrivalOrder();
    const places = [order.place(), order.place(), order.place()] as const;
    const reached: number[] = [];
    const all = places.map(async (place, n) => {
      await place.reached;
      reached.push(n);
    });
    places[1].leave();
    await all[0];
    expect(reached).toEqual([0]);
    places[0].leave();
    places[0].leave();
    await Promise.all(all);
    expect(reached).toEqual([0, 1, 2]);
  });
});

describe('the lines of one body', () => {
  it('are run in their order, however long each is checked, with groups and lines that are refused among them', async () => {
    const lines = Array.from({ length: 60 }, (_, n): object => {
      const command_id = `line-${n}`;
      if (n % 10 === 4) return { command_id, xml: '<documents' };
      if (n % 10 === 7)
        return {
          command_id,
          type: 'send_group',
          group: { members: [1, 2].map((m) => ({ command_id: `${command_id}-${m}`, xml: arrival() })) },
        };
      return { command_id, xml: documentOf(n % 3 === 0 ? 800 : 1) };
    });
    const results = await harness.postLines(lines);
    const taken = results.filter((one) => one['error'] === undefined).map((one) => one['request_id']);
    expect(taken).toHaveLength(54);
    const { rows } = await harness.db.pool.query<{ key: string }>('SELECT key FROM task ORDER BY priority, due_at, id');
    expect(rows.map(({ key }) => key)).toEqual(taken.map((id) => `run_command:${String(id)}`));
  });
});
