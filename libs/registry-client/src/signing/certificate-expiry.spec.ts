import { describe, expect, it } from '@jest/globals';
import { expiryWarnings, VirtualClock } from '#kernel';
import { watchCertificates, type ExpiryNotice } from './certificate-expiry.js';

const END = new Date('2027-03-31T12:00:00Z');
const DAY_MS = 86_400_000;
const before = (days: number, ms = 0): Date => new Date(END.getTime() - days * DAY_MS - ms);

describe('expiryWarnings', () => {
  it.each([
    ['30 days and a moment before', before(30, 1), []],
    ['30 days before', before(30), [30]],
    ['14 days and a moment before', before(14, 1), [30]],
    ['14 days before', before(14), [30, 14]],
    ['7 days before', before(7), [30, 14, 7]],
    ['1 day and a moment before', before(1, 1), [30, 14, 7]],
    ['1 day before', before(1), [30, 14, 7, 1]],
    ['a moment before the end', before(0, 1), [30, 14, 7, 1]],
    ['at the end', END, [30, 14, 7, 1, 0]],
    ['a year after', before(-365), [30, 14, 7, 1, 0]],
  ])('%s', (_when, now, thresholds) => {
    expect(expiryWarnings(now, END)).toEqual(thresholds);
  });
});

describe('watchCertificates', () => {
  /** Watches from 31 days before the end for so many days, in steps of an hour. */
  async function watched(
    days: number,
    sessions: () => { account: string; certificateExpiresAt: Date | undefined }[],
  ): Promise<(ExpiryNotice & { message: string; at: Date })[]> {
    const clock = new VirtualClock(before(31));
    const stopping = new AbortController();
    const notices: (ExpiryNotice & { message: string; at: Date })[] = [];
    const watching = watchCertificates({
      sessions,
      clock,
      signal: stopping.signal,
      warn: (notice, message) => void notices.push({ ...notice, message, at: clock.now() }),
    });
    for (let hour = 0; hour < days * 24; hour += 1) {
      clock.advance(3_600_000);
      await new Promise(setImmediate);
    }
    stopping.abort();
    await watching;
    return notices;
  }

  it('speaks once a day of the threshold that was passed last, and when the end has come', async () => {
    const notices = await watched(33, () => [{ account: 'main', certificateExpiresAt: END }]);
    const firsts = new Map<number, Date>();
    for (const { thresholdDays, at } of notices) if (!firsts.has(thresholdDays)) firsts.set(thresholdDays, at);
    expect([...firsts]).toEqual([30, 14, 7, 1, 0].map((days) => [days, before(days)]));
    const perDay = notices.map(({ thresholdDays, at }) => `${thresholdDays} ${at.toISOString().slice(0, 10)}`);
    expect(new Set(perDay).size).toBe(perDay.length);
    expect(new Set(notices.map(({ at }) => at.toISOString().slice(0, 10))).size).toBe(33);
    expect(notices[0]).toMatchObject({
      account: 'main',
      certificateExpiresAt: END,
      daysLeft: 30,
      message: 'the certificate of an account expires soon',
    });
    expect(notices.at(-1)).toMatchObject({
      thresholdDays: 0,
      daysLeft: -2,
      message: expect.stringContaining('has expired'),
    });
  });

  it('says nothing of a certificate with time left, of none, or of one that was renewed', async () => {
    const later = before(-365);
    expect(
      await watched(33, () => [
        { account: 'a', certificateExpiresAt: later },
        { account: 'b', certificateExpiresAt: undefined },
      ]),
    ).toEqual([]);
    let asked = 0;
    const renewed = await watched(33, () => [
      { account: 'main', certificateExpiresAt: (asked += 1) > 60 ? later : END },
    ]);
    expect(renewed.map(({ thresholdDays }) => thresholdDays)).toEqual([30, 30]);
  });
});
