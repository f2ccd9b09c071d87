import type { PlannedTask } from '../task/task.js';
import type { DocumentOutcome } from './events.js';

export type { PlannedTask };

/** The registry's times, from the profile (registry-interface 8; principles 6.5). All in milliseconds. */
export interface DocumentRules {
  statusAfterSendMs: number;
  receiptAfterStatusMs: number;
  statusPollMs: number;
  failedGraceMs: number;
  unknownGraceMs: number;
  /** Status reads are put on this grid, so that one page of the outgoing list serves all that are due together. */
  statusGridMs: number;
  /** Least time between two look-ups of one document. */
  lookUpEveryMs: number;
  /** First sends are planned by whoever decides which documents wait by their items (libs/item-claims). */
  itemsDecide?: true;
}

/** A task about a group as a whole. */
export type PlannedGroupTask = PlannedTask<
  | 'group_check'
  | 'group_start'
  | 'group_look'
  | 'settle_group'
  | 'conclude_members'
  | 'note_member'
  | 'note_group_predecessor'
>;

/** What a saga instance remembers of a group, beside what it remembers of whatever may be waited for. */
export interface GroupSagaState {
  first: string;
  /** Asked so far, over all attempts: they number the tasks. */
  checks: number;
  looks: number;
  /** The newest start that surely has not begun the group. */
  attempts: number;
  attemptEndedAt?: string;
}

/** Something that comes after another document or group. */
export interface Dependent {
  requestId: string;
  account: string;
  kind?: 'group';
}

/** A dependent as it is kept in a row of its own (libs/subscriptions). */
export interface DependentRow {
  dependent: string;
  data: { account: string; kind?: 'group' };
}

/** What is remembered between events of one document, or of one group: who sends it, and how it ended. */
export interface DocumentSagaState {
  account: string;
  concluded: DocumentOutcome | undefined;
  /** Only in states that the version before wrote: who waits is kept in rows now. */
  dependents?: Dependent[];
  /** Nobody is told before this moment how it ended (ISO 8601). */
  tellFrom?: string;
  /** It ended with a bare FAILED, which may turn. */
  mayTurn?: true;
  /** It ended, and nothing can revise that. */
  isFinal?: true;
  /**
   * It stands for another document or group, which ended badly: whoever waits for that one may go when this one
   * succeeds.
   */
  isResend?: true;
  /** The registry's id, once it is known. */
  documentId?: string;
  lookUps: number;
  attemptEndedAt: string | undefined;
  receiptsAsked: number;
  /**
   * We learnt by a look-up that the registry has the document: its copy is then fetched and compared with what we sent.
   */
  compareCopy: boolean;
  /** The round of a large document's upload; absent before the first. */
  round?: number;
  /** The group that this document is a member of, while it concerns the group how it goes. */
  memberOf?: string;
  /** Set for a group. */
  group?: GroupSagaState;
}
