import { canEndInWork, type GroupState, type PayloadOf } from '#domain';
import type { Actor } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import { groupStateIn } from '../stream-events.js';
import type { WorkerAccess } from '../worker-access.js';

/** Why a person ends a group, and whether also what the registry shows of it as in work. */
export interface GroupEnd {
  reason: string;
  actor: Actor;
  inWork?: true;
}

/** The end of a group that nothing holds: what is planned, and how the group stands. */
export interface PlannedEnd {
  key: string;
  payload: PayloadOf<'decide_hold'>;
  start: 'unconfirmed' | 'halted';
}

/**
 * What ends a group of which nobody knows whether it has begun, and, by a second decision, what is in work of one that
 * halted before its start. Undefined where the group waits or is held: that is another decision.
 * @throws PedigreeError not_found, not_held.
 */
export async function plannedGroupEnd(
  { store }: Pick<WorkerAccess, 'store'>,
  groupId: string,
  { reason, actor, inWork }: GroupEnd,
): Promise<PlannedEnd | undefined> {
  const state = await groupStateIn(store, groupId);
  const refusal = (code: 'not_found' | 'not_held', message: string): PedigreeError =>
    new PedigreeError(code, message, { field: 'groupId', item: groupId });
  if (state.phase === 'absent') throw refusal('not_found', `no group has the id ${groupId}`);
  if (state.phase === 'waiting' && inWork !== true) return undefined;
  const start = state.phase === 'unconfirmed' ? state.start.attempt : undefined;
  const isInWork = canEndInWork(state);
  if (start === undefined && (!isInWork || inWork !== true))
    throw refusal('not_held', `group ${groupId} is not ended: ${whyNot(state, isInWork)}`);
  const what = { requestId: groupId, isGroup: true as const, decision: 'end' as const, predecessors: [] };
  return {
    key: `decide_hold:${groupId}:${start ?? 'halted'}:end${inWork === true ? ':in-work' : ''}`,
    payload: { ...what, ...defined({ start, inWork }), actor, reason },
    start: start === undefined ? 'halted' : 'unconfirmed',
  };
}

function whyNot(state: GroupState, isInWork: boolean): string {
  if (isInWork)
    return (
      'it has halted, and its documents end once the registry shows them untouched. What it shows as in work is ' +
      'ended with in_work alone'
    );
  const only = 'only one that is held, or of which nobody knows whether it has begun, is ended';
  if (state.phase === 'waiting') return 'it waits, or is held: end it without in_work';
  if (state.phase !== 'halted') return `it is ${state.phase}; ${only}`;
  const by = state.halt.cause === 'ended_in_work' ? 'was ended before, with what is in work' : 'has begun, and halted';
  return `it ${by}; its documents end as the registry shows them`;
}
