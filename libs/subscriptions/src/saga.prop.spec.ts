import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { RecordedEvent } from '#event-store';
import { FakeTaskQueue } from '../test/fake-task-queue.js';
import { foldSaga, routesOf } from './fold.js';
import { type ShopState, SHOPS } from '../test/test-saga.js';
import { eventOf } from '../test/test-harness.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

const happening = fc.record({
  type: fc.constantFrom('Delivered', 'Delivered', 'Delivered', 'Closed', 'Looked'),
  data: fc.oneof(
    fc.record({ shop: fc.nat(3), n: fc.nat(9) }),
    fc.record({ shop: fc.nat(3), n: fc.nat(9), tell: fc.nat(3) }),
  ),
});

const recorded = (happenings: { type: string; data: object }[]): RecordedEvent[] =>
  happenings.map(
    ({ type, data }, n) =>
      ({
        ...eventOf(data, type),
        stream: 'shop-1',
        version: n,
        position: BigInt(n + 1),
        recordedAt: new Date(0),
      }) as unknown as RecordedEvent,
  );

/** What the runner does with pages, in memory: fold, write the changed states back, schedule. */
async function run(
  events: RecordedEvent[],
  pageSizes: number[],
): Promise<{ states: [string, ShopState][]; keys: string[] }> {
  const queue = new FakeTaskQueue();
  const states = new Map<string, ShopState>();
  for (let at = 0, page = 0; at < events.length; page += 1) {
    const size = pageSizes[page % pageSizes.length] ?? 1;
    const { changed, tasks } = foldSaga(SHOPS, routesOf(SHOPS, events.slice(at, at + size), new Date(0)), {
      states,
      parked: new Set(),
    });
    for (const [key, state] of changed) states.set(key, state);
    await queue.schedule(undefined, tasks);
    at += size;
  }
  return { states: [...states].filter(([, state]) => state.count > 0).sort(), keys: queue.keys() };
}

describe('foldSaga', () => {
  it('gives the same states and task keys however the events fall into pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
        async (happenings, pageSizes) => {
          const events = recorded(happenings);
          expect(await run(events, pageSizes)).toEqual(await run(events, [1]));
        },
      ),
      { seed: SEED },
    );
  });

  it('leaves the states it was given alone, and tells only of those that changed', () => {
    const states = new Map([
      ['1', { count: 1 }],
      ['2', { count: 5 }],
    ]);
    const { changed, tasks } = foldSaga(
      SHOPS,
      routesOf(
        SHOPS,
        recorded([
          { type: 'Delivered', data: { shop: 1, n: 7 } },
          { type: 'Looked', data: { shop: 2 } },
        ]),
        new Date(0),
      ),
      { states, parked: new Set() },
    );
    expect([...changed]).toEqual([['1', { count: 2, last: 7 }]]);
    expect(tasks.map((task) => task.key)).toEqual(['check:1:2:7:none']);
    expect([...states.values()]).toEqual([{ count: 1 }, { count: 5 }]);
  });

  it('reacts once for an instance that an event names twice', () => {
    const { changed } = foldSaga(
      SHOPS,
      routesOf(SHOPS, recorded([{ type: 'Delivered', data: { shop: 1, tell: 1, n: 7 } }]), new Date(0)),
      { states: new Map(), parked: new Set() },
    );
    expect([...changed]).toEqual([['1', { count: 1, last: 7 }]]);
  });
});
