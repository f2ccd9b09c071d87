import { expect, it } from '@jest/globals';
import type { GroupEvent } from '#domain';
import type { RecordedEvent } from '#event-store';
import { foldGroup } from './fold.js';
import type { GroupRow } from './row.js';

const SHA = 'a'.repeat(64);

/** The row after these events of one group. */
const rowAfter = (events: GroupEvent[]): GroupRow | undefined =>
  events.reduce<GroupRow | undefined>((row, event, i) => {
    const recorded = { ...event, stream: 'group-g', version: i, position: BigInt(i + 1), recordedAt: new Date(i) };
    return foldGroup(row, recorded as unknown as RecordedEvent);
  }, undefined);

it('a group that a person ended has halted, until the registry shows that it has begun after all', () => {
  const registration = {
    groupId: 'g',
    commandId: 'G',
    account: 'main',
    kind: 'given',
    members: [],
    after: [],
  } as const;
  const ended: GroupEvent[] = [
    { type: 'GroupRegistered', data: { ...registration, members: [], after: [] } },
    { type: 'GroupStartUnconfirmed', data: { attempt: 1, reason: 'timeout' } },
    {
      type: 'GroupHalted',
      data: { cause: 'ended_by_person', started: false, text: 'it is lost', attempt: 1, rest: [] },
    },
  ];
  expect(rowAfter(ended)).toMatchObject({ phase: 'halted', halt: 'ended_by_person', problem: 'it is lost' });
  const data = { attempt: 1, seenByStatus: true, answerSha256: SHA, members: [] };
  expect(rowAfter([...ended, { type: 'GroupStarted', data }])).toMatchObject({
    ...{ phase: 'started', halt: null, stoppedBy: null, problem: null },
  });
});
