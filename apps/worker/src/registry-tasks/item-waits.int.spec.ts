import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { TaskResult } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import { eventsOf, newestTask, processOn, registerDocument, storesForSpec } from '../../test/test-harness.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskContext } from './context.js';
import { lapseHolds } from './item-waits.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const HOUR_MS = 3_600_000;
const EARLIER = { commandId: 'earlier', requestId: 'earlier', items: ['046070000000011234567890123'], itemCount: 1 };

describe('a report of an accomplished fact that waits by its items', () => {
  let stuck: string[] = [];
  let firstGiven: Date | undefined;
  const clock = new VirtualClock(new Date());
  const context = (): TaskContext => ({
    ...processOn({ ...stores, registry: new FakeRegistry([]), clock }),
    itemWaits: {
      ...{ factReleaseMs: 24 * HOUR_MS, store: stores.store },
      stuckAmong: (ids) => Promise.resolve(stuck.filter((one) => ids.includes(one))),
      clocksOf: ([id = '']) =>
        Promise.resolve(new Map(firstGiven === undefined ? [] : [[id, { knownAt: firstGiven }]])),
    },
  });

  /** A document that waits, and the task that looks at it so many hours after its registration. */
  async function waiting(docType: number) {
    stuck = [];
    firstGiven = undefined;
    const { requestId } = await registerDocument(stores, undefined, { docType });
    const cause = { taskKey: `wait:${requestId}`, lease: '1:1', actor: SYSTEM };
    await context().documents.execute(requestId, { type: 'WaitForItems', round: 1, for: [EARLIER] }, cause);
    const planned = await newestTask(stores.store, requestId, 'lapse_holds');
    const afterHours = (hours: number): Promise<TaskResult> =>
      lapseHolds(context(), { ...planned, claimedAt: new Date(Date.now() + hours * HOUR_MS) });
    const types = async (): Promise<string[]> => (await eventsOf(stores.store, requestId)).map((one) => one.type);
    return { afterHours, types };
  }

  it('goes with a warning when its time is up, where what it waits for is held itself', async () => {
    const { afterHours, types } = await waiting(511);
    stuck = ['earlier'];
    expect(await afterHours(0)).toMatchObject({ kind: 'retry', delayMs: 5_000, countsAsAttempt: false });
    expect(await afterHours(23.99)).toMatchObject({ kind: 'retry' });
    stuck = [];
    expect(await afterHours(25)).toMatchObject({ kind: 'retry', delayMs: 600_000 });
    expect(await types()).toEqual(['DocumentRegistered', 'DocumentWaiting']);
    stuck = ['earlier'];
    expect(await afterHours(25)).toEqual({ kind: 'done' });
    expect(await types()).toEqual(['DocumentRegistered', 'DocumentWaiting', 'HoldLapsed', 'DocumentReleased']);
    expect(await afterHours(26)).toEqual({ kind: 'done' });
  });

  it('has no more time where it was sent again: the first of all counts', async () => {
    const { afterHours, types } = await waiting(531);
    stuck = ['earlier'];
    firstGiven = new Date(Date.now() - 20 * HOUR_MS);
    expect(await afterHours(3)).toMatchObject({ kind: 'retry' });
    expect(await afterHours(4.5)).toEqual({ kind: 'done' });
    expect(await types()).toContain('HoldLapsed');
  });

  it('is left alone where it is a shipment', async () => {
    const { afterHours, types } = await waiting(415);
    stuck = ['earlier'];
    expect(await afterHours(100)).toEqual({ kind: 'done' });
    expect(await types()).toEqual(['DocumentRegistered', 'DocumentWaiting']);
  });
});
