import { describe, expect, it } from '@jest/globals';
import { Arrivals } from './arrivals.js';
import { endOfListDate, listDate, parseListDate, zonedInstant } from './dates.js';
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
    const state = { nowMs: 0, beat: undefined as (() => void) | undefined };
    const arrivals = new Arrivals({
      nowMs: () => state.nowMs,
      every(_periodMs, beat) {
        state.beat = beat;
        return () => (state.beat = undefined);
      },
    });
    const beatAt = (ms: number) => {
      state.nowMs = ms;
      state.beat?.();
    };
    const noteAt = (ms: number) => {
      state.nowMs = ms;
      return arrivals.note();
    };
    return { arrivals, state, beatAt, noteAt };
  }

  it('is the moment of reading while the process keeps time', () => {
    const { beatAt, noteAt } = source();
    expect(noteAt(100)).toEqual({ earliestMs: 100, latestMs: 100 });
    beatAt(105);
    beatAt(111.5);
    expect(noteAt(114)).toEqual({ earliestMs: 114, latestMs: 114 });
  });

  it('may be any moment since the beat that is overdue', () => {
    const { beatAt, noteAt } = source();
    noteAt(100);
    beatAt(105);
    expect(noteAt(160)).toEqual({ earliestMs: 110, latestMs: 160 });
  });

  it('stays in doubt until the second beat after the late one: what came on a new connection is read after the first', () => {
    const { beatAt, noteAt } = source();
    noteAt(100);
    beatAt(160);
    expect(noteAt(161)).toEqual({ earliestMs: 105, latestMs: 161 });
    beatAt(165);
    expect(noteAt(166)).toEqual({ earliestMs: 105, latestMs: 166 });
    beatAt(170);
    expect(noteAt(171)).toEqual({ earliestMs: 171, latestMs: 171 });
  });

  it('may be before the late beat that came before another late one', () => {
    const { beatAt, noteAt } = source();
    noteAt(100);
    beatAt(160);
    beatAt(200);
    expect(noteAt(201)).toEqual({ earliestMs: 105, latestMs: 201 });
  });

  it('is in doubt for the first request, too, when that was watched for', () => {
    const { beatAt, noteAt, arrivals } = source();
    arrivals.watch();
    beatAt(5);
    expect(noteAt(60)).toEqual({ earliestMs: 10, latestMs: 60 });
  });

  it('keeps no beat while nobody calls', () => {
    const { state, beatAt, noteAt } = source();
    noteAt(100);
    for (let ms = 105; ms <= 60_200; ms += 5) beatAt(ms);
    expect(state.beat).toBeUndefined();
    expect(noteAt(90_000)).toEqual({ earliestMs: 90_000, latestMs: 90_000 });
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
    for (const text of ['', 'now', '22.11.2026', '2026-13-01', '2026-02-30', '2026-02-31T10:00:00Z'])
      expect([text, parseListDate(text, '+03:00')]).toEqual([text, undefined]);
  });

  it.each([
    ['2026-11-21T21:30:15.2501234Z', 250],
    ['2026-11-22 00:30:15.2', 200],
    ['2026-11-22T00:30:15.999999999', 999],
    ['2026-11-21T21:30:15.250+0000', 250],
  ])('are read with up to nine digits of a second: %s', (text, milliseconds) => {
    expect(parseListDate(text, '+03:00')).toBe(moment - 250 + milliseconds);
    expect(parseListDate(`${text}0000000000`, '+03:00')).toBeUndefined();
  });

  it.each([
    ['2026-11-22T00:30:15', moment + 749],
    ['2026-11-22 00:30:15.1234567', moment + 749],
    ['2026-11-22T00:30', moment - 15_250 + 999],
    ['2026-11-22', Date.parse('2026-11-22T21:00:00Z') - 1],
    ['never', undefined],
  ])('end with their second or their day: %s', (text, end) => {
    expect(endOfListDate(text, '+03:00')).toBe(end);
  });
});
