import { neverReached } from '#kernel';
import type {
  Arrival,
  ContainerContentAsked,
  ContainerContentObserved,
  ContainerContentWithheld,
  ContainerEvent,
} from './events.js';
import type { ContainerState } from './state.js';

type Withheld = ContainerContentWithheld['data'];
type Observed = ContainerContentObserved['data'];

/** What may be asked of a container. `documentId` names the arrival for which the registry was asked. */
export type ContainerCommand =
  | ({ type: 'AskContent' } & ContainerContentAsked['data'])
  | ({ type: 'RecordContent'; documentId: string } & Omit<Observed, 'account' | 'arrival'>)
  | ({ type: 'NoteWithheld' } & Withheld)
  | ({ type: 'GiveUpContent' } & Withheld);

/** The events that follow; none when the command says nothing new, or answers a question that is over. */
export function decideContainer(state: ContainerState, command: ContainerCommand): ContainerEvent[] {
  switch (command.type) {
    case 'AskContent': {
      const { type: _, ...data } = command;
      return mayAsk(state, data.arrival) ? [{ type: 'ContainerContentAsked', data }] : [];
    }
    case 'RecordContent': {
      const { type: _, documentId, ...told } = command;
      if (!isOpen(state, documentId)) return [];
      const { account, arrival } = state;
      return [{ type: 'ContainerContentObserved', data: { ...told, account, arrival } }];
    }
    case 'NoteWithheld': {
      const { type: _, ...data } = command;
      const isNew = isOpen(state, data.documentId) && state.reason !== data.reason;
      return isNew ? [{ type: 'ContainerContentWithheld', data }] : [];
    }
    case 'GiveUpContent': {
      const { type: _, ...data } = command;
      return isOpen(state, data.documentId) ? [{ type: 'ContainerContentUnavailable', data }] : [];
    }
    default:
      return neverReached(command, 'container command');
  }
}

/** Once for each arrival, and one question at a time: an answer serves whoever named it meanwhile. */
function mayAsk(state: ContainerState, { documentId }: Arrival): boolean {
  if (state.phase === 'asked') return false;
  return state.phase === 'never_asked' || state.documentId !== documentId;
}

const isOpen = (state: ContainerState, documentId: string): state is Extract<ContainerState, { phase: 'asked' }> =>
  state.phase === 'asked' && state.arrival.documentId === documentId;
