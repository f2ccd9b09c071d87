import { describe, expect, it } from '@jest/globals';
import { Arrivals } from './arrivals.js';
import { listDate, parseListDate, zonedInstant } from './dates.js';
import { VirtualTime } from './virtual-time.js';

describe('the virtual clock', () => {
  it('runs at its speed and goes forward only', () => {
    let realMs = 1000;
    const clock = new VirtualTime({ startMs: 0, speed: 10 }, () => realMs);
    realMs += 50;
    expect(clock.nowMs()).toBe(500);
    clock.setSpeed(1);
    realMs += 50;
    expect([clock.nowMs(), clock.realDelayMs(600)]).toEqual([550, 50]);
    clock.moveTo(10_000);
    expect(clock.nowMs()).toBe(10_000);
    expect(() => clock.moveTo(9_999)).toThrow('only goes forward');
    expect(() => clock.setSpeed(0)).toThrow('above 0');
  });
});

describe('arrival at the socket', () => {
  function source() {
    const state = { nowMs: 0, idleMs: 0, turns: [] as (() => void)[] };
    const arrivals = new Arrivals({ nowMs: () => state.nowMs, idleMs: () => state.idleMs, nextTurn: (call) => void state.turns.push(call) });
    const turn = () => state.turns.splice(0).forEach((call) => call());
    return { state, arrivals, turn };
  }

  it('is the moment of reading when the process was waiting for it', () => {
    const { state, arrivals } = source();
    Object.assign(state, { nowMs: 80, idleMs: 75 });
    expect(arrivals.note()).toEqual({ earliestMs: 80, latestMs: 80 });
  });

  it('lies between the last look and the reading when the process was busy', () => {
    const { state, arrivals, turn } = source();
    Object.assign(state, { nowMs: 10, idleMs: 9 });
    arrivals.looked();
    state.nowMs = 70;
    expect(arrivals.note()).toEqual({ earliestMs: 10, latestMs: 70 });
    state.nowMs = 75;
    expect(arrivals.note()).toEqual({ earliestMs: 10, latestMs: 70 });
    turn();
    Object.assign(state, { nowMs: 100, idleMs: 20 });
    expect(arrivals.note()).toEqual({ earliestMs: 100, latestMs: 100 });
  });
});

describe('dates of lists and receipts', () => {
  const moment = Date.parse('2026-11-21T21:30:15.250Z');

  it('are told in the zone of the profile', () => {
    expect(listDate(moment, 180)).toBe('2026-11-22 00:30:15');
    expect(zonedInstant(moment, '+03:00', 180)).toBe('2026-11-22T00:30:15.250+03:00');
  });

  it('are read with and without a zone, or not at all', () => {
    expect(parseListDate('2026-11-22 00:30:15', '+03:00')).toBe(moment - 250);
    expect(parseListDate('2026-11-22T00:30:15.250', '+03:00')).toBe(moment);
    expect(parseListDate('2026-11-21T21:30:15Z', '+03:00')).toBe(moment - 250);
    expect(parseListDate('2026-11-22', '+03:00')).toBe(Date.parse('2026-11-21T21:00:00Z'));
    expect(['', 'now', '22.11.2026', '2026-13-01'].map((text) => parseListDate(text, '+03:00'))).toEqual([undefined, undefined, undefined, undefined]);
  });
});
