import { isResumed, mayBeProcessedYet, type DocumentOutcome, type GroupState } from '#domain';
import { PedigreeError } from '#kernel';

/** A group that ended before its end. */
export type HaltedGroup = Extract<GroupState, { phase: 'concluded' }>;

/** How a document stands by its own stream. */
export interface MemberEnd {
  outcome: DocumentOutcome | undefined;
  /** Whether it counts as failed, and the registry may still say otherwise. */
  mayTurn: boolean;
}

/** What is asked before a group is resumed. */
export interface HaltedGroups {
  /** A group as the log has it. */
  groupState(groupId: string): Promise<GroupState>;
  /** How a document ended: its group is told of that a moment later. */
  endOf(requestId: string): Promise<MemberEnd>;
  /** Has a group told anew how its members ended; the same `what` again changes nothing. */
  tellAgain(groupId: string, what: string): Promise<void>;
}

/** Nothing ends by itself that hangs on a task which was given up. */
export const WHERE_IT_STAYS = 'Where that stays so, pedigree tasks shows the task that was given up: retry it';

/** The group that a resumption is about. Throws PedigreeError where there is nothing to resume, or not yet. */
export async function haltedGroup(
  { groupState, endOf, tellAgain, idOf }: HaltedGroups & { idOf(commandId: string): string },
  { commandId, byCommand }: { commandId: string; byCommand: string },
): Promise<HaltedGroup> {
  const refusal = (code: 'not_found' | 'group_not_resumable', why: string): PedigreeError => {
    const field = '/resume/group';
    return new PedigreeError(code, `${field}: ${why}`, { field, item: commandId });
  };
  const state = await groupState(idOf(commandId));
  if (state.phase === 'absent') throw refusal('not_found', `no group was registered by command ${commandId}`);
  if (state.phase !== 'concluded' || state.halt === undefined) {
    const why = state.phase === 'concluded' ? 'went to its end' : 'has not concluded yet';
    throw refusal('group_not_resumable', `group ${commandId} ${why}; only one that halted is resumed`);
  }
  const by = state.resumedBy?.commandId;
  if (by === byCommand) return state;
  if (by !== undefined) throw refusal('group_not_resumable', `group ${commandId} was resumed before, by command ${by}`);
  if (mayBeProcessedYet(state))
    throw refusal(
      'group_not_resumable',
      `group ${commandId} was ended by a person, and the registry may still process what it has of it: give what is ` +
        'to be sent again as a new command, once the registry says that it is over',
    );
  const unsettled = await unsettledIn(state, { endOf, tellAgain });
  if (unsettled !== undefined) throw refusal('group_not_resumable', `${unsettled}: try again. ${WHERE_IT_STAYS}`);
  return state;
}

/**
 * Why a member that would be sent again may not be yet. Else the same operation might be there twice: by the member
 * that was accepted after all, and by what is sent in its place. A group has at most MAX_GROUP_MEMBERS of them.
 */
async function unsettledIn(
  group: HaltedGroup,
  { endOf, tellAgain }: Pick<HaltedGroups, 'endOf' | 'tellAgain'>,
): Promise<string | undefined> {
  for (const { commandId, requestId, outcome } of group.members.filter((_, index) => isResumed(group, index))) {
    const end = await endOf(requestId);
    if (end.mayTurn)
      return `${commandId}, which would be sent again, counts as failed, and the registry may still say otherwise`;
    if (end.outcome !== outcome) {
      // What told it may be lost: nothing else would tell it again.
      if (end.outcome !== undefined) await tellAgain(group.registration.groupId, `${requestId}:${end.outcome}`);
      const now = end.outcome === undefined ? 'has not ended' : `ended ${end.outcome} after all`;
      return `${commandId}, which would be sent again, ${now}, and its group counts it as ${outcome} until it is told`;
    }
  }
  return undefined;
}
