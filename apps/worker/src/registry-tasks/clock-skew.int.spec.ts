import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LookUpMissed, SendAbsenceProven } from '#domain';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, type SendFate } from '../../test/fake-registry.js';
import { eventsOf, processOn, registerDocument, stateIn, storesForSpec, workOff } from '../../test/test-harness.js';

const HOUR_MS = 3_600_000;
const GRACE_MS = 30_000;

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

/** The clock of a process that is so far off from the database's. */
function offBy(clock: VirtualClock, offMs: number): VirtualClock {
  return Object.create(clock, { now: { value: () => new Date(clock.now().getTime() + offMs) } }) as VirtualClock;
}

/**
 * A document's life in a process whose clock is off. Returns how long it took by the database's clock, beside its
 * events.
 */
async function live(fates: SendFate[], offMs: number) {
  const clock = new VirtualClock(new Date());
  const registry = new FakeRegistry(fates);
  const { requestId } = await registerDocument(stores);
  const context = processOn({ ...stores, registry, clock: offBy(clock, offMs) });
  const thrown = (error: Error): void => {
    throw error;
  };
  expect(await workOff({ context: () => context, thrown, clock, store: stores.store }, requestId)).toEqual([]);
  const lookUps = (await eventsOf(stores.store, requestId)).flatMap((event) =>
    event.type === 'LookUpMissed' || event.type === 'SendAbsenceProven'
      ? [(event as LookUpMissed | SendAbsenceProven).data.sinceAttemptEndedMs]
      : [],
  );
  return { registry, requestId, lookUps, tookMs: clock.monotonicMs() };
}

describe.each([HOUR_MS, -HOUR_MS])('a process whose clock is %d ms off', (offMs) => {
  it.each<SendFate>(['unknown_lost', 'unknown_late'])(
    'counts the grace of an unknown outcome by the database: the send is %s',
    async (fate) => {
      const { registry, requestId, lookUps, tookMs } = await live([fate], offMs);
      expect(await stateIn(stores.store, requestId)).toMatchObject({ phase: 'concluded', outcome: 'accepted' });
      expect(registry.taken.get(requestId)).toHaveLength(1);
      expect(lookUps.filter((ms) => ms < 0 || ms > 2 * GRACE_MS)).toEqual([]);
      expect(tookMs).toBeLessThan(5 * GRACE_MS);
    },
  );

  it('polls as often as another', async () => {
    const there = await live([], 0);
    const here = await live([], offMs);
    expect(here.registry.calls).toEqual(there.registry.calls);
    expect(Math.abs(here.tookMs - there.tookMs)).toBeLessThan(2_000);
  });
});
