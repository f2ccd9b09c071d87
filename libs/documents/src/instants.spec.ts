import { describe, expect, it } from '@jest/globals';
import { readInstant } from './instants.js';

describe('an instant', () => {
  it.each([
    ['2026-01-15T09:00:00+03:00', '2026-01-15T06:00:00Z'],
    ['2026-01-15T09:00:00Z', '2026-01-15T09:00:00Z'],
    ['2026-01-01T01:30:00.123456+05:30', '2025-12-31T20:00:00.123456Z'],
    ['2026-12-31T23:00:00-02:00', '2027-01-01T01:00:00Z'],
    ['2000-01-01T00:00:00+14:00', '1999-12-31T10:00:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['2100-12-31T23:59:59.999Z', '2100-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, at) => expect(readInstant(text)).toEqual({ at }));

  it.each([
    ['0001-01-01T00:00:00+03:00', 'outside'],
    ['0000-01-01T00:00:00Z', 'outside'],
    ['1999-12-31T23:59:59Z', 'outside'],
    ['2101-01-01T00:00:00Z', 'outside'],
    ['2026-02-30T00:00:00Z', 'does not exist'],
    ['2025-02-29T00:00:00Z', 'does not exist'],
    ['2026-13-01T00:00:00Z', 'does not exist'],
    ['2026-00-10T00:00:00Z', 'does not exist'],
    ['2026-01-15T24:00:00Z', 'does not exist'],
    ['2026-01-15T09:60:00Z', 'does not exist'],
    ['2026-01-15T09:00:60Z', 'does not exist'],
    ['2026-01-15T09:00:00+16:00', 'offset'],
    ['2026-01-15T09:00:00+14:01', 'offset'],
    ['2026-01-15T09:00:00+03:60', 'offset'],
    ['2026-01-15T09:00:00', 'not a date and time'],
    ['20260-01-15T09:00:00Z', 'not a date and time'],
    ['-2026-01-15T09:00:00Z', 'not a date and time'],
    ['2026-01-15', 'not a date and time'],
    [' 2026-01-15T09:00:00Z', 'not a date and time'],
    ['', 'not a date and time'],
  ])('%s is none', (text, why) => expect(readInstant(text)).toEqual({ why: expect.stringContaining(why) as unknown }));
});
