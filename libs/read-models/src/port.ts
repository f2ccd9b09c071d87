import type {
  DocumentOutcome,
  DocumentReference,
  FailureCause,
  GroupKind,
  HaltCause,
  InboundChannel,
  InboundDirection,
  InboundOutcome,
  LinkedBy,
  RegistryStatus,
} from '#domain';
import type { Sha256 } from '#kernel';
import type { DocumentPhase, GroupPhase, InboundPhase } from './phases.js';

/** An earlier document that a waiting one is held for, as the ERP named it in `after`. */
export interface WaitedFor {
  commandId: string;
  requestId: string;
  /** False when no such command was received yet. */
  known: boolean;
}

/**
 * Something that keeps a document or a group from being sent. `after`: it comes after others; `outcome` is there when
 * one of them ended badly.
 */
export interface HoldShown {
  kind: 'after';
  /** ISO 8601. */
  since: string;
  for: { commandId: string; requestId: string; outcome?: DocumentOutcome }[];
  waivableBy: 'operator' | 'nobody';
}

/** One row of the document list (read model `document-outcomes`). */
export interface DocumentSummary {
  requestId: string;
  commandId: string;
  reference?: string;
  account: string;
  docType: number;
  docNum?: string;
  subjectId: string;
  counterpartyId?: string;
  operationDate: string;
  itemCount: number;
  phase: DocumentPhase;
  /** For phase waiting: what it is held for. */
  waitingFor: WaitedFor[];
  /** Everything that keeps it from being sent. */
  holds: HoldShown[];
  attempts: number;
  documentId?: string;
  status?: RegistryStatus;
  outcome?: DocumentOutcome;
  cause?: FailureCause;
  /** One plain sentence: what the state means, and for a failure what to do. */
  sentence: string;
  remedy?: string;
  errorCount: number;
  documentSha256: Sha256;
  receiptSha256?: Sha256;
  /** Set when more than one registry document carries the request_id. */
  duplicate: boolean;
  /** The group that it is a member of, its place there from 0, and how many members that has. */
  groupId?: string;
  groupIndex?: number;
  groupSize?: number;
  /** The document that stands in its place in a resumption of its group. */
  supersededBy?: string;
  /**
   * request_id of the document that it was sent in place of, and of the one that was sent in place of it, by an
   * operator.
   */
  resendOf?: string;
  resentAs?: string;
  registeredAt: string;
  acceptedAt?: string;
  concludedAt?: string;
  /** Log position of the newest event that is in this row. */
  position: string;
}

export interface DocumentListQuery {
  phase?: DocumentPhase;
  outcome?: DocumentOutcome;
  cause?: FailureCause;
  account?: string;
  docType?: number;
  reference?: string;
  requestId?: string;
  /** True: only those of which the registry holds more than one. */
  duplicate?: boolean;
  registeredFrom?: Date;
  registeredTo?: Date;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface Page<T> {
  items: T[];
  /** Absent on the last page. */
  nextCursor?: string;
}

/** One line of a document's life, straight from the log. */
export interface TimelineEntry {
  position: string;
  version: number;
  type: string;
  /** When it was recorded; what the registry or a person claims about the moment is in `data`. */
  at: string;
  actor: string;
  sentence: string;
  data: object;
  /** Digests that the event names: fetch them at /v1/evidence/{sha256}. */
  evidence: Sha256[];
}

/** What keeps a document from being sent while its account is paused. */
export interface AccountHold {
  kind: 'account';
  since: string;
  /** Cause and text. */
  for: string;
  waivableBy: 'operator';
}

/** Everything that keeps a document from being sent is one list. */
export type Hold = HoldShown | AccountHold;

export interface DocumentDetail extends Omit<DocumentSummary, 'holds'> {
  timeline: TimelineEntry[];
  /** What others told about it, the oldest first. */
  notifications: Notification[];
  /** Per item errors of the receipt. */
  errors: { code: string; text: string; objectId?: string }[];
  holds: Hold[];
}

/** One row of the list of groups (read model `groups`). */
export interface GroupSummary {
  groupId: string;
  commandId: string;
  reference?: string;
  account: string;
  kind: GroupKind;
  phase: GroupPhase;
  /** For phase waiting: what it is held for. */
  waitingFor: DocumentReference[];
  /** Everything that keeps it from being sent. */
  holds: HoldShown[];
  memberCount: number;
  /** Members that the registry has, and members that have ended. */
  sentCount: number;
  endedCount: number;
  itemCount: number;
  outcome?: DocumentOutcome;
  /** Why it stopped. */
  halt?: HaltCause;
  sentence: string;
  remedy?: string;
  /** The document that was split into it. */
  documentSha256?: Sha256;
  /** The group that it carries on, and the one that carries on what was left of it. */
  resumes?: string;
  resumedBy?: string;
  registeredAt: string;
  startedAt?: string;
  concludedAt?: string;
  position: string;
}

/** A document of another participant that belongs to one of ours. */
export interface Notification {
  documentId: string;
  docType?: number;
  title: string;
  sender?: string;
  /** How it was found to belong to it. */
  by: LinkedBy;
  sharedItems?: number;
  outcome?: InboundOutcome;
  acceptedAt?: string;
  seenAt: string;
}

/** One row of the list of documents of others (read model `inbound-documents`). */
export interface InboundSummary {
  documentId: string;
  direction: InboundDirection;
  channel: InboundChannel;
  account: string;
  title: string;
  phase: InboundPhase;
  status: RegistryStatus;
  sentence: string;
  requestId?: string;
  docType?: number;
  docNum?: string;
  sender?: string;
  receiver?: string;
  subjectId?: string;
  counterpartyId?: string;
  operationDate?: string;
  itemCount?: number;
  outcome?: InboundOutcome;
  /** Why its bytes or its receipt cannot be had or read. */
  problem?: string;
  errorCount: number;
  documentSha256?: Sha256;
  receiptSha256?: Sha256;
  /** The document of ours that it tells of. */
  belongsTo?: { requestId: string; by: LinkedBy; sharedItems?: number };
  seenAt: string;
  receivedAt?: string;
  acceptedAt?: string;
  concludedAt?: string;
  position: string;
}

export interface GroupMember {
  index: number;
  requestId: string;
  commandId: string;
  reference?: string;
  docType: number;
  itemCount: number;
  documentSha256: Sha256;
  phase: DocumentPhase;
  documentId?: string;
  outcome?: DocumentOutcome;
  cause?: FailureCause;
  /** The member of a halted group in whose place it stands, and the one that stands in its own. */
  supersedes?: string;
  supersededBy?: string;
}

export interface GroupDetail extends GroupSummary {
  members: GroupMember[];
  timeline: TimelineEntry[];
}

export interface GroupListQuery {
  phase?: GroupPhase;
  outcome?: DocumentOutcome;
  account?: string;
  kind?: GroupKind;
  /** True: only those that stopped. */
  halted?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface InboundDetail extends InboundSummary {
  timeline: TimelineEntry[];
  errors: DocumentDetail['errors'];
}

export interface InboundListQuery {
  direction?: InboundDirection;
  channel?: InboundChannel;
  phase?: InboundPhase;
  outcome?: InboundOutcome;
  account?: string;
  docType?: number;
  /** Only what belongs to this document of ours. */
  requestId?: string;
  /** True: only what belongs to a document of ours; false: only what does not. */
  linked?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

/** One movement in a pack's life (read model `sgtin-history`). */
export interface Movement {
  /** The pack itself, or the container that held it then. */
  item: string;
  through?: 'container';
  docType: number;
  title: string;
  /** Absent for a document of others whose sender's id is not known. */
  requestId?: string;
  documentId?: string;
  /** For a document that we did not send: by which way it came. */
  channel?: InboundChannel;
  result: 'applied' | 'refused' | 'undetermined';
  errorCode?: string;
  errorText?: string;
  /** Registry status that followed from it. */
  status?: string;
  subjectId: string;
  counterpartyId?: string;
  /** Claimed by the document. */
  operationDate: string;
  /** When the registry took it. */
  acceptedAt?: string;
  /** Log position at which we knew. */
  knownAt: string;
  documentSha256: Sha256;
  receiptSha256?: Sha256;
}

export interface SgtinHistory {
  sgtin: string;
  gtin: string;
  serial: string;
  /** Newest applied status known to us. */
  status?: string;
  place?: string;
  container?: string;
  movements: Movement[];
}

export interface HistoryQuery {
  /** As known at this log position (default: now). */
  knownAt?: bigint;
  /** As of this moment of acceptance (default: all). */
  asOf?: Date;
}

export interface OutcomeCounts {
  documents: number;
  accepted: number;
  partial: number;
  rejected: number;
  failed: number;
  unfinished: number;
}

/**
 * What the API, the console and the command line ask. Everything answers from read models and the log; nothing is
 * changed.
 */
export interface ReadModels {
  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>>;
  document(requestId: string): Promise<DocumentDetail | undefined>;
  outcomeCounts(): Promise<OutcomeCounts>;
  groups(query: GroupListQuery): Promise<Page<GroupSummary>>;
  group(groupId: string): Promise<GroupDetail | undefined>;
  /** Documents that we did not send: what others told us, and what went out in our name past this system. */
  inboundDocuments(query: InboundListQuery): Promise<Page<InboundSummary>>;
  inboundDocument(documentId: string): Promise<InboundDetail | undefined>;
  /**
   * History of one pack, its containers' movements included while they held it; `undefined` when we never heard of it.
   */
  sgtinHistory(sgtin: string, query?: HistoryQuery): Promise<SgtinHistory | undefined>;
}
