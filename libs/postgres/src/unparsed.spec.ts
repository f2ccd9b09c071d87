import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { isoInstant } from './unparsed.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const byDate = (text: string): string => (pg.types.getTypeParser(1184)(text) as Date).toISOString();

describe('an instant as the server wrote it', () => {
  it('is what its Date gives, for every fraction of a second', () => {
    const digits = fc.nat(999_999).map((n) => String(n).padStart(6, '0').replace(/0+$/, ''));
    const day = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    const zone = fc.constantFrom('+00', '+03', '-09:30', '+00:19:32');
    fc.assert(
      fc.property(day, digits, zone, (date, fraction, offset) => {
        const text = `${date.toISOString().slice(0, 19).replace('T', ' ')}${fraction && `.${fraction}`}${offset}`;
        expect(isoInstant(text)).toBe(byDate(text));
      }),
      { seed: SEED, numRuns: 5_000 },
    );
  });

  it.each(['0044-03-15 12:00:00+00 BC', '12026-01-15 09:00:00.5+00', '2026-01-15 09:00:00.057+00'])(
    'is for %s',
    (text) => expect(isoInstant(text)).toBe(byDate(text)),
  );
});
