import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueQueue } from './due-queue.js';

const SEED = 20_261_121;

describe('the queue of due work', () => {
  it(`gives work in order of due time, then of acceptance (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 200 }), (dueTimes) => {
        const queue = new DueQueue();
        const work = dueTimes.map((dueVirtualMs, seq) => ({ dueVirtualMs, seq }));
        for (const one of work) queue.push(one);
        const taken = work.map(() => queue.pop());
        expect(taken).toEqual([...work].sort((a, b) => a.dueVirtualMs - b.dueVirtualMs || a.seq - b.seq));
        expect([queue.size, queue.pop()]).toEqual([0, undefined]);
      }),
      { seed: SEED },
    );
  });
});
