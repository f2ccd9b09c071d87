import type { Sscc } from '#kernel';
import type { StatusKind } from '../profile.js';

export type OperationResult = 'Accepted' | 'Partial' | 'Rejected';

/** One row of a receipt's errors (public-facts 2.3). */
export interface ReceiptError {
  code: string;
  text: string;
  /** SGTIN or SSCC; absent when the whole document is at fault. */
  objectId?: string;
}

/** What became of a document: a receipt, or none after a critical error. */
export type Verdict =
  | { kind: 'receipt'; result: OperationResult; comment: string; errors: ReceiptError[] }
  | { kind: 'critical'; reason: string };

export interface DocumentItem {
  kind: 'sgtin' | 'sscc';
  id: string;
  /** `a/b` when only a part of the pack is meant. */
  part?: string;
}

/** What the sandbox reads out of a document. */
export interface DocumentContent {
  docType: number;
  element: string;
  version: string;
  /** Leaves directly under the action element, by name; the first of each. */
  fields: Map<string, string>;
  /** SSCCs directly under the action element (911, 912, 914). */
  ssccs: Sscc[];
  items: DocumentItem[];
}

/** A document as the registry keeps it. Times ending in `VirtualMs` are of the virtual clock, in `RealMs` of the monotonic one. */
export interface RegistryDocument {
  seq: number;
  documentId: string;
  requestId: string;
  /** Account that sent it; absent on what a simulated participant sent. */
  account: string | undefined;
  /** Keys of participants. */
  sender: string;
  receiver: string | undefined;
  acceptedVirtualMs: number;
  dueVirtualMs: number;
  /** When the send's answer went out. */
  answeredRealMs: number;
  bulk: boolean;
  /** The same bytes were accepted before. */
  repeatsBytes: boolean;
  /** Until then, after it is processed, it shows FAILED (a fault that a test ordered). */
  maskForMs: number;
  /** For so long after the final status the receipt is not there yet (a fault that a test ordered). */
  lateReceiptForMs: number;
  status: StatusKind;
  /** Real moment of the last change of status, once it is final. */
  changedRealMs: number | undefined;
  verdict: Verdict | undefined;
  docType: number | undefined;
  docNum: string | undefined;
  subject: string | undefined;
  counterparty: string | undefined;
  version: string | undefined;
  /** How many sends carried this request_id, refused repeats included. */
  sends: number;
  /** The bytes, until they are processed; then they are read back from the journal. */
  xml: Buffer | undefined;
  journalAt: { offset: number; length: number };
}

export const isFinal = (document: RegistryDocument): boolean => document.status !== 'uploading' && document.status !== 'processing';

type Origin = Pick<RegistryDocument, 'seq' | 'documentId' | 'requestId' | 'sender' | 'acceptedVirtualMs' | 'dueVirtualMs' | 'answeredRealMs' | 'journalAt'>;

/** A document that was just taken. Every field is there from the start, so that all documents have one shape. */
export const newDocument = (origin: Origin): RegistryDocument => ({
  ...origin,
  account: undefined,
  receiver: undefined,
  bulk: false,
  repeatsBytes: false,
  maskForMs: 0,
  lateReceiptForMs: 0,
  status: 'uploading',
  changedRealMs: undefined,
  verdict: undefined,
  docType: undefined,
  docNum: undefined,
  subject: undefined,
  counterparty: undefined,
  version: undefined,
  sends: 1,
  xml: undefined,
});
