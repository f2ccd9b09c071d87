import type { Sha256 } from '#kernel';
import type { AccountCause } from '../account/events.js';
import type { FactData } from '../attempt/attempt.js';
import type { GateHold, GateHoldLifted, GateWarned } from './gate-events.js';
import type { PersonHold, SuspensionHold, SuspensionHoldLifted, SuspensionWarned } from './stop-events.js';
import type { ItemWarning } from './item-warning.js';
import type { UploadEvent } from './upload-events.js';
import type { SignedBy } from './signed-by.js';

/** How a document ended. `failed`: without a receipt that says otherwise; the cause tells why. */
export const DOCUMENT_OUTCOMES = ['accepted', 'partial', 'rejected', 'failed'] as const;
export type DocumentOutcome = (typeof DOCUMENT_OUTCOMES)[number];

/**
 * `not_processed`: it stood behind a member of its group that did not succeed, and the registry does not process it
 * (registry-interface 3.2). `waits_in_ring`: what it would wait for waits for it, and nothing of it was sent.
 * `packs_forbid`: the known state of its packs, or a suspension, forbids it, and a person ended it. `ended_by_person`:
 * a person held it, and ended it.
 */
export const FAILURE_CAUSES = [
  'registry_failed',
  'send_refused',
  'predecessor_failed',
  'not_processed',
  'waits_in_ring',
  'packs_forbid',
  'ended_by_person',
] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** Canonical document statuses (registry-interface 3.1). */
export const REGISTRY_STATUSES = ['uploading', 'processing', 'processed', 'failed_result_ready', 'failed'] as const;
export type RegistryStatus = (typeof REGISTRY_STATUSES)[number];

/** Another document of ours, as the ERP named it and as the registry will know it. */
export interface DocumentReference {
  commandId: string;
  requestId: string;
}

/** What the ERP gave first: whatever is sent again for it, however often, is told under this. */
export interface FirstCommand {
  commandId: string;
  reference?: string;
}

/** The group that a document belongs to, and its place there, from 0. */
export interface GroupMembership {
  groupId: string;
  index: number;
  /** Members of the group. */
  of: number;
  /** `split`: a part of one document that was too large; the group is what the ERP knows. */
  kind: GroupKind;
}

/**
 * `given`: the ERP gave a group. `split`: one document in parts. `resumption`: what is left of a group that halted,
 * with a corrected member.
 */
export const GROUP_KINDS = ['given', 'split', 'resumption'] as const;
export type GroupKind = (typeof GROUP_KINDS)[number];

/** The command was taken; the document's bytes are in the evidence store. */
export interface DocumentRegistered {
  type: 'DocumentRegistered';
  data: {
    requestId: string;
    commandId: string;
    /** The ERP's own reference, given back with every outcome. */
    reference?: string;
    account: string;
    docType: number;
    documentSha256: Sha256;
    byteLength: number;
    itemCount: number;
    subjectId: string;
    counterpartyId?: string;
    docNum?: string;
    /** As the document claims it, ISO 8601 with zone. */
    operationDate: string;
    after: DocumentReference[];
    /** It is sent with bulk_processing, when its turn comes, and processed when its group was started. */
    group?: GroupMembership;
    /** The member of a halted group in whose place this one stands. */
    supersedes?: DocumentReference;
    /** The document that ended rejected or failed, and that an operator sent again by this one, corrected or not. */
    resendOf?: DocumentReference;
    /** Where it stands for another document under another command. Absent in events of older versions too. */
    firstCommand?: FirstCommand;
    /** A member of a group has none: those of its command stand with the group. */
    warnings?: ItemWarning[];
    /** The command waives the wait for earlier documents that name the same items. */
    waivesItemWait?: true;
  };
}

export type Registration = DocumentRegistered['data'];

/** Waits until these have concluded accepted or partial. Without a kind: the command came after them. */
export interface DocumentWaiting {
  type: 'DocumentWaiting';
  data: { kind?: never; for: DocumentReference[] } | ItemWait;
}

/**
 * An earlier document that names the same items and has not concluded: a pack that both name, or a container that one
 * names and the other has a pack in, or a place of which one moves all.
 */
export interface ItemPredecessor extends DocumentReference {
  /** The first of the items in which the two meet, at most MAX_ITEMS_TOLD. */
  items: string[];
  itemCount: number;
}

/** Most predecessors that one wait by items names. Others, if any, are named when these have concluded. */
export const MAX_ITEM_PREDECESSORS = 100;
export const MAX_ITEMS_TOLD = 3;

/** What a document or a group waits for because of its items. */
export interface ItemWait {
  kind: 'items';
  /** Of the one that waits. */
  account: string;
  /** Such waits of this document or group so far, from 1. */
  round: number;
  for: ItemPredecessor[];
}

interface PredecessorConcluded {
  type: 'PredecessorConcluded';
  data: {
    requestId: string;
    outcome: DocumentOutcome;
    /** The document by which an operator sent it again, where that one's outcome counts. */ by?: DocumentReference;
  };
}

/**
 * Keeps a document or a group from being sent: what it comes after ended badly. A revision of that end lifts it, or a
 * person decides.
 */
export interface AfterHold {
  kind: 'after';
  for: DocumentReference;
  outcome: BadOutcome;
}

/** The same, where both name the same items. What reports an accomplished fact is released after a while. */
export interface ItemHold {
  kind: 'items';
  for: ItemPredecessor;
  outcome: BadOutcome;
}

/** A predecessor ended badly. */
export type PredecessorHold = AfterHold | ItemHold;

/** Holds of the document itself: each ends the send that was planned. */
export type OwnHold = GateHold | SuspensionHold | PersonHold;

export type Hold = PredecessorHold | OwnHold;

/**
 * Reports of an accomplished fact: retail sales and dispensing (511, 521), hand-over for medical use (531), disposal
 * (552). What happened is to be reported in time, whatever became of an earlier document.
 */
export const ACCOMPLISHED_FACTS: readonly number[] = [511, 521, 531, 552];

export const BAD_OUTCOMES = ['rejected', 'failed'] as const satisfies DocumentOutcome[];
export type BadOutcome = (typeof BAD_OUTCOMES)[number];

/**
 * A predecessor ended badly, the known state of packs or a suspension forbids it, or a person holds it. Nothing is sent
 * until that changes, or a person decides.
 */
export interface DocumentHeld {
  type: 'DocumentHeld';
  data: { hold: Hold };
}

/** A person decided, with a reason that is in the metadata, that the bad end of these predecessors does not matter. */
interface HoldWaived {
  type: 'HoldWaived';
  data: {
    holds: Hold[];
    /** Nor that these commands, which it comes after, never came. */ missing?: DocumentReference[];
  };
}

/**
 * The bad end of these predecessors holds a report of an accomplished fact no longer: its time is up. Nor does it wait
 * for those that are `stuck`: held, or waiting for what is held. A warning, for the registry may refuse it.
 */
interface HoldLapsed {
  type: 'HoldLapsed';
  data: { holds: ItemHold[]; stuck?: DocumentReference[]; /** Where that ends it, in UTC. */ dueAt?: string };
}

/** It waits no more for this document by their items: that one comes after it, by what the commands say. */
interface ItemWaitLifted {
  type: 'ItemWaitLifted';
  data: { for: DocumentReference };
}

/** Nothing is waited for any more. */
export interface DocumentReleased {
  type: 'DocumentReleased';
  data: {
    /** How often it was held after its send was planned; absent: never. */
    gateHolds?: number;
    /** Of the send that follows, where earlier ones surely did not arrive; absent: the first. */
    attempt?: number;
  };
}

/**
 * Refused by us: what it was to come after did not succeed, and a person decided so, or the installation ends this
 * document type at once. Or what it would wait for waits for it. Or a person ended what the state of packs forbids.
 */
export interface DocumentRefused {
  type: 'DocumentRefused';
  data: {
    /** Absent where packs forbid it. */
    predecessor?: DocumentReference;
    /** Absent for a ring, and where the predecessor never came. */
    predecessorOutcome?: DocumentOutcome;
    /** Set where it would wait for itself, by `after` and by items: those that wait for it, from `predecessor` on. */
    ring?: DocumentReference[];
    /** What the sequence gate, a suspension or a person held it for. */
    gate?: GateHold;
    suspension?: SuspensionHold;
    person?: PersonHold;
  };
}

/**
 * The intent, recorded before the call: from here on the document may have reached the registry. Signature and
 * certificate are absent for an account that signs in by password: its documents go without a signature
 * (registry-interface 5; auth_type PASSWORD).
 */
export interface SendAttempted {
  type: 'SendAttempted';
  data: {
    attempt: number;
    account: string;
    /** Set for a document above the limit of a plain send: the call announces it, and its bytes go up afterwards. */
    upload?: true;
    /** Where suspensions could stop it: the log position up to which they were known right before. */
    suspensionsKnownAt?: string;
  } & SignedBy;
}

/** The registry took it. `foundByLookUp` when we learnt it afterwards, by request_id. */
export interface DocumentSent {
  type: 'DocumentSent';
  data: { documentId: string } & FactData['done'];
}

/** The registry heard and said no; nothing was taken. */
interface SendRefused {
  type: 'SendRefused';
  data: FactData['refused'];
}

/**
 * Surely not taken (429, no connection, or a refusal that concerns the account and not the document): it may be sent
 * again at `retryAfterMs` after this event, where its account is not paused.
 */
interface SendNotDelivered {
  type: 'SendNotDelivered';
  data: FactData['not_delivered'] & { /** Set where the registry refused the account. */ accountCause?: AccountCause };
}

/** Nobody knows whether it was taken. Looked up before anything else is done. */
interface SendUnconfirmed {
  type: 'SendUnconfirmed';
  data: FactData['unconfirmed'];
}

/** Asked by request_id and not found. */
export interface LookUpMissed {
  type: 'LookUpMissed';
  data: FactData['missed'];
}

/** Two look-ups without a hit, the last after the grace: it did not arrive, and the same bytes may be sent again. */
export interface SendAbsenceProven {
  type: 'SendAbsenceProven';
  data: FactData['proven_undone'];
}

/** An alarm: more than one document at the registry carries this request_id; or one that was ended as not sent. */
export interface DuplicateDetected {
  type: 'DuplicateDetected';
  data: { documentIds: string[]; answerSha256: Sha256 };
}

/** A status that differs from the last one known. */
export interface StatusObserved {
  type: 'StatusObserved';
  data: { documentId: string; status: RegistryStatus; answerSha256: Sha256 };
}

export interface ReceiptStored {
  type: 'ReceiptStored';
  data: {
    documentId: string;
    receiptSha256: Sha256;
    result: 'accepted' | 'partial' | 'rejected';
    acceptedAt: string;
    errorCount: number;
    comment?: string;
  };
}

/** The registry's copy of the document was fetched and kept. */
interface DocumentDownloaded {
  type: 'DocumentDownloaded';
  data: { documentId: string; documentSha256: Sha256; sameBytes: boolean };
}

/** Its group halted, and the registry does not process it. `failed`: the member that stopped the group. */
export interface DocumentNotProcessed {
  type: 'DocumentNotProcessed';
  data: {
    groupId: string;
    failed?: DocumentReference & { outcome: DocumentOutcome };
    /** The answer that showed it unprocessed; absent when the group was not started. */ answerSha256?: Sha256;
    /** A person ended its group, and says that the registry does not process what it shows as in work. */
    inWork?: true;
  };
}

/** A resumption of its group carries another document in its place. */
interface DocumentSuperseded {
  type: 'DocumentSuperseded';
  data: { by: DocumentReference; groupId: string };
}

export interface DocumentConcluded {
  type: 'DocumentConcluded';
  data: {
    outcome: DocumentOutcome;
    cause?: FailureCause;
    docType: number;
    documentSha256: Sha256;
    receiptSha256?: Sha256;
    /** The registry's moment of acceptance, from the receipt. */
    acceptedAt?: string;
  };
}

/** What counted as concluded turned out otherwise. */
export interface ConclusionRevised {
  type: 'ConclusionRevised';
  data: DocumentConcluded['data'] & { previousOutcome: DocumentOutcome };
}

/** An operator sent it again, with a reason that is in the metadata: as another document, which stands for itself. */
interface DocumentResent {
  type: 'DocumentResent';
  data: { by: DocumentReference };
}

export type DocumentEvent =
  | DocumentRegistered
  | DocumentWaiting
  | PredecessorConcluded
  | DocumentHeld
  | HoldWaived
  | HoldLapsed
  | ItemWaitLifted
  | GateWarned
  | GateHoldLifted
  | SuspensionWarned
  | SuspensionHoldLifted
  | DocumentReleased
  | DocumentRefused
  | SendAttempted
  | DocumentSent
  | SendRefused
  | SendNotDelivered
  | SendUnconfirmed
  | LookUpMissed
  | SendAbsenceProven
  | DuplicateDetected
  | StatusObserved
  | ReceiptStored
  | DocumentDownloaded
  | DocumentNotProcessed
  | DocumentSuperseded
  | DocumentResent
  | DocumentConcluded
  | ConclusionRevised
  | UploadEvent;

export const DOCUMENT_STREAM_PREFIX = 'document-';
export const documentStream = (requestId: string): string => `${DOCUMENT_STREAM_PREFIX}${requestId}`;
export const requestIdOfStream = (stream: string): string => stream.slice(DOCUMENT_STREAM_PREFIX.length);
