import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { RunEstimate } from '#reconciliation';
import { estimating } from './run-progress.js';

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
