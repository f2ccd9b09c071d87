import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { RunEstimate } from '#reconciliation';
import { estimating, watchingFetch } from './run-progress.js';
import { Troubles } from './troubles.js';

it('estimates a run that goes on by all of its buckets, at the pace of those that were done here', () => {
  const clock = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
  const told: [string, RunEstimate | undefined][] = [];
  const { say } = estimating(clock, (text, estimate) => told.push([text, estimate]));
  clock.advance(60_000);
  say('our record: 7 packs');
  for (const done of [13, 14]) {
    clock.advance(5_000);
    say(`bucket ${done.toString(16)}`, { done, of: 16 });
  }
  expect(told).toEqual([
    ['our record: 7 packs', undefined],
    ['bucket d', { step: 'compare', done: 13, of: 16, secondsLeft: 15 }],
    ['bucket e', { step: 'compare', done: 14, of: 16, secondsLeft: 10 }],
  ]);
});

it('a run that waits for a fetch to which no answer comes is a trouble of the readiness, until one comes', () => {
  const clock = new VirtualClock();
  const troubles = new Troubles({ error: () => undefined }, clock);
  const { look, end } = watchingFetch('r-1', { clock, troubles });
  const fetch = { phase: 'list', calls: 3, failures: 0, intervalMs: 1_000, problem: null as string | null };
  const seen = (change: Partial<typeof fetch>) => {
    Object.assign(fetch, change);
    look(fetch as never);
    return troubles.all().map(({ reason }) => reason);
  };
  const minutes = (count: number): void => clock.advance(count * 60_000);
  expect(seen({})).toEqual([]);
  minutes(29);
  expect(seen({})).toEqual([]);
  // Calls that fail bring nothing.
  minutes(2);
  expect(seen({ calls: 5, failures: 2, problem: 'HTTP 503' })).toEqual([
    'could not read the registry for a run: the run r-1 waits for the worker, list: HTTP 503',
  ]);
  expect(seen({ calls: 6, failures: 0, problem: null })).toEqual([]);
  minutes(31);
  expect(seen({})).toHaveLength(1);
  end();
  expect(troubles.all()).toEqual([]);
});
