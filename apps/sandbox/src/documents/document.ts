import type { Sscc } from '#kernel';
import type { StatusKind } from '../profile.js';

type OperationResult = 'Accepted' | 'Partial' | 'Rejected';

/** One row of a receipt's errors (public-facts 2.3). */
export interface ReceiptError {
  code: string;
  text: string;
  /** SGTIN or SSCC; absent when the whole document is at fault. */
  objectId?: string;
}

/** What became of a document: a receipt, or none after a critical error. */
export type Verdict =
  | {
      kind: 'receipt';
      result: OperationResult;
      comment: string;
      errors: ReceiptError[];
      /** Items that were not carried out although no error names them: a pack inside is named, or nothing. */
      notDone?: string[];
      /** What a query is answered with, instead of a receipt (public-facts 2.4). */
      answer?: string;
    }
  | { kind: 'critical'; reason: string };

/** Ids of everything that the document did not do. */
export const undoneBy = (verdict: Verdict | undefined): Set<string> =>
  new Set(
    verdict?.kind === 'receipt'
      ? [...verdict.errors.flatMap((error) => error.objectId ?? []), ...(verdict.notDone ?? [])]
      : [],
  );

export interface DocumentItem {
  kind: 'sgtin' | 'sscc';
  id: string;
  /** `a/b` when only a part of the pack is meant. */
  part?: string;
}

/** A row that is about a unit or till receipt of its own: `detail` of 915 and 916, `receipt` of what tills send. */
export interface DocumentRow {
  /** Leaves directly under the row, by name. */
  fields: Map<string, string>;
  items: DocumentItem[];
}

/** What the sandbox reads out of a document. */
export interface DocumentContent {
  docType: number;
  element: string;
  version: string;
  /**
   * Leaves directly under the action element, by name, the first of each; those of `details`, `receiver_info`,
   * `shipper_info` and `series_details` as `details/doc_num`.
   */
  fields: Map<string, string>;
  /** What `device_info` says of the device that made the document. */
  device?: Record<string, string> | undefined;
  /** SSCCs directly under the action element (911, 912, 914). */
  ssccs: Sscc[];
  items: DocumentItem[];
  rows: DocumentRow[];
  /** Whom a 212 names: system ids and INNs. */
  partners: string[];
}

/**
 * A document as the registry keeps it. Times ending in `VirtualMs` are of the virtual clock, in `RealMs` of the
 * monotonic one.
 */
export interface RegistryDocument {
  seq: number;
  documentId: string;
  requestId: string;
  /** Account that sent it; absent on what a simulated participant sent or what came past the API. */
  account: string | undefined;
  /** Key of a participant. */
  sender: string;
  /** Key of the participant to whom it came, on incoming documents only. */
  receiver: string | undefined;
  /** By which channel it came (file_uploadtype, public-facts 1.2). */
  uploadType: number;
  acceptedVirtualMs: number;
  dueVirtualMs: number;
  /** When the send's answer went out. */
  answeredRealMs: number;
  bulk: boolean;
  /** What it waits for before it is worked on: the end of its upload, the start of its group, the members before it. */
  waits: 'upload' | 'group_start' | 'group_turn' | undefined;
  /** It shows as processing, and not as uploading, until its group is started (config.ts, groupStatuses). */
  waitsInWork: boolean;
  /** Before this moment no group with it can be started (misbehaviour). */
  readyFromVirtualMs: number;
  /** The group that it was started in. */
  group: string | undefined;
  /** The sender took it back before it was worked on. */
  cancelled: boolean;
  /** The document that this notification tells about. */
  noticeOf: RegistryDocument | undefined;
  /** Whether its receiver has fetched it. */
  isRead: boolean;
  /** Whether its receipt was asked for since the sandbox began. */
  receiptRequested: boolean;
  /**
   * The same bytes were accepted before; those of a member of a group count from its turn on, for before that they are
   * not processed.
   */
  repeatsBytes: boolean;
  /** Sender and digest. */
  bytesKey: string;
  /** Until then, after it is processed, it shows FAILED (a fault that a test ordered). */
  maskForMs: number;
  /** Until then, after it is processed, its receipt says that the answer could not be prepared (misbehaviour). */
  transientForMs: number;
  /** One of the two is in force. */
  masked: boolean;
  /** Before this moment it is not found (misbehaviour). */
  hiddenUntilVirtualMs: number;
  /** Before this moment no list shows it, though it is found by its ids (misbehaviour). */
  listedFromVirtualMs: number;
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
  /** Which device made the document, under the names of its metadata (public-facts 1.2); by way of a registrar. */
  device: Record<string, string> | undefined;
  /** How many sends carried this request_id, refused repeats included. */
  sends: number;
  /** The bytes, until they are processed; then they are read back from the journal. */
  xml: Buffer | undefined;
  journalAt: { offset: number; length: number };
}

/** Channels (public-facts 1.2): emission registrar, web cabinet, API, fiscal operator, disposal registrar. */
export const UPLOAD_TYPES = {
  emission_registrar: 0,
  cabinet: 1,
  api: 2,
  fiscal_operator: 3,
  disposal_registrar: 4,
} as const;
const UPLOADED_BY_API = UPLOAD_TYPES.api;

/** Whether it stands in lists of outgoing documents; the others are incoming. */
export const isOutgoing = (document: RegistryDocument): boolean => document.receiver === undefined;

export const isFinal = (document: RegistryDocument): boolean =>
  document.status !== 'uploading' && document.status !== 'processing';

type Origin = Pick<
  RegistryDocument,
  'seq' | 'documentId' | 'requestId' | 'sender' | 'acceptedVirtualMs' | 'dueVirtualMs' | 'answeredRealMs' | 'journalAt'
>;

/** A document that was just taken. Every field is there from the start, so that all documents have one shape. */
export const newDocument = (origin: Origin): RegistryDocument => ({
  ...origin,
  account: undefined,
  receiver: undefined,
  uploadType: UPLOADED_BY_API,
  waits: undefined,
  waitsInWork: false,
  readyFromVirtualMs: 0,
  group: undefined,
  cancelled: false,
  noticeOf: undefined,
  isRead: false,
  receiptRequested: false,
  bulk: false,
  repeatsBytes: false,
  bytesKey: '',
  maskForMs: 0,
  transientForMs: 0,
  masked: false,
  hiddenUntilVirtualMs: 0,
  listedFromVirtualMs: 0,
  lateReceiptForMs: 0,
  status: 'uploading',
  changedRealMs: undefined,
  verdict: undefined,
  docType: undefined,
  docNum: undefined,
  subject: undefined,
  counterparty: undefined,
  version: undefined,
  device: undefined,
  sends: 1,
  xml: undefined,
});
