import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { Lookout } from './lookout.js';

function harness() {
  const clock = new VirtualClock();
  const queue = { ready: 0, looks: 0, isThere: true };
  const ready = async (): Promise<number> => {
    queue.looks += 1;
    if (!queue.isThere) throw new Error('NOT_FOUND');
    return queue.ready;
  };
  const lookout = new Lookout({ everyMs: 1_000, ready, clock });
  let arrivals = 0;
  /** One look later. */
  const look = ({ hasRoom = true, comes = 0 } = {}): Promise<boolean> => {
    clock.advance(1_000);
    arrivals += comes;
    return lookout.isForgotten(hasRoom, () => arrivals);
  };
  return { queue, look, lookout };
}

describe('a consumer is forgotten', () => {
  it('when messages stand ready in two looks, there is room, and nothing comes', async () => {
    const { queue, look } = harness();
    queue.ready = 3;
    expect([await look(), await look()]).toEqual([false, true]);
  });

  it('and it is looked for only now and then', async () => {
    const { queue, lookout } = harness();
    queue.ready = 3;
    for (let n = 0; n < 10; n += 1) expect(await lookout.isForgotten(true, () => 0)).toBe(false);
    expect(queue.looks).toBe(0);
  });
});

describe('a consumer is not forgotten', () => {
  it.each([
    ['nothing stands ready', { ready: 0 }, {}],
    ['something has come', { ready: 3 }, { comes: 1 }],
    ['it has no room', { ready: 3 }, { hasRoom: false }],
    ['the queue cannot be seen', { ready: 3, isThere: false }, {}],
  ])('where %s', async (_, queue, sign) => {
    const one = harness();
    Object.assign(one.queue, queue);
    for (let n = 0; n < 5; n += 1) expect(await one.look(sign)).toBe(false);
  });

  it('where one look saw messages and the next saw none, or others had come', async () => {
    const { queue, look } = harness();
    queue.ready = 3;
    expect(await look()).toBe(false);
    queue.ready = 0;
    expect(await look()).toBe(false);
    queue.ready = 3;
    expect([await look(), await look({ comes: 2 }), await look()]).toEqual([false, false, false]);
  });
});
