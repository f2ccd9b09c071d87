import { describe, expect, it } from '@jest/globals';
import type { DocumentOutcome, GroupState } from '#domain';
import { haltedGroup } from './halted-group.js';

const STOPPER = { commandId: 'one', requestId: 'r-1', index: 0, outcome: 'failed' };
const member = (n: number, over: object = {}) => ({
  commandId: `m-${n}`,
  requestId: `r-${n}`,
  outcome: 'failed',
  ...over,
});
const MEMBERS = [member(1, { cause: 'registry_failed' }), member(2, { cause: 'not_processed' })];
const concluded = (over: object = {}): GroupState =>
  ({
    phase: 'concluded',
    registration: { groupId: 'g-1' },
    members: MEMBERS,
    halt: { cause: 'member_failed', member: STOPPER },
    ...over,
  }) as unknown as GroupState;

/** `ends`: how these documents ended in the end, by their own streams; the others failed. */
const resumed = (
  state: GroupState,
  {
    turning = [],
    ends = {},
    told = [],
  }: Partial<Record<'turning' | 'told', string[]>> & {
    ends?: Record<string, DocumentOutcome | undefined>;
  } = {},
): Promise<GroupState> =>
  haltedGroup(
    {
      groupState: (id) => Promise.resolve(id === 'id of day' ? state : { phase: 'absent' }),
      endOf: (requestId) =>
        Promise.resolve({
          outcome: 'failed',
          ...(requestId in ends ? { outcome: ends[requestId] } : {}),
          mayTurn: turning.includes(requestId),
        }),
      tellAgain: async (groupId, what) => void told.push(`${groupId} ${what}`),
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
    await expect(resumed(concluded(), { turning })).rejects.toMatchObject(
      refused(/^\/resume\/group: m-1, .*may still say otherwise/),
    );
    expect(await resumed(concluded(), { turning: ['r-3'] })).toEqual(concluded());
    // A repeat of the command that has resumed it is one whatever its member does.
    const repeat = concluded({ resumedBy: { groupId: 'g', commandId: 'rest' } });
    expect(await resumed(repeat, { turning })).toEqual(repeat);
  });

  it.each([
    ['the member that stopped it', { 'r-1': 'accepted' }, /m-1, .*ended accepted.*try again/, ['g-1 r-1:accepted']],
    ['the member that stopped it, which has no end yet', { 'r-1': undefined }, /m-1, .*has not ended.*try again/, []],
    ['a member that was not processed', { 'r-2': 'partial' }, /m-2, .*ended partial.*try again/, ['g-1 r-2:partial']],
  ] as const)('waits until it counts the end of %s, and is told of that again', async (_what, ends, words, again) => {
    const told: string[] = [];
    await expect(resumed(concluded(), { ends, told })).rejects.toMatchObject(refused(words));
    expect(told).toEqual(again);
  });

  it('is not, where a person ended it while some of it was in work: that may be processed yet', async () => {
    const halt = { cause: 'ended_in_work' };
    await expect(resumed(concluded({ halt }))).rejects.toMatchObject(
      refused(/may still process what it has of it: give .* new command/),
    );
    const ended = [member(1, { cause: 'registry_failed' })];
    expect(await resumed(concluded({ halt, members: ended }))).toEqual(concluded({ halt, members: ended }));
    const members = [member(1, { outcome: 'accepted' }), MEMBERS[1]];
    const begun = concluded({ halt: { cause: 'ended_by_person' }, members });
    await expect(resumed(begun)).rejects.toMatchObject(refused(/may still process what it has of it/));
    const byPerson = concluded({ halt: { cause: 'ended_by_person' } });
    expect(await resumed(byPerson)).toEqual(byPerson);
  });

  it('waits while the registry works on a member that was not processed', async () => {
    await expect(resumed(concluded(), { turning: ['r-2'] })).rejects.toMatchObject(refused(/m-2/));
  });

  it('is resumed whatever is said of a member that is not sent again', async () => {
    const members = [...MEMBERS, member(3, { outcome: 'accepted' })];
    expect(await resumed(concluded({ members }), { ends: { 'r-3': 'partial' } })).toEqual(concluded({ members }));
    // What stopped it was accepted after all: only the rest is sent.
    const turned = concluded({ members: [member(1, { outcome: 'accepted' }), MEMBERS[1]] });
    expect(await resumed(turned, { ends: { 'r-1': 'accepted' } })).toEqual(turned);
  });
});
