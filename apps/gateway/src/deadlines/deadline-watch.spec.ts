import { expect, it } from '@jest/globals';
import { readCalendar } from '#domain';
import { sha256Hex, VirtualClock } from '#kernel';
import { arrival, SGTIN } from '../../test/test-harness.js';
import { DeadlineWatch } from './deadline-watch.js';

const CALENDAR = readCalendar({
  ...{ name: 'Test', edition: '1', zone: 'UTC', withoutDeadline: [] },
  workingDays: { from: '2026-01-01', to: '2026-12-31', weekend: [], holidays: [], workingWeekendDays: [] },
  deadlines: [
    {
      ...{ docTypes: [601], role: 'receiver', channel: 'counterparty', startsAt: 'known', limit: { hours: 1 } },
      ...{ metWhen: 'sent', metBy: [701], clause: 'Made up', edition: '1', validFrom: '2026-01-01' },
    },
  ],
});

it('looks at what is answered once more within an hour, a few at a time, for an answer may be revised', async () => {
  const knownAt = new Date('2026-03-01T08:00:00Z');
  const sha256 = sha256Hex(Buffer.from('told'));
  const told = { kind: 'incoming', channel: 'counterparty', docType: 601, knownAt };
  const row = { ...told, operationAt: null, acceptedAt: knownAt, replacedBy: null, documentSha256: sha256 };
  const open = new Set<string>();
  const streams = Array.from({ length: 120 }, (_, n) => `inbound-${n}`);
  const answers = (): object[] =>
    streams
      .filter((stream) => !open.has(stream))
      .map((stream) => ({ stream, answered: 1, sent_at: knownAt, accepted_at: knownAt, by: 'r-1' }));
  const looked: number[] = [];
  const query = ({ name, values }: { name: string; values: unknown[][] }) => {
    if (name === 'timeliness-answers') return Promise.resolve({ rows: answers() });
    if (name !== 'timeliness-told') return Promise.resolve({ rows: [] });
    const rows = streams.filter((stream) => !values[2]?.includes(stream)).map((stream) => ({ ...row, stream }));
    looked.push(rows.length);
    return Promise.resolve({ rows });
  };
  const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
  const bytes = Buffer.from(arrival(`<sgtin>${SGTIN}</sgtin>`));
  const watch = new DeadlineWatch({
    ...{ pool: { query } as never, evidence: { getMany: async () => new Map([[sha256, bytes]]) }, alertMs: 1, clock },
    ...{ calendarFile: { calendar: CALENDAR, sha256 }, log: { info: () => undefined, warn: () => undefined } },
  });
  const breached = async (): Promise<number> => (await watch.look()).near[0]?.breached ?? 0;
  expect(await breached()).toBe(0);
  open.add('inbound-7').add('inbound-119');
  const found = [];
  for (let look = 0; look < 60; look += 1) found.push(await breached());
  expect(found).toEqual([0, 0, 0, ...Array<number>(56).fill(1), 2]);
  expect(looked).toEqual([120, 2, 2, 2, 2, ...Array<number>(56).fill(3)]);
});

it('says of itself that it cannot count, for figures of before would pass for those of now', async () => {
  const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
  let answer = () => Promise.resolve({ rows: [] as object[] });
  const watch = new DeadlineWatch({
    ...{ pool: { query: () => answer() } as never, evidence: { getMany: async () => new Map() }, alertMs: 1, clock },
    ...{ calendarFile: undefined, log: { info: () => undefined, warn: () => undefined } },
  });
  await watch.look();
  expect(watch.troubles()).toEqual([]);
  answer = () => Promise.reject(new Error('canceling statement due to statement timeout'));
  for (let looks = 0; looks < 2; looks += 1) {
    await expect(watch.look()).rejects.toThrow('statement timeout');
    clock.advance(60_000);
  }
  expect(watch.troubles()).toEqual([
    {
      ...{ name: 'deadlines', since: '2026-03-01T10:00:00.000Z' },
      reason: 'they could not be counted: canceling statement due to statement timeout',
    },
  ]);
  // As a database says it that refuses at each of its addresses.
  answer = () => Promise.reject(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }));
  await expect(watch.look()).rejects.toThrow();
  expect(watch.troubles()).toMatchObject([{ reason: 'they could not be counted: ECONNREFUSED' }]);
  answer = () => Promise.resolve({ rows: [] });
  await watch.look();
  expect(watch.troubles()).toEqual([]);
});
