import type { Sha256 } from '#kernel';
import type { FactData, Step } from '../attempt/attempt.js';
import type {
  DocumentOutcome,
  DocumentReference,
  FailureCause,
  FirstCommand,
  GroupKind,
  ItemHold,
  ItemWait,
  PredecessorHold,
  Registration,
} from '../document/events.js';
import type { ItemWarning } from '../document/item-warning.js';

/** Most members of one group: their registrations stand in one event, which has its limit. */
export const MAX_GROUP_MEMBERS = 200;

/**
 * Why a group stopped. `member_not_sent`: the registry refused to take it, so the group was never started.
 * `packs_suspended`: packs of it were suspended after its documents were sent, so we did not start it, or
 * not once more. `ended_by_person`: a person ended it while nobody knew whether the registry has begun.
 * `ended_in_work`: also what the registry shows as in work, on that person's word that it never will be.
 */
export const HALT_CAUSES = [
  'member_rejected',
  'member_failed',
  'member_partial',
  'member_not_sent',
  'predecessor_failed',
  'check_denied',
  'start_refused',
  'waits_in_ring',
  'packs_suspended',
  'ended_by_person',
  'ended_in_work',
] as const;
export type HaltCause = (typeof HALT_CAUSES)[number];

/** The document that was too large for one send, as it was given. */
interface SplitDocument {
  documentSha256: Sha256;
  byteLength: number;
  docType: number;
  itemCount: number;
}

/**
 * The command was taken; the members' bytes are in the evidence store. The order of `members` is the order of
 * processing.
 */
export interface GroupRegistered {
  type: 'GroupRegistered';
  data: {
    groupId: string;
    commandId: string;
    reference?: string;
    account: string;
    kind: GroupKind;
    members: Registration[];
    after: DocumentReference[];
    /** For kind `split`. */
    original?: SplitDocument;
    /** For kind `resumption`: the group that halted. */
    resumes?: { groupId: string; commandId: string };
    /** For kind `resumption`; absent in events of older versions. */
    firstCommand?: FirstCommand;
    warnings?: ItemWarning[];
    /** The command waives the wait for earlier documents that name the same items. */
    waivesItemWait?: true;
  };
}

/** Waits until these have concluded accepted or partial. Without a kind: the command came after them. */
export interface GroupWaiting {
  type: 'GroupWaiting';
  data: { kind?: never; for: DocumentReference[] } | ItemWait;
}

interface GroupPredecessorConcluded {
  type: 'GroupPredecessorConcluded';
  data: {
    requestId: string;
    outcome: DocumentOutcome;
    /** The document by which an operator sent it again, where that one's outcome counts. */ by?: DocumentReference;
  };
}

/** A predecessor ended badly. Nothing is sent until that end is revised, or a person decides. */
interface GroupHeld {
  type: 'GroupHeld';
  data: { hold: PredecessorHold };
}

/** A person decided, with a reason that is in the metadata, that the bad end of these predecessors does not matter. */
interface GroupHoldWaived {
  type: 'GroupHoldWaived';
  data: {
    holds: PredecessorHold[];
    /** Nor that these commands, which it comes after, never came. */ missing?: DocumentReference[];
  };
}

/**
 * The time of a group of reports of accomplished facts is up: the bad end of these predecessors holds it no longer, and
 * it waits no more for those that are `stuck`.
 */
interface GroupHoldLapsed {
  type: 'GroupHoldLapsed';
  data: { holds: ItemHold[]; stuck?: DocumentReference[]; /** As of a document. */ dueAt?: string };
}

/** It waits no more for this document by their items: that one comes after it, by what the commands say. */
interface GroupItemWaitLifted {
  type: 'GroupItemWaitLifted';
  data: { for: DocumentReference };
}

/** Nothing is waited for any more; the first member's turn to be sent has come. */
interface GroupReleased {
  type: 'GroupReleased';
  data: Record<string, never>;
}

/** The registry has this member; the next one's turn to be sent has come. */
interface MemberSent {
  type: 'MemberSent';
  data: { index: number; requestId: string; documentId: string; /** Absent after the last. */ nextRequestId?: string };
}

export interface MemberConcluded {
  type: 'MemberConcluded';
  data: {
    index: number;
    requestId: string;
    outcome: DocumentOutcome;
    cause?: FailureCause;
    /** Of the event in the member's own stream that says so. */ memberVersion?: number;
  };
}

/** What counted as concluded turned out otherwise. */
export interface MemberRevised {
  type: 'MemberRevised';
  data: {
    index: number;
    requestId: string;
    outcome: DocumentOutcome;
    previousOutcome: DocumentOutcome;
    memberVersion?: number;
  };
}

/** The registry says that the group can be started. */
interface GroupCheckPassed {
  type: 'GroupCheckPassed';
  data: { answerSha256: Sha256 };
}

/**
 * The registry says that it cannot, and why. It is asked again a few times: what was just sent may not be known to it
 * yet.
 */
interface GroupCheckDenied {
  type: 'GroupCheckDenied';
  data: { check: number; reason: string; answerSha256: Sha256 };
}

/** The intent, recorded before the call: from here on the group may have begun. */
interface GroupStartAttempted {
  type: 'GroupStartAttempted';
  data: FactData['begun'];
}

/** The registry works on the group. `seenByStatus` when the members' statuses told, not the answer to the call. */
interface GroupStarted {
  type: 'GroupStarted';
  data: {
    attempt: number;
    seenByStatus: boolean;
    answerSha256: Sha256;
    members: { requestId: string; documentId: string }[];
  };
}

/** The registry heard and said no; nothing has begun. */
interface GroupStartRefused {
  type: 'GroupStartRefused';
  data: FactData['refused'];
}

/** Surely not begun (429, or no connection): it is asked for again `retryAfterMs` after this event. */
interface GroupStartNotDelivered {
  type: 'GroupStartNotDelivered';
  data: FactData['not_delivered'];
}

/** Nobody knows whether it has begun. The members' statuses are looked at before anything else is done. */
interface GroupStartUnconfirmed {
  type: 'GroupStartUnconfirmed';
  data: FactData['unconfirmed'];
}

/** Every member still lies there as it was sent. */
interface GroupStartNotSeen {
  type: 'GroupStartNotSeen';
  data: FactData['missed'];
}

/** Two such looks, the last after the grace: it has not begun, and may be started again. */
interface GroupStartAbsenceProven {
  type: 'GroupStartAbsenceProven';
  data: FactData['proven_undone'];
}

/** Here the group stops. `rest` is what is not processed, in order: it concludes once that is sure. */
export interface GroupHalted {
  type: 'GroupHalted';
  data: {
    cause: HaltCause;
    /** False: it was never started, so nothing of it is processed. */
    started: boolean;
    member?: DocumentReference & { index: number; outcome: DocumentOutcome };
    predecessor?: DocumentReference & { outcome: DocumentOutcome };
    /** The registry's words, or the reason of the person who ended it. */
    text?: string;
    /** The start of which nobody knows the outcome, where a person ended it for that. */
    attempt?: number;
    rest: string[];
  };
}

/** The member that had stopped it turned out well, and nothing was concluded on its account: the group goes on. */
interface GroupHaltLifted {
  type: 'GroupHaltLifted';
  data: { requestId: string; outcome: DocumentOutcome };
}

/** Every member has ended. */
export interface GroupConcluded {
  type: 'GroupConcluded';
  data: {
    outcome: DocumentOutcome;
    /** Set when it stopped before its end, or at its last member. */ halt?: HaltCause;
  };
}

/** A member turned out otherwise, and with it the whole. */
export interface GroupConclusionRevised {
  type: 'GroupConclusionRevised';
  data: { outcome: DocumentOutcome; previousOutcome: DocumentOutcome; halt?: HaltCause };
}

/** What was left of it goes on in another group. */
interface GroupResumed {
  type: 'GroupResumed';
  data: { by: { groupId: string; commandId: string } };
}

export type GroupEvent =
  | GroupRegistered
  | GroupWaiting
  | GroupPredecessorConcluded
  | GroupHeld
  | GroupHoldWaived
  | GroupHoldLapsed
  | GroupItemWaitLifted
  | GroupReleased
  | MemberSent
  | MemberConcluded
  | MemberRevised
  | GroupCheckPassed
  | GroupCheckDenied
  | GroupStartAttempted
  | GroupStarted
  | GroupStartRefused
  | GroupStartNotDelivered
  | GroupStartUnconfirmed
  | GroupStartNotSeen
  | GroupStartAbsenceProven
  | GroupHalted
  | GroupHaltLifted
  | GroupConcluded
  | GroupConclusionRevised
  | GroupResumed;

/** Checks and starts: the group's dealings with the registry as a whole. */
export type StartEvent = Extract<GroupEvent, { type: `GroupStart${string}` | `GroupCheck${string}` }>;

const STEPS = {
  GroupStartAttempted: 'begun',
  GroupStartNotDelivered: 'not_delivered',
  GroupStartUnconfirmed: 'unconfirmed',
  GroupStartNotSeen: 'missed',
  GroupStartAbsenceProven: 'proven_undone',
} as const;

/** What an event says of the attempt to start the group. */
export const startStepOf = ({ type, data }: Extract<StartEvent, { type: keyof typeof STEPS }>): Step => ({
  type: STEPS[type],
  data,
});

export const isAboutStart = (event: GroupEvent): event is StartEvent =>
  event.type.startsWith('GroupStart') || event.type.startsWith('GroupCheck');

export const GROUP_STREAM_PREFIX = 'group-';
export const groupStream = (groupId: string): string => `${GROUP_STREAM_PREFIX}${groupId}`;
export const groupIdOfStream = (stream: string): string => stream.slice(GROUP_STREAM_PREFIX.length);
