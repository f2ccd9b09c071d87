import type { Sha256 } from '#kernel';

/** How a document ended. `failed`: without a receipt that says otherwise; the cause tells why. */
export type DocumentOutcome = 'accepted' | 'partial' | 'rejected' | 'failed';

export type FailureCause = 'registry_failed' | 'send_refused' | 'predecessor_failed';

/** Canonical document statuses (interface 3.1). */
export type RegistryStatus = 'uploading' | 'processing' | 'processed' | 'failed_result_ready' | 'failed';

/** Another document of ours, as the ERP named it and as the registry will know it. */
export interface DocumentReference {
  commandId: string;
  requestId: string;
}

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
  };
}

/** Held until these have concluded accepted or partial. */
export interface DocumentWaiting {
  type: 'DocumentWaiting';
  data: { for: DocumentReference[] };
}

export interface PredecessorConcluded {
  type: 'PredecessorConcluded';
  data: { requestId: string; outcome: DocumentOutcome };
}

/** Nothing is waited for any more. */
export interface DocumentReleased {
  type: 'DocumentReleased';
  data: Record<string, never>;
}

/** Refused by us: what it was to come after did not succeed. */
export interface DocumentRefused {
  type: 'DocumentRefused';
  data: { predecessor: DocumentReference; predecessorOutcome: DocumentOutcome };
}

/**
 * The intent, recorded before the call: from here on the document may have reached the registry. Signature and certificate are absent for an
 * account that signs in by password: its documents go without a signature (interface section 5; auth_type PASSWORD).
 */
export interface SendAttempted {
  type: 'SendAttempted';
  data: { attempt: number; account: string; signatureSha256?: Sha256; certificateSha256?: Sha256 };
}

/** The registry took it. `foundByLookUp` when we learnt it afterwards, by request_id. */
export interface DocumentSent {
  type: 'DocumentSent';
  data: { attempt: number; documentId: string; answerSha256: Sha256; foundByLookUp: boolean };
}

/** The registry heard and said no; nothing was taken. */
export interface SendRefused {
  type: 'SendRefused';
  data: { attempt: number; code: string; text: string; answerSha256: Sha256 };
}

/** Surely not taken (429, or no connection): it may go again at `retryAfterMs` after this event. */
export interface SendNotDelivered {
  type: 'SendNotDelivered';
  data: { attempt: number; reason: string; retryAfterMs: number; answerSha256?: Sha256 };
}

/** Nobody knows whether it was taken. Looked up before anything else is done. */
export interface SendUnconfirmed {
  type: 'SendUnconfirmed';
  data: { attempt: number; reason: string; answerSha256?: Sha256 };
}

/** Asked by request_id and not found. */
export interface LookUpMissed {
  type: 'LookUpMissed';
  data: { attempt: number; lookUp: number; sinceAttemptEndedMs: number; answerSha256: Sha256 };
}

/** Two look-ups without a hit, the last after the grace: it did not arrive, and the same bytes may go again. */
export interface SendAbsenceProven {
  type: 'SendAbsenceProven';
  data: { attempt: number; lookUps: number; sinceAttemptEndedMs: number; answerSha256: Sha256 };
}

/** More than one document at the registry carries this request_id. An alarm. */
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
  data: { documentId: string; receiptSha256: Sha256; result: 'accepted' | 'partial' | 'rejected'; acceptedAt: string; errorCount: number; comment?: string };
}

/** The registry's copy of the document was fetched and kept. */
export interface DocumentDownloaded {
  type: 'DocumentDownloaded';
  data: { documentId: string; documentSha256: Sha256; sameBytes: boolean };
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

export type DocumentEvent =
  | DocumentRegistered
  | DocumentWaiting
  | PredecessorConcluded
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
  | DocumentConcluded
  | ConclusionRevised;

export const DOCUMENT_STREAM_PREFIX = 'document-';
export const documentStream = (requestId: string): string => `${DOCUMENT_STREAM_PREFIX}${requestId}`;
export const requestIdOfStream = (stream: string): string => stream.slice(DOCUMENT_STREAM_PREFIX.length);
