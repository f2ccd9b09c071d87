import { describe, expect, it } from '@jest/globals';
import { Lateness } from './lateness.js';

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
