import { defined, type Sha256 } from '#kernel';
import type { GroupEvent, GroupHalted, HaltCause } from './events.js';
import type { RegisteredGroup } from './state.js';

type HaltDetails = Pick<GroupHalted['data'], 'member' | 'predecessor' | 'text' | 'attempt'>;

/** A person ended it while nobody knew whether it has begun, or what is in work of it. */
export const isEndedByPerson = (cause: HaltCause | null): boolean =>
  cause === 'ended_by_person' || cause === 'ended_in_work';

/** What the task is told that ends the members behind a halt. */
export const endPayload = (
  { groupId, account }: { groupId: string; account: string },
  { cause }: { cause: HaltCause },
  at: Date,
): { groupId: string; account: string; haltedAt: string; inWork?: true } => ({
  ...{ groupId, account, haltedAt: at.toISOString() },
  ...(cause === 'ended_in_work' ? { inWork: true } : {}),
});

/**
 * Once it was started, the registry still works on what stands before the member that failed; else nothing of the group
 * is processed.
 */
export function halted(state: RegisteredGroup, cause: HaltCause, details: HaltDetails): GroupHalted {
  const begun = state.phase === 'started' || state.phase === 'starting' || state.phase === 'unconfirmed';
  // As far as we know.
  const wasStarted = begun && cause !== 'start_refused' && !isEndedByPerson(cause);
  const from = wasStarted && details.member !== undefined ? details.member.index + 1 : 0;
  const rest = state.members
    .filter((one, i) => i >= from && one.requestId !== details.member?.requestId && one.outcome === undefined)
    .map((one) => one.requestId);
  return { type: 'GroupHalted', data: { cause, started: wasStarted, ...details, rest } };
}

/** A member was ended with a halt that is over since: it stands again, for what is still open. */
export function haltedAgain({ members }: RegisteredGroup, lifted: GroupHalted['data'], ended: string): GroupHalted {
  const open = members.filter((one) => one.outcome === undefined && one.requestId !== ended);
  const rest = lifted.rest.filter((requestId) => open.some((one) => one.requestId === requestId));
  return { type: 'GroupHalted', data: { ...lifted, rest } };
}

/** What a person says who ends a group that is not proven to have begun, nor not to have. */
export interface PersonEnd {
  reason: string;
  /** The start of unknown outcome that the decision is about; absent for a group that has halted. */
  attempt?: number;
  /** The registry does not process what it shows as in work, and will not. */
  inWork?: true;
}

/**
 * Ends a group of which nobody knows whether it has begun: it is not started any more. Of one that was not started, or
 * was ended so, what is in work by the registry is ended by a second decision alone.
 */
export function endByPerson(state: RegisteredGroup, { reason: text, attempt, inWork }: PersonEnd): GroupEvent[] {
  const cause = inWork === true ? 'ended_in_work' : 'ended_by_person';
  if (state.phase === 'unconfirmed')
    return state.start.attempt === attempt ? [halted(state, cause, { text, attempt })] : [];
  if (!canEndInWork(state) || inWork !== true) return [];
  const { member, predecessor, attempt: started } = state.halt;
  return [halted(state, cause, { ...defined({ member, predecessor, attempt: started }), text })];
}

/** Whether a person may still say that what the registry shows of it as in work is not processed. */
export const canEndInWork = (state: RegisteredGroup): state is Extract<RegisteredGroup, { phase: 'halted' }> =>
  state.phase === 'halted' && !state.halt.started && state.halt.cause !== 'ended_in_work';

/**
 * The registry's word that the start of unknown outcome took effect, after a person ended the group for that: it has
 * begun, unless something was ended on that person's account.
 */
export function begunAfterEnd(
  state: RegisteredGroup,
  { answerSha256, ...by }: { attempt?: number; seenByStatus: boolean; answerSha256: Sha256 },
): GroupEvent[] {
  if (state.phase !== 'halted' || state.halt.attempt === undefined) return [];
  const { attempt } = state.halt;
  const isOther = by.attempt !== undefined && by.attempt > attempt;
  if (isOther || state.members.some((one) => one.cause === 'not_processed')) return [];
  return [started(state, { attempt: by.attempt ?? attempt, seenByStatus: by.seenByStatus, answerSha256 })];
}

/** The registry works on the group, and has these members. */
export function started(
  { members }: Pick<RegisteredGroup, 'members'>,
  of: { attempt: number; seenByStatus: boolean; answerSha256: Sha256 },
): GroupEvent {
  const known = members.flatMap(({ requestId, documentId }) =>
    documentId === undefined ? [] : [{ requestId, documentId }],
  );
  return { type: 'GroupStarted', data: { ...of, members: known } };
}
