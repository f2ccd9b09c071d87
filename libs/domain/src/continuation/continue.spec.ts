import { describe, expect, it } from '@jest/globals';
import type { GroupState } from '../group/state.js';
import { continueGroup, type MemberState } from './continue.js';

const replanning = { id: '1', at: new Date('2026-03-01') };
const first = { requestId: 'r-1', commandId: 'c-1', documentId: 'd-1', outcome: 'failed', cause: 'registry_failed' };
const rest = { requestId: 'r-2', commandId: 'c-2', documentId: 'd-2', outcome: 'failed', cause: 'not_processed' };
const halt = { cause: 'member_failed', started: true, member: { ...first, index: 0 }, rest: ['r-2'] };
const groupIn = (phase: string): GroupState =>
  ({
    ...{ phase, registration: { groupId: 'g-1', account: 'main' }, members: [first, rest], halt },
    outcome: 'failed',
  }) as unknown as GroupState;
const member = (of: typeof first, outcome: string, version: number): MemberState => {
  const { requestId, documentId } = of;
  const state = { phase: 'concluded', registration: { requestId, account: 'main' }, documentId, outcome };
  return { requestId, version, state } as unknown as MemberState;
};

describe('a group that is carried on', () => {
  it.each(['halted', 'concluded'])('is told that a member ended otherwise after all: %s', (phase) => {
    const tasks = continueGroup(groupIn(phase), [member(first, 'accepted', 7), member(rest, 'failed', 4)], replanning);
    expect(tasks).toMatchObject([
      { kind: 'note_member', payload: { groupId: 'g-1', requestId: 'r-1', outcome: 'accepted', version: 7 } },
    ]);
  });

  it('is told nothing twice', () => {
    const members = [member(first, 'failed', 9), member(rest, 'failed', 4)];
    expect(continueGroup(groupIn('concluded'), members, replanning)).toEqual([]);
    expect(continueGroup(groupIn('halted'), members, replanning)).toMatchObject([
      { kind: 'settle_group', payload: { haltedAt: replanning.at.toISOString() } },
    ]);
  });

  it('is looked at anew where a person ended it, also what is in work where that was said', () => {
    const ended = (cause: string): GroupState =>
      ({ ...groupIn('halted'), halt: { cause, started: false, rest: ['r-1', 'r-2'] } }) as unknown as GroupState;
    const members = [member(first, 'failed', 9), member(rest, 'failed', 4)];
    const payload = { groupId: 'g-1', account: 'main', haltedAt: replanning.at.toISOString() };
    const tasks = ['ended_by_person', 'ended_in_work'].map((cause) => continueGroup(ended(cause), members, replanning));
    expect(tasks).toEqual([
      [expect.objectContaining({ kind: 'conclude_members', payload })],
      [expect.objectContaining({ kind: 'conclude_members', payload: { ...payload, inWork: true } })],
    ]);
  });
});
