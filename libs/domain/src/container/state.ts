import { neverReached } from '#kernel';
import type { Arrival, ContainerEvent, WithheldReason } from './events.js';

/** What has come of asking the registry for a container's content. */
export type ContainerState =
  | { phase: 'never_asked' }
  | { phase: 'asked'; account: string; arrival: Arrival; reason: WithheldReason | undefined }
  /** `documentId`: of the arrival for which it was asked last. */
  | { phase: 'told' | 'unavailable'; documentId: string };

export const NEVER_ASKED: ContainerState = { phase: 'never_asked' };

/** The state after one event. Throws on an event that cannot follow: the stream is damaged. */
export function evolveContainer(state: ContainerState, event: ContainerEvent): ContainerState {
  if (event.type === 'ContainerContentAsked') {
    if (state.phase === 'asked') throw new Error('ContainerContentAsked in phase asked');
    const { account, arrival } = event.data;
    return { phase: 'asked', account, arrival, reason: undefined };
  }
  if (state.phase !== 'asked') throw new Error(`${event.type} in phase ${state.phase}`);
  switch (event.type) {
    case 'ContainerContentWithheld':
      return { ...state, reason: event.data.reason };
    case 'ContainerContentObserved':
      return { phase: 'told', documentId: state.arrival.documentId };
    case 'ContainerContentUnavailable':
      return { phase: 'unavailable', documentId: state.arrival.documentId };
    default:
      return neverReached(event, 'container event');
  }
}
