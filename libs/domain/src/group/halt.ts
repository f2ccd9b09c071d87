import type { GroupEvent, HaltCause } from './events.js';
import type { RegisteredGroup } from './state.js';

type HaltDetails = Pick<Extract<GroupEvent, { type: 'GroupHalted' }>['data'], 'member' | 'predecessor' | 'text'>;

/**
 * Once it was started, the registry still works on what stands before the member that failed; else nothing of the group
 * is processed.
 */
export function halted(state: RegisteredGroup, cause: HaltCause, details: HaltDetails): GroupEvent {
  const begun = state.phase === 'started' || state.phase === 'starting' || state.phase === 'unconfirmed';
  const wasStarted = begun && cause !== 'start_refused';
  const from = wasStarted && details.member !== undefined ? details.member.index + 1 : 0;
  const rest = state.members
    .filter((one, i) => i >= from && one.requestId !== details.member?.requestId && one.outcome === undefined)
    .map((one) => one.requestId);
  return { type: 'GroupHalted', data: { cause, started: wasStarted, ...details, rest } };
}
