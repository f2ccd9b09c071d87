import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { STALL_LIMITS, watchForStall, type Cause } from './stall.js';

const STUCK: Cause = { sentence: 'nobody knows', isHalted: false, waits: false };
const HALTED: Cause = { sentence: 'the saga fails', isHalted: true, waits: false };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A run that stands as it is told; `pass` lets seconds go by, a second at a time. */
function harness(cause: Cause, givesUp = true) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const world = { mark: 'at 1', cause, markFails: false, causeFails: false };
  const said: string[] = [];
  let isOver = false;
  const watching = watchForStall({
    mark: async () => {
      if (world.markFails) throw new Error('the database is away');
      return world.mark;
    },
    cause: async () => {
      if (world.causeFails) throw new Error('the database is away');
      return world.cause;
    },
    say: (text) => said.push(text),
    givesUp,
    stallLimits: STALL_LIMITS,
    clock,
    signal: ending.signal,
  }).then(() => (isOver = true));
  const pass = async (seconds: number, each: () => void = () => undefined): Promise<void> => {
    for (let n = 0; n < seconds; n += 1) {
      await settled();
      each();
      clock.advance(1_000);
    }
    await settled();
  };
  const end = async (): Promise<void> => {
    ending.abort();
    await watching;
  };
  return { world, said, pass, end, clock, isOver: () => isOver };
}

describe('a run in which nothing gets on', () => {
  it('says the cause after a minute, and then at twice the distance each time', async () => {
    const { said, pass, end, isOver } = harness(STUCK, false);
    await pass(59);
    expect(said).toEqual([]);
    await pass(1);
    expect(said).toEqual(['no progress for 60 s: nobody knows']);
    await pass(540);
    expect(said.slice(1)).toEqual([
      'no progress for 120 s: nobody knows',
      'no progress for 240 s: nobody knows',
      'no progress for 480 s: nobody knows',
    ]);
    expect(isOver()).toBe(false);
    await end();
  });

  it('says the cause as it is then', async () => {
    const { said, pass, end, world } = harness(STUCK, false);
    await pass(60);
    world.cause = HALTED;
    await pass(60);
    expect(said).toEqual(['no progress for 60 s: nobody knows', 'no progress for 120 s: the saga fails']);
    await end();
  });

  it('ends a run that is to end after a minute when a subscription halted', async () => {
    const { said, pass, isOver } = harness(HALTED);
    await pass(59);
    expect(isOver()).toBe(false);
    await pass(1);
    expect([isOver(), said]).toEqual([true, ['no progress for 60 s, giving up: the saga fails']]);
  });

  it('ends it after five minutes when nothing has a reason to wait', async () => {
    const { said, pass, isOver } = harness(STUCK);
    await pass(299);
    expect(isOver()).toBe(false);
    await pass(1);
    expect([isOver(), said.at(-1)]).toEqual([true, 'no progress for 300 s, giving up: nobody knows']);
  });

  it('waits for what has a reason to wait, whatever fails beside it', async () => {
    const { said, pass, isOver, end } = harness({ ...HALTED, waits: true });
    await pass(900);
    expect(isOver()).toBe(false);
    expect(said).toHaveLength(4);
    await end();
  });

  it('is one whose state cannot be read, too', async () => {
    const { said, pass, isOver, world } = harness(STUCK);
    [world.markFails, world.causeFails] = [true, true];
    await pass(300);
    expect([isOver(), said.at(-1)]).toEqual([
      true,
      'no progress for 300 s, giving up: how it stands cannot be read: the database is away',
    ]);
  });
});

describe('a run that gets on', () => {
  it('is left alone, however slowly it does: each change begins the count anew', async () => {
    const { said, pass, isOver, end, world } = harness(HALTED);
    let second = 0;
    await pass(1_200, () => {
      second += 1;
      if (second % 55 === 0) world.mark = `at ${second}`;
    });
    expect([isOver(), said]).toEqual([false, []]);
    await end();
  });

  it('has the cause said after a minute again when it stops later', async () => {
    const { said, pass, end, world } = harness(STUCK, false);
    await pass(240);
    world.mark = 'at 2';
    await pass(64);
    expect(said.slice(3)).toEqual([]);
    await pass(1);
    expect(said.slice(3)).toEqual(['no progress for 60 s: nobody knows']);
    await end();
  });

  it('is not taken for stalled because the process itself was held up', async () => {
    const { said, isOver, pass, end, clock } = harness(HALTED);
    await settled();
    clock.advance(600_000);
    await settled();
    expect([isOver(), said]).toEqual([false, []]);
    await pass(49);
    expect(isOver()).toBe(false);
    await end();
  });
});
