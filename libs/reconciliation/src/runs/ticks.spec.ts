import { describe, expect, it } from '@jest/globals';
import { newestTick, tickRunId, timetableOf } from './ticks.js';

const at = (cron: string, now: string, zone = 'UTC') => newestTick({ cron, zone }, new Date(now))?.toISOString();

describe('the newest tick that has come', () => {
  it.each([
    ['0 1 * * *', '2026-11-23T12:00:00Z', 'UTC', '2026-11-23T01:00:00.000Z'],
    ['0 1 * * *', '2026-11-23T01:00:00Z', 'UTC', '2026-11-23T01:00:00.000Z'],
    ['0 1 * * *', '2026-11-23T00:59:59Z', 'UTC', '2026-11-22T01:00:00.000Z'],
    ['0 3 * * *', '2026-11-23T00:30:00Z', 'Europe/Moscow', '2026-11-23T00:00:00.000Z'],
    ['* * * * *', '2026-11-23T12:00:30Z', 'UTC', '2026-11-23T12:00:00.000Z'],
    ['0 1 1 * *', '2026-11-23T12:00:00Z', 'UTC', '2026-11-01T01:00:00.000Z'],
    ['0 1 29 2 *', '2026-11-23T12:00:00Z', 'UTC', undefined],
    ['*/30 * * * 1-5', '2026-11-22T12:00:00Z', 'UTC', '2026-11-20T23:30:00.000Z'],
    ['*/15 8-18 * * 1-5', '2026-11-22T12:00:00Z', 'UTC', '2026-11-20T18:45:00.000Z'],
    ['* 0-22 * * *', '2026-11-23T23:59:30Z', 'UTC', '2026-11-23T22:59:00.000Z'],
    ['* * 1-14 * *', '2026-11-23T12:00:00Z', 'Europe/Moscow', '2026-11-14T20:59:00.000Z'],
  ])('of %s at %s in %s', (cron, now, zone, expected) => {
    expect(at(cron, now, zone)).toBe(expected);
  });

  it('comes once in the night in which clocks go back, and comes where they go forward', () => {
    const minutes = (from: string, hours: number) =>
      Array.from({ length: hours * 12 }, (_, n) => new Date(Date.parse(from) + n * 300_000).toISOString());
    const ticks = (from: string) =>
      [...new Set(minutes(from, 6).map((now) => at('30 2 * * *', now, 'Europe/Berlin')))].filter(
        (tick) => tick !== undefined && tick >= from,
      );
    expect(ticks('2026-10-24T23:00:00.000Z')).toHaveLength(1);
    expect(ticks('2026-03-28T23:00:00.000Z')).toHaveLength(1);
  });

  it.each(['*/15 * * * *', '30 1-3 * * *', '5 2 * * 6,0'])(
    'of %s is the newest in both nights of changed clocks',
    (cron) => {
      const zone = 'Europe/Berlin';
      for (const night of ['2026-10-24T22:00:00Z', '2026-03-28T22:00:00Z']) {
        let newest: string | undefined;
        for (let minute = 0; minute < 8 * 60; minute += 10) {
          const now = new Date(Date.parse(night) + minute * 60_000).toISOString();
          const tick = at(cron, now, zone);
          expect({ now, tick: (tick ?? '') >= (newest ?? '') }).toEqual({ now, tick: true });
          newest = tick;
        }
      }
    },
  );

  it('is one run for every reconciler, and another for each kind and tick', () => {
    const tick = new Date('2026-11-23T01:00:00Z');
    const id = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
    expect(tickRunId(id, 'packs', tick)).toBe(tickRunId(id, 'packs', new Date(tick)));
    const ids = [tickRunId(id, 'packs', tick), tickRunId(id, 'documents', tick), tickRunId(id, 'packs', new Date(0))];
    expect(new Set(ids).size).toBe(3);
  });
});

describe('a timetable', () => {
  it.each([
    ['61 * * * *', 'UTC'],
    ['* * * * * *', 'UTC'],
    ['0 1 * *', 'UTC'],
    ['0 1 * * *', 'Mars/Phobos'],
    ['0 1 31 2 *', 'UTC'],
    ['@daily', 'UTC'],
  ])('%s in %s is refused by the name of its setting', (cron, zone) => {
    expect(() => timetableOf(cron, zone, 'RECONCILE_PACKS_CRON')).toThrow('RECONCILE_PACKS_CRON');
  });
});
