import { movedOut, registeredAfterMe, type DocumentReaction } from '../document/dependents.js';
import {
  DOCUMENT_STREAM_PREFIX,
  requestIdOfStream,
  type DocumentEvent,
  type DocumentRegistered,
} from '../document/events.js';
import type { Dependent, DocumentRules, DocumentSagaState } from '../document/planned-task.js';
import { reactToOwn } from '../document/saga.js';
import { GROUP_STREAM_PREFIX, groupIdOfStream, type GroupEvent, type GroupRegistered } from '../group/events.js';
import { reactToOwnGroup } from '../group/saga.js';

interface SagaEvent {
  stream: string;
  /** Its place in the stream. */
  version: number;
  type: string;
  data: object;
  /** The database's time at which the event's page is handled. */
  handledAt: Date;
}

/** Documents and groups have one saga, because either may wait for the other. */
export const DOCUMENT_SAGA = {
  name: 'document',
  filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX, GROUP_STREAM_PREFIX] },
  initial: {
    account: '',
    concluded: undefined,
    lookUps: 0,
    attemptEndedAt: undefined,
    receiptsAsked: 0,
    compareCopy: false,
  } as DocumentSagaState,
  /**
   * What nothing can revise is forgotten. A bare FAILED stays, and what its halted group has ended: the registry may
   * still say otherwise.
   */
  isDone: (state: DocumentSagaState): boolean => state.isFinal === true,
};

const ownerOf = (stream: string): string =>
  stream.startsWith(GROUP_STREAM_PREFIX) ? groupIdOfStream(stream) : requestIdOfStream(stream);

/** The instances an event concerns: its own document or group and, at registration, those that it comes after. */
export function keysOfDocumentEvent(recorded: Pick<SagaEvent, 'stream' | 'type' | 'data'>): string[] {
  const own = ownerOf(recorded.stream);
  const event = recorded as unknown as DocumentEvent | GroupEvent;
  return event.type === 'DocumentRegistered' || event.type === 'GroupRegistered'
    ? [own, ...event.data.after.map((one) => one.requestId)]
    : [own];
}

type Reaction = DocumentReaction;

/**
 * What follows from one event. Due times count from the moment at which its page is handled, by the database's clock:
 * that is after the answer arrived, and tasks are judged by the same clock. So no skew between machines, the log's
 * server included, makes a call too early or too late.
 */
export function reactToDocumentEvent(rules: DocumentRules) {
  return (state: DocumentSagaState, recorded: SagaEvent, key: string): Reaction => {
    const at = recorded.handledAt;
    if (state.dependents === undefined) return reactTo({ state, recorded, key, at, rules });
    const moved = movedOut(state);
    const reaction = reactTo({ state: moved.state, recorded, key, at, rules });
    return { ...reaction, dependents: [...moved.dependents, ...(reaction.dependents ?? [])] };
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
  const event = recorded as unknown as DocumentEvent | GroupEvent;
  const { version } = recorded;
  if (key !== own) {
    if (event.type !== 'DocumentRegistered' && event.type !== 'GroupRegistered')
      throw new Error(`${event.type} routed to another document`);
    return registeredAfterMe(state, dependentOf(event, own), { key, at, rules });
  }
  if (recorded.stream.startsWith(GROUP_STREAM_PREFIX))
    return reactToOwnGroup({ state, event: event as GroupEvent, groupId: own, at, rules, version });
  return reactToOwn({ state, event: event as DocumentEvent, requestId: own, at, rules, version });
}

const dependentOf = (event: DocumentRegistered | GroupRegistered, requestId: string): Dependent =>
  event.type === 'GroupRegistered'
    ? { requestId, account: event.data.account, kind: 'group' }
    : { requestId, account: event.data.account };
