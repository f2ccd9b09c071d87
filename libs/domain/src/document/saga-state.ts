import { defined } from '#kernel';
import type { DocumentOutcome } from './events.js';
import type { Dependent } from './planned-task.js';

/** How a document or a group ended. */
export interface SagaEnd {
  outcome: DocumentOutcome;
  /** Nobody is told before this moment (ISO 8601). Absent in states of old versions alone. */
  tellFrom?: string;
  /** `turning`: a bare FAILED, which the registry may still revise by itself. `final`: nothing can revise it. */
  certainty: 'final' | 'revisable' | 'turning';
}

interface Remembered {
  /** Who sends it. */
  account: string;
  /**
   * It stands for another document or group, which ended badly: whoever waits for that one may go when this one
   * succeeds.
   */
  isResend?: true;
}

interface OfDocument extends Remembered {
  noun: 'document';
  /** The group that this document is a member of, while it concerns the group how it goes. */
  memberOf?: string;
  /** The end of its newest attempt of unknown outcome (ISO 8601). */
  attemptEndedAt?: string;
  /** The round of a large document's upload; absent before the first. */
  round?: number;
  /** The registry's id, once it is known. */
  documentId?: string;
  /**
   * We learnt by a look-up that the registry has the document: its copy is then fetched and compared with what we sent.
   */
  compareCopy?: true;
  /** They number the tasks. */
  receiptsAsked: number;
}

interface OfGroup extends Remembered {
  noun: 'group';
  /** The member that is sent first. */
  first: string;
  /** Asked so far, over all attempts: they number the tasks. */
  checks: number;
  looks: number;
  /** The newest start that surely has not begun the group. */
  attempts: number;
  attemptEndedAt?: string;
}

type Phase = { phase: 'open' } | { phase: 'ended'; end: SagaEnd };

export type DocumentMemory = OfDocument & Phase;
export type GroupMemory = OfGroup & Phase;

/**
 * What is remembered between events of one document, or of one group. `unknown`: not registered, or ended for good and
 * forgotten. `revised`: ended for good and forgotten, and then ended in another way.
 */
export type DocumentSagaState =
  { phase: 'unknown' } | { phase: 'revised'; end: SagaEnd } | DocumentMemory | GroupMemory;

export const UNKNOWN: DocumentSagaState = { phase: 'unknown' };

export const isOfDocument = (state: DocumentSagaState): state is DocumentMemory =>
  'noun' in state && state.noun === 'document';
export const isOfGroup = (state: DocumentSagaState): state is GroupMemory => 'noun' in state && state.noun === 'group';

export const endOf = (state: DocumentSagaState): SagaEnd | undefined => ('end' in state ? state.end : undefined);

/** The state as versions up to 0.1 stored it: one record for documents and groups, with flags for its phases. */
export interface FlaggedState extends Remembered {
  concluded?: DocumentOutcome;
  /** Who waits is kept in rows now. */
  dependents?: Dependent[];
  tellFrom?: string;
  mayTurn?: true;
  isFinal?: true;
  documentId?: string;
  attemptEndedAt?: string;
  receiptsAsked: number;
  compareCopy: boolean;
  round?: number;
  memberOf?: string;
  group?: Omit<OfGroup, 'noun' | keyof Remembered>;
}

/** A stored state is rewritten with the next event of its instance. */
export function fromFlags(stored: FlaggedState): DocumentSagaState {
  const { account, isResend, group, concluded, tellFrom, mayTurn, isFinal } = stored;
  const certainty = isFinal === true ? 'final' : mayTurn === true ? 'turning' : 'revisable';
  const end: SagaEnd | undefined =
    concluded === undefined
      ? undefined
      : { outcome: concluded, certainty, ...(tellFrom === undefined ? {} : { tellFrom }) };
  if (account === '') return end === undefined ? UNKNOWN : { phase: 'revised', end };
  const phase: Phase = end === undefined ? { phase: 'open' } : { phase: 'ended', end };
  const remembered = { account, ...(isResend === true ? { isResend } : {}) };
  if (group !== undefined) return { ...phase, ...remembered, noun: 'group', ...group };
  const { documentId, attemptEndedAt, receiptsAsked, compareCopy, round, memberOf } = stored;
  return {
    ...phase,
    ...remembered,
    noun: 'document',
    receiptsAsked,
    ...defined({ documentId, attemptEndedAt, round, memberOf }),
    ...(compareCopy ? { compareCopy } : {}),
  };
}
