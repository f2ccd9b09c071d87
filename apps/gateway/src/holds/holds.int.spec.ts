import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PostgresEventStore } from '#event-store';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { Holds } from './holds.js';

let harness: TestHarness;
let store: PostgresEventStore;
let queue: PostgresTaskQueue;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  const { pool } = harness.db;
  [store, queue] = [new PostgresEventStore({ pool }), new PostgresTaskQueue({ pool })];
});
afterAll(async () => {
  await queue.close();
  await store.close();
  await harness.stop();
});

const by = (name: string, reason: string) =>
  ({ actor: { kind: 'person', name, authenticatedBy: 'test' }, reason }) as const;

it('a document that two persons hold before the worker looks is held by the first, and the second is told so', async () => {
  await harness.post({ command_id: 'held', xml: arrival() });
  const requestId = await harness.run('held', [], { projected: false });
  const { pool } = harness.db;
  const holds = new Holds({ pool, store, queue });
  const held = await holds.hold(requestId, by('anna', 'quality looks'));
  expect(held).toMatchObject({ requestId, decision: 'hold' });
  expect(await holds.hold(requestId, by('anna', 'quality looks'))).toEqual(held);
  for (const [name, reason] of [
    ['boris', 'quality looks'],
    ['anna', 'the price is wrong'],
  ] as const)
    await expect(holds.hold(requestId, by(name, reason))).rejects.toMatchObject({
      ...{ code: 'not_holdable', message: expect.stringContaining('anna holds it already: quality looks') },
    });
  const { rows } = await pool.query<{ payload: string }>(`SELECT payload FROM task WHERE kind = 'hold_document'`);
  expect(rows.map(({ payload }) => JSON.parse(payload) as object)).toEqual([
    { requestId, ...by('anna', 'quality looks'), holds: 0 },
  ]);
});
