import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { boundedLog } from './bounded-log.js';

function given() {
  const clock = new VirtualClock();
  const said: { fields: Record<string, unknown>; message: string }[] = [];
  const say = (fields: object, message: string): void =>
    void said.push({ fields: fields as Record<string, unknown>, message });
  return {
    clock,
    said,
    log: boundedLog({ info: say, warn: say, error: say }, { mostPerWindow: 3, windowMs: 60_000, clock }),
  };
}

describe('a bounded log', () => {
  it('says the same thing a few times, and its number when the next window begins', () => {
    const { clock, said, log } = given();
    for (let n = 0; n < 1_000; n += 1)
      log.warn({ lane: `lane-${n}`, error: 'connect ECONNREFUSED' }, 'queue_unavailable');
    expect(said).toHaveLength(3);
    expect(said[2]?.fields).toMatchObject({ lane: 'lane-2', repetitions: 'from here on counted only' });
    clock.advance(60_000);
    log.warn({ lane: 'late', error: 'connect ECONNREFUSED' }, 'queue_unavailable');
    expect(said).toHaveLength(4);
    expect(said[3]?.fields).toMatchObject({ lane: 'late', notSaidBefore: 997 });
  });

  it('says another error, another message and another level beside it', () => {
    const { said, log } = given();
    for (let n = 0; n < 5; n += 1) log.warn({ err: new Error('a') }, 'm');
    log.warn({ err: new Error('b') }, 'm');
    log.warn({ err: new Error('a') }, 'other');
    log.error({ err: new Error('a') }, 'm');
    expect(said).toHaveLength(6);
  });

  it('remembers a limited number of things', () => {
    const { said, log } = given();
    for (let round = 0; round < 2; round += 1) for (let n = 0; n < 600; n += 1) log.info({ error: `e${n}` }, 'm');
    expect(said).toHaveLength(1_200);
  });
});
