import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { reconciliationSchema, timetableOf } from '#reconciliation';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { askForTicks } from './timetable.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let db: TestDatabase;
let queue: PostgresTaskQueue;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [tasksSchema, reconciliationSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});

/** A reconciler that starts at this moment with this timetable of both kinds, and looks at these moments. */
async function looks(cron: string, ...moments: [string, ...string[]]): Promise<void> {
  const timetable = timetableOf(cron, 'UTC', 'test');
  for (const moment of moments)
    await askForTicks(
      {
        ...{ pool: db.pool, queue, log: silent, signal: new AbortController().signal, stock: undefined },
        installation: { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01' },
        timetables: { documents: timetable, packs: timetable, staleHours: 48 },
        clock: new VirtualClock(new Date(moment)),
      },
      new Date(moments[0]),
    );
}
const ticks = async (kind: string): Promise<string[]> =>
  (
    await db.pool.query<{ reason: string }>(
      'SELECT reason FROM reconciliation_request WHERE kind = $1 ORDER BY requested_at',
      [kind],
    )
  ).rows.map(({ reason }) => reason.replace('the run of 2026-11-', '').replace(':00.000Z', ''));

describe('a timetable that was changed', () => {
  it('makes up for no tick before the reconciler that has it, and for those that are missed later', async () => {
    await looks('30 4 * * *', '2026-11-23T12:00:00Z');
    // Whether the new time of that day is behind the last run or before it.
    await looks('0 5 * * *', '2026-11-23T14:00:00Z', '2026-11-23T14:30:00Z');
    await looks('0 3 * * *', '2026-11-23T15:00:00Z');
    for (const kind of ['documents', 'packs']) expect(await ticks(kind)).toEqual(['23T04:30']);
    await looks('0 5 * * *', '2026-11-23T16:00:00Z', '2026-11-24T05:00:10Z', '2026-11-24T05:10:00Z');
    for (const kind of ['documents', 'packs']) expect(await ticks(kind)).toEqual(['23T04:30', '24T05:00']);
    await looks('0 5 * * *', '2026-11-25T13:00:00Z');
    for (const kind of ['documents', 'packs']) expect((await ticks(kind)).at(-1)).toBe('25T05:00');
  });
});
