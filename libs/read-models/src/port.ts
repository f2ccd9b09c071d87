import type {
  DocumentOutcome,
  FailureCause,
  GroupKind,
  InboundChannel,
  InboundDirection,
  InboundOutcome,
} from '#domain';
import type {
  accountHold,
  afterHold,
  documentDetail,
  documentSummary,
  outcomeCounts,
} from './document-outcomes/shape.js';
import type { groupDetail, groupMember, groupSummary } from './groups/shape.js';
import type { inboundDetail, inboundSummary, notification } from './inbound-documents/shape.js';
import type { DocumentPhase, GroupPhase, InboundPhase } from './phases.js';
import type { movement, packHistory } from './sgtin-history/shape.js';
import type { Shown } from './shapes.js';

/** One row of the document list (read model `document-outcomes`). */
export type DocumentSummary = Shown<typeof documentSummary>;
export type DocumentDetail = Shown<typeof documentDetail>;
/** An earlier document that a waiting one is held for, as the ERP named it in `after`. */
export type WaitedFor = DocumentSummary['waitingFor'][number];
/** What keeps a document or a group from being sent because it comes after others. */
export type HoldShown = Shown<typeof afterHold>;
/** What keeps a document from being sent while its account is paused. */
export type AccountHold = Shown<typeof accountHold>;
/** One line of a document's life; what the registry or a person claims about the moment is in `data`. */
export type TimelineEntry = DocumentDetail['timeline'][number];
/** One row of the list of groups (read model `groups`). */
export type GroupSummary = Shown<typeof groupSummary>;
export type GroupMember = Shown<typeof groupMember>;
export type GroupDetail = Shown<typeof groupDetail>;
/** One row of the list of documents of others (read model `inbound-documents`). */
export type InboundSummary = Shown<typeof inboundSummary>;
export type InboundDetail = Shown<typeof inboundDetail>;
/** A document of another participant that belongs to one of ours. */
export type Notification = Shown<typeof notification>;
/** One movement in a pack's life (read model `sgtin-history`). */
export type Movement = Shown<typeof movement>;
export type SgtinHistory = Shown<typeof packHistory>;
export type OutcomeCounts = Shown<typeof outcomeCounts>;

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

export interface HistoryQuery {
  /** As known at this log position (default: now). */
  knownAt?: bigint;
  /** As of this moment of acceptance (default: all). */
  asOf?: Date;
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
