import { describe, expect, it } from '@jest/globals';
import type { GroupState } from '#domain';
import { haltedGroup } from './halted-group.js';

const STOPPER = { commandId: 'one', requestId: 'r-1', index: 0, outcome: 'failed' };
const concluded = (over: object = {}): GroupState =>
  ({
    phase: 'concluded',
    registration: {},
    members: [{ outcome: 'failed', cause: 'registry_failed' }],
    halt: { cause: 'member_failed', member: STOPPER },
    ...over,
  }) as unknown as GroupState;

const resumed = (state: GroupState, { turning = [] as string[] } = {}): Promise<GroupState> =>
  haltedGroup(
    {
      groupState: (id) => Promise.resolve(id === 'id of day' ? state : { phase: 'absent' }),
      mayTurn: (requestId) => Promise.resolve(turning.includes(requestId)),
      idOf: (commandId) => `id of ${commandId}`,
    },
    { commandId: 'day', byCommand: 'rest' },
  );
const refused = (message: RegExp) => ({
  code: 'group_not_resumable',
  message: expect.stringMatching(message) as unknown,
  place: { field: '/resume/group', item: 'day' },
});

describe('a group that is to be resumed', () => {
  it('has halted, and was not resumed by another command', async () => {
    expect(await resumed(concluded())).toEqual(concluded());
    const by = (commandId: string) => concluded({ resumedBy: { groupId: 'g', commandId } });
    expect(await resumed(by('rest'))).toEqual(by('rest'));
    await expect(resumed(by('other'))).rejects.toMatchObject(refused(/resumed before, by command other/));
    await expect(resumed(concluded({ halt: undefined }))).rejects.toMatchObject(refused(/went to its end/));
    await expect(resumed({ phase: 'sending' } as GroupState)).rejects.toMatchObject(refused(/not concluded yet/));
    await expect(resumed({ phase: 'absent' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('waits while the registry may still turn the FAILED of the member that stopped it', async () => {
    const turning = ['r-1'];
    await expect(resumed(concluded(), { turning })).rejects.toMatchObject(refused(/^\/resume\/group: one, which/));
    expect(await resumed(concluded(), { turning: ['r-2'] })).toEqual(concluded());
    // A repeat of the command that has resumed it is one whatever its member does.
    const repeat = concluded({ resumedBy: { groupId: 'g', commandId: 'rest' } });
    expect(await resumed(repeat, { turning })).toEqual(repeat);
  });
});
