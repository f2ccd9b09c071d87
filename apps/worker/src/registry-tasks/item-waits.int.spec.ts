import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readCalendar, type DeadlineCalendar } from '#domain';
import { defined, VirtualClock } from '#kernel';
import type { ClockStart } from '#read-models';
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
  /** What the read model has of its clock; undefined: nothing yet. */
  let clockOf: () => ClockStart | undefined = () => undefined;
  let calendar: DeadlineCalendar | undefined;
  const clock = new VirtualClock(new Date());
  const context = (): TaskContext => ({
    ...processOn({ ...stores, registry: new FakeRegistry([]), clock }),
    itemWaits: {
      ...{ factReleaseMs: 24 * HOUR_MS, factLeadMs: 4 * HOUR_MS, store: stores.store, ...defined({ calendar }) },
      stuckAmong: (ids) => Promise.resolve(stuck.filter((one) => ids.includes(one))),
      clocksOf: ([id = '']) =>
        Promise.resolve(new Map([clockOf()].flatMap((one) => (one === undefined ? [] : [[id, one]])))),
    },
  });

  /** A document that waits, and the task that looks at it so many hours after its registration. */
  async function waiting(docType: number) {
    stuck = [];
    [clockOf, calendar] = [() => undefined, undefined];
    const { requestId } = await registerDocument(stores, undefined, { docType });
    const cause = { taskKey: `wait:${requestId}`, lease: '1:1', actor: SYSTEM };
    await context().documents.execute(requestId, { type: 'WaitForItems', round: 1, for: [EARLIER] }, cause);
    const planned = await newestTask(stores.store, requestId, 'lapse_holds');
    const afterHours = (hours: number): Promise<TaskResult> =>
      lapseHolds(context(), { ...planned, claimedAt: new Date(Date.now() + hours * HOUR_MS) });
    const events = () => eventsOf(stores.store, requestId);
    const types = async (): Promise<string[]> => (await events()).map((one) => one.type);
    return { afterHours, types, events };
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
    clockOf = () => ({ knownAt: new Date(Date.now() - 20 * HOUR_MS), operationAt: null });
    expect(await afterHours(3)).toMatchObject({ kind: 'retry' });
    expect(await afterHours(4.5)).toEqual({ kind: 'done' });
    expect(await types()).toContain('HoldLapsed');
  });

  /** By a calendar that speaks of reports of facts alone. */
  const dueAfter = (hours: number, startsAt = 'known'): DeadlineCalendar =>
    readCalendar({
      ...{ name: 'made up', edition: '1', zone: 'Europe/Moscow', withoutDeadline: [] },
      workingDays: { from: '2020-01-01', to: '2039-12-31', weekend: [], holidays: [], workingWeekendDays: [] },
      deadlines: [
        {
          ...{ docTypes: [511, 531], role: 'sender', channel: 'api', startsAt, limit: { hours }, metWhen: 'sent' },
          ...{ clause: 'made up', edition: '1', validFrom: '2020-01-01' },
        },
      ],
    });

  it('goes four hours before it is due, where that comes first', async () => {
    const { afterHours, types, events } = await waiting(511);
    const knownAt = new Date();
    [stuck, calendar, clockOf] = [['earlier'], dueAfter(10), () => ({ knownAt, operationAt: null })];
    expect(await afterHours(5.95)).toMatchObject({ kind: 'retry', delayMs: expect.closeTo(180_000, -4) });
    expect(await types()).toEqual(['DocumentRegistered', 'DocumentWaiting']);
    expect(await afterHours(6.01)).toEqual({ kind: 'done' });
    const lapsed = (await events()).find(({ type }) => type === 'HoldLapsed');
    expect(lapsed?.data).toMatchObject({ dueAt: new Date(knownAt.getTime() + 10 * HOUR_MS).toISOString() });
  });

  it('goes by the setting where it is due later, and where it was late when it was registered', async () => {
    for (const [hours, ago] of [
      [40, 0],
      [10, 11],
    ] as const) {
      const { afterHours, types } = await waiting(531);
      [stuck, calendar] = [['earlier'], dueAfter(hours, 'operation_date')];
      clockOf = () => ({ knownAt: new Date(), operationAt: new Date(Date.now() - ago * HOUR_MS) });
      expect(await afterHours(23.9)).toMatchObject({ kind: 'retry' });
      expect(await afterHours(24.1)).toEqual({ kind: 'done' });
      expect(await types()).toContain('HoldLapsed');
    }
  });

  it('is left alone where it is a shipment', async () => {
    const { afterHours, types } = await waiting(415);
    stuck = ['earlier'];
    expect(await afterHours(100)).toEqual({ kind: 'done' });
    expect(await types()).toEqual(['DocumentRegistered', 'DocumentWaiting']);
  });
});
