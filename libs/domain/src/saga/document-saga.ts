import { registeredAfterMe, rowOf, type DocumentReaction } from '../document/dependents.js';
import {
  DOCUMENT_STREAM_PREFIX,
  requestIdOfStream,
  type DocumentEvent,
  type DocumentReference,
} from '../document/events.js';
import type { Dependent, DocumentRules } from '../document/planned-task.js';
import { reactToOwn } from '../document/saga.js';
import { endOf, fromFlags, UNKNOWN, type DocumentSagaState, type FlaggedState } from '../document/saga-state.js';
import { GROUP_STREAM_PREFIX, groupIdOfStream, type GroupEvent } from '../group/events.js';
import { reactToOwnGroup } from '../group/saga.js';
import { eventIn, type SagaEvent as AnySagaEvent } from './saga-event.js';

type SagaEvent = Omit<AnySagaEvent, 'position'>;

/** Documents and groups have one saga, because either may wait for the other. */
export const DOCUMENT_SAGA = {
  name: 'document',
  filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX, GROUP_STREAM_PREFIX] },
  initial: UNKNOWN,
  /**
   * What nothing can revise is forgotten. A bare FAILED stays, and what its halted group has ended: the registry may
   * still say otherwise.
   */
  isDone: (state: DocumentSagaState): boolean => endOf(state)?.certainty === 'final',
};

const ownerOf = (stream: string): string =>
  stream.startsWith(GROUP_STREAM_PREFIX) ? groupIdOfStream(stream) : requestIdOfStream(stream);

/** The instances an event concerns: its own document or group and, at registration, those that it comes after. */
export function keysOfDocumentEvent(recorded: Pick<SagaEvent, 'stream' | 'type' | 'data'>): string[] {
  const own = ownerOf(recorded.stream);
  const event = eventIn<DocumentEvent | GroupEvent>(recorded);
  return [own, ...predecessorsIn(event).map((one) => one.requestId)];
}

/** What it comes to wait for by this event. What `after` names stands with the registration already. */
function predecessorsIn({ type, data }: DocumentEvent | GroupEvent): DocumentReference[] {
  if (type === 'DocumentRegistered' || type === 'GroupRegistered') return data.after;
  const isWait = type === 'DocumentWaiting' || type === 'GroupWaiting';
  return isWait && data.kind === 'items' ? data.for : [];
}

type Reaction = DocumentReaction;

/**
 * What follows from one event. Due times count from the moment at which its page is handled, by the database's clock:
 * that is after the answer arrived, and tasks are judged by the same clock. So no skew between machines, the log's
 * server included, makes a call too early or too late.
 */
export function reactToDocumentEvent(rules: DocumentRules) {
  return (stored: DocumentSagaState | FlaggedState, recorded: SagaEvent, key: string): Reaction => {
    const at = recorded.handledAt;
    if ('phase' in stored) return reactTo({ state: stored, recorded, key, at, rules });
    const reaction = reactTo({ state: fromFlags(stored), recorded, key, at, rules });
    // Old versions kept those who wait inside the state.
    return { ...reaction, dependents: [...(stored.dependents ?? []).map(rowOf), ...(reaction.dependents ?? [])] };
  };
}

function reactTo({
  state,
  recorded,
  key,
  at,
  rules,
}: {
  state: DocumentSagaState;
  recorded: SagaEvent;
  key: string;
  at: Date;
  rules: DocumentRules;
}): Reaction {
  const own = ownerOf(recorded.stream);
  const event = eventIn<DocumentEvent | GroupEvent>(recorded);
  const { version } = recorded;
  if (key !== own) {
    const account = accountIn(event);
    if (account === undefined) throw new Error(`${event.type} routed to another document`);
    const isGroup = recorded.stream.startsWith(GROUP_STREAM_PREFIX);
    const dependent: Dependent = { requestId: own, account, ...(isGroup ? { kind: 'group' } : {}) };
    return registeredAfterMe(state, dependent, { key, at, rules });
  }
  if (recorded.stream.startsWith(GROUP_STREAM_PREFIX))
    return reactToOwnGroup({ state, event: event as GroupEvent, groupId: own, at, rules, version });
  return reactToOwn({ state, event: event as DocumentEvent, requestId: own, at, rules, version });
}

/** Of what comes to wait by this event. */
function accountIn({ type, data }: DocumentEvent | GroupEvent): string | undefined {
  if (type === 'DocumentRegistered' || type === 'GroupRegistered') return data.account;
  const isWait = type === 'DocumentWaiting' || type === 'GroupWaiting';
  return isWait && data.kind === 'items' ? data.account : undefined;
}
