import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresEventStore } from '#event-store';
import { VirtualClock } from '#kernel';
import { listRuns } from '#reconciliation';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import { reconcilerConfig } from './config.js';
import { startReconciler } from './reconciler.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase();
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const runs = async () => (await listRuns(db.pool, store, { limit: 100 })).runs;
const completed = async (): Promise<number> => (await runs()).filter((run) => run.state === 'completed').length;
const config = () => reconcilerConfig({ DATABASE_URL: db.url, LOG_LEVEL: 'silent', RECONCILE_DAILY_HOUR: '3' });

/** Moves the clock until what is asked has come: whoever waits by it has perhaps not begun to wait. */
const passing = (clock: VirtualClock, what: string, isThere: () => Promise<boolean>) =>
  until(what, async () => {
    clock.advance(60_000);
    return isThere();
  });

describe('reconcilers', () => {
  it('make one run a day from its hour on, however many of them there are, and say so in the log', async () => {
    const clock = new VirtualClock(new Date('2026-03-10T02:00:00Z'));
    const three = await Promise.all([1, 2, 3].map(() => startReconciler(config(), silent, clock)));
    try {
      expect(await runs()).toEqual([]);
      clock.advance(3_600_000);
      await passing(clock, 'the day’s run', async () => (await completed()) === 1);
      clock.advance(24 * 3_600_000);
      await passing(clock, 'the next day’s run', async () => (await completed()) === 2);
    } finally {
      await Promise.all(three.map((one) => one.stop()));
    }
    expect((await runs()).map((run) => [run.reason, run.actor.name])).toEqual([
      ['the run of 2026-03-11', 'reconciler'],
      ['the run of 2026-03-10', 'reconciler'],
    ]);
    const settings = await store.readStream('configuration');
    expect(settings.map((event) => [event.data['program'], event.data['part']])).toEqual(
      ['configuration', 'schemas', 'software'].map((part) => ['reconciler', part]),
    );
  });

  it('make no second run of a day after a restart', async () => {
    const clock = new VirtualClock(new Date('2026-03-11T12:00:00Z'));
    const again = await startReconciler(config(), silent, clock);
    await again.stop();
    expect(await runs()).toHaveLength(2);
  });
});
