import { describe, expect, it } from '@jest/globals';
import type { DocumentMetadata } from '#registry-client';
import { plausibleSince } from './plausible-since.js';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const SINCE = '2026-03-01T11:00:00.000Z';
const reading = (since: string, ...receivedAt: string[]) => ({
  cursor: { since, handedOut: {} },
  documents: receivedAt.map((at) => ({ receivedAt: at }) as DocumentMetadata),
});

describe('the place from which a list is read on', () => {
  it('is what the reading says, also where the clock over there is hours ahead', () => {
    const ahead = '2026-03-01T15:00:00.000Z';
    expect(plausibleSince(reading(ahead, ahead), { since: SINCE, now: NOW })).toBe(ahead);
  });

  it('is not moved by an entry that is dated years ahead: the newest of the others counts', () => {
    const never = '9999-12-31T00:00:00.000Z';
    expect(plausibleSince(reading(never, '2026-03-01T11:30:00.000Z', never), { since: SINCE, now: NOW })).toBe(
      '2026-03-01T11:30:00.000Z',
    );
    expect(plausibleSince(reading(never, never), { since: SINCE, now: NOW })).toBe(SINCE);
  });
});
