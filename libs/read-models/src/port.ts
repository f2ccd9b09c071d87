import type { DocumentOutcome, FailureCause, RegistryStatus } from '#domain';
import type { Sha256 } from '#kernel';

/** Where a document stands, in the operator's words. */
export type DocumentPhase = 'waiting' | 'ready' | 'sending' | 'unconfirmed' | 'sent' | 'received' | 'concluded';

/** An earlier document that a waiting one is held for, as the ERP named it in `after`. */
export interface WaitedFor {
  commandId: string;
  requestId: string;
  /** False when no such command was received yet. */
  known: boolean;
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
  registeredAt: string;
  acceptedAt?: string;
  concludedAt?: string;
  /** Log position of the newest event that is in this row. */
  position: string;
}

export interface DocumentListQuery {
  phase?: DocumentPhase;
  outcome?: DocumentOutcome;
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

export interface DocumentDetail extends DocumentSummary {
  timeline: TimelineEntry[];
  /** Per item errors of the receipt. */
  errors: { code: string; text: string; objectId?: string }[];
}

/** One movement in a pack's life (read model `sgtin-history`). */
export interface Movement {
  /** The pack itself, or the container that held it then. */
  item: string;
  through?: 'container';
  docType: number;
  title: string;
  requestId: string;
  documentId?: string;
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

/** What the API, the console and the command line ask. Everything answers from read models and the log; nothing is changed. */
export interface ReadModels {
  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>>;
  document(requestId: string): Promise<DocumentDetail | undefined>;
  outcomeCounts(): Promise<OutcomeCounts>;
  /** History of one pack, its containers' movements included while they held it; `undefined` when we never heard of it. */
  sgtinHistory(sgtin: string, query?: HistoryQuery): Promise<SgtinHistory | undefined>;
}
