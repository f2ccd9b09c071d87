import { describe, expect, it } from '@jest/globals';
import { ArrivalDoubt, Lateness } from './lateness.js';

describe('lateness', () => {
  it('adds nothing for ordinary wake-ups, what is out of the ordinary up to a limit, and forgets', () => {
    const lateness = new Lateness();
    lateness.observe(3.9);
    expect(lateness.guardMs).toBe(0);
    lateness.observe(10);
    expect(lateness.guardMs).toBe(6);
    lateness.observe(500);
    expect(lateness.guardMs).toBe(15);
    for (let call = 0; call < 300; call += 1) lateness.observe(0.1);
    expect(lateness.guardMs).toBe(0);
  });
});

describe('the doubt about an arrival', () => {
  it('is what a round trip took beyond the usual and the ordinary, up to a limit, for the last call alone', () => {
    const doubt = new ArrivalDoubt();
    const after = (roundTripMs: number): number => {
      doubt.observe(roundTripMs);
      return doubt.lastMs;
    };
    expect([after(20), after(2), after(6), after(14), after(3), after(200)].map((ms) => Math.round(ms))).toEqual([
      0, 0, 0, 6, 0, 15,
    ]);
  });

  it('learns that the other end has become slower', () => {
    const doubt = new ArrivalDoubt();
    doubt.observe(2);
    for (let call = 0; call < 200; call += 1) doubt.observe(30);
    expect(doubt.lastMs).toBe(0);
  });
});
