import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatRegistryDate, parseDateFormat, parseRegistryDate, parseZone } from './registry-dates.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

describe('registry dates', () => {
  it.each([
    ['2020-04-07 07:55:33', '2020-04-07T04:55:33.000Z'],
    ['2018-11-16T13:22:06', '2018-11-16T10:22:06.000Z'],
    ['2018-11-16T13:22:06Z', '2018-11-16T13:22:06.000Z'],
    ['2018-11-16T13:22:06.123456Z', '2018-11-16T13:22:06.123Z'],
    ['2018-11-16T13:22:06.5+05:00', '2018-11-16T08:22:06.500Z'],
    ['2018-11-16T13:22:06-0330', '2018-11-16T16:52:06.000Z'],
    ['2018-11-16 13:22', '2018-11-16T10:22:00.000Z'],
    ['2018-11-16', '2018-11-15T21:00:00.000Z'],
    [' 2018-11-16T13:22:06 ', '2018-11-16T10:22:06.000Z'],
  ])('%s in +03:00', (text, expected) => expect(parseRegistryDate(text, '+03:00')).toBe(expected));

  it.each([
    '2021-02-30 00:00:00',
    '2021-13-01 00:00:00',
    '2021-01-01 25:00:00',
    '16.11.2018',
    '0001-01-01T00:00:00',
    '1970-01-01T00:00:00Z',
    '9999-12-31 23:59:59.9999999',
    '',
    'now',
    1,
    null,
    undefined,
  ])('%s is not a date', (text) => expect(parseRegistryDate(text, '+03:00')).toBeUndefined());

  it.each([
    ['yyyy-MM-dd HH:mm:ss', '2026-11-21 02:03:04'],
    ['yyyy-MM-ddTHH:mm:ss', '2026-11-21T02:03:04'],
    ["yyyy-MM-dd'T'HH:mm:ss.SSSXXX", '2026-11-21T02:03:04.005+03:00'],
    ['yyyy-MM-dd', '2026-11-21'],
  ])('writes %s', (format, expected) =>
    expect(formatRegistryDate(new Date('2026-11-20T23:03:04.005Z'), format, '+03:00')).toBe(expected),
  );

  it('knows its zones and letters', () => {
    expect([parseZone('Z'), parseZone('+03:00'), parseZone('-0930')]).toEqual([0, 180, -570]);
    for (const bad of ['+3', 'MSK', '+25:00', '']) expect(() => parseZone(bad)).toThrow('zone');
    for (const bad of ['YYYY', 'hh', '']) expect(() => parseDateFormat(bad)).toThrow('date format');
  });

  it('reads back every second that it wrote, in any zone', () => {
    const zone = fc.integer({ min: -14 * 4, max: 14 * 4 }).map((quarters) => {
      const minutes = Math.abs(quarters) * 15;
      const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
      return `${quarters < 0 ? '-' : '+'}${hour}:${minute}`;
    });
    const instant = fc
      .integer({ min: Date.UTC(2000, 0, 2), max: Date.UTC(2099, 0, 1) })
      .map((ms) => new Date(Math.floor(ms / 1000) * 1000));
    fc.assert(
      fc.property(
        instant,
        zone,
        fc.constantFrom('yyyy-MM-dd HH:mm:ss', 'yyyy-MM-ddTHH:mm:ss', 'yyyy-MM-ddTHH:mm:ssXXX'),
        (at, offset, format) => {
          expect(parseRegistryDate(formatRegistryDate(at, format, offset), offset)).toBe(at.toISOString());
        },
      ),
      { seed: SEED },
    );
  });
});
