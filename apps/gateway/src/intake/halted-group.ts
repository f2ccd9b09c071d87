import { stopperOf, type GroupState } from '#domain';
import { PedigreeError } from '#kernel';

/** A group that ended before its end. */
export type HaltedGroup = Extract<GroupState, { phase: 'concluded' }>;

/** What is asked before a group is resumed. */
export interface HaltedGroups {
  /** A group as the log has it. */
  groupState(groupId: string): Promise<GroupState>;
  /** Whether a document counts as failed, and the registry may still say otherwise. */
  mayTurn(requestId: string): Promise<boolean>;
}

/** The group that a resumption is about. Throws PedigreeError where there is nothing to resume, or not yet. */
export async function haltedGroup(
  { groupState, mayTurn, idOf }: HaltedGroups & { idOf(commandId: string): string },
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
  // Else the same operation might be there twice: by the member that was accepted after all, and by its correction.
  const stopper = stopperOf(state);
  if (stopper !== undefined && (await mayTurn(stopper.requestId)))
    throw refusal(
      'group_not_resumable',
      `${stopper.commandId}, which stopped group ${commandId}, failed a moment ago, and the registry may still say ` +
        'otherwise: try again when its status was read once more',
    );
  return state;
}
