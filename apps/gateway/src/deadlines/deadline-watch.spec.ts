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

it('looks at what is answered once more after an hour, for an answer may be revised', async () => {
  const knownAt = new Date('2026-03-01T08:00:00Z');
  const sha256 = sha256Hex(Buffer.from('told'));
  const told = { kind: 'incoming', channel: 'counterparty', docType: 601, stream: 'inbound-1', knownAt };
  const row = { ...told, operationAt: null, acceptedAt: knownAt, replacedBy: null, documentSha256: sha256 };
  const answer = { stream: 'inbound-1', answered: 1, sent_at: knownAt, accepted_at: knownAt, by: 'r-1' };
  let isAnswered = true;
  const passedOver: unknown[] = [];
  const query = ({ name, values }: { name: string; values: unknown[][] }) => {
    if (name === 'timeliness-answers') return Promise.resolve({ rows: isAnswered ? [answer] : [] });
    if (name !== 'timeliness-told') return Promise.resolve({ rows: [] });
    const known = values[2] ?? [];
    passedOver.push(known);
    return Promise.resolve({ rows: known.includes(row.stream) ? [] : [row] });
  };
  const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
  const bytes = Buffer.from(arrival(`<sgtin>${SGTIN}</sgtin>`));
  const watch = new DeadlineWatch({
    ...{ pool: { query } as never, evidence: { getMany: async () => new Map([[sha256, bytes]]) }, alertMs: 1, clock },
    ...{ calendarFile: { calendar: CALENDAR, sha256 }, log: { info: () => undefined, warn: () => undefined } },
  });
  expect((await watch.look()).near).toEqual([{ role: 'receiver', docType: 601, near: 0, breached: 0 }]);
  isAnswered = false;
  clock.advance(3_599_999);
  expect((await watch.look()).near).toEqual([]);
  clock.advance(1);
  expect((await watch.look()).near).toEqual([{ role: 'receiver', docType: 601, near: 0, breached: 1 }]);
  expect(passedOver).toEqual([[], ['inbound-1'], []]);
});
