import { describe, expect, it } from '@jest/globals';
import { plausibleSince } from './plausible-since.js';

const STARTED_AT = new Date('2026-03-01T12:00:00.000Z');
const reading = (since: string) => ({ cursor: { since, handedOut: {} } });

describe('the place from which a list is read on', () => {
  it('is what the reading says', () => {
    const seen = '2026-03-01T11:59:59.000Z';
    expect(plausibleSince(reading(seen), STARTED_AT)).toBe(seen);
  });

  it.each(['2026-03-01T12:00:01.000Z', '2026-03-02T11:00:00.000Z', '9999-12-31T00:00:00.000Z'])(
    'is where the reading began, at the most: not %s',
    (dated) => expect(plausibleSince(reading(dated), STARTED_AT)).toBe(STARTED_AT.toISOString()),
  );
});
