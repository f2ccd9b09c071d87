import type { InboundChannel, InboundDirection, InboundOutcome, LinkedBy, RegistryStatus } from '#domain';
import type { Sha256 } from '#kernel';
import type { InboundPhase } from '../port.js';

/** One row of `inbound_document`, as the fold makes it and the table keeps it. */
export interface InboundDocumentRow {
  documentId: string;
  /** Log position at which it was first seen: the order of the list. */
  seenPosition: bigint;
  position: bigint;
  direction: InboundDirection;
  channel: InboundChannel;
  account: string;
  requestId: string | null;
  docType: number | null;
  docNum: string | null;
  sender: string | null;
  receiver: string | null;
  subjectId: string | null;
  counterpartyId: string | null;
  operationDate: string | null;
  itemCount: number | null;
  phase: InboundPhase;
  status: RegistryStatus;
  outcome: InboundOutcome | null;
  problem: string | null;
  errorCount: number;
  documentSha256: Sha256 | null;
  receiptSha256: Sha256 | null;
  linkedRequestId: string | null;
  linkedBy: LinkedBy | null;
  sharedItems: number | null;
  seenAt: Date;
  receivedAt: Date | null;
  acceptedAt: Date | null;
  concludedAt: Date | null;
}

/** Every column with its SQL type. */
export const COLUMNS: { name: string; property: keyof InboundDocumentRow; type: string }[] = [
  { name: 'document_id', property: 'documentId', type: 'text' },
  { name: 'seen_position', property: 'seenPosition', type: 'bigint' },
  { name: 'position', property: 'position', type: 'bigint' },
  { name: 'direction', property: 'direction', type: 'text' },
  { name: 'channel', property: 'channel', type: 'text' },
  { name: 'account', property: 'account', type: 'text' },
  { name: 'request_id', property: 'requestId', type: 'text' },
  { name: 'doc_type', property: 'docType', type: 'integer' },
  { name: 'doc_num', property: 'docNum', type: 'text' },
  { name: 'sender', property: 'sender', type: 'text' },
  { name: 'receiver', property: 'receiver', type: 'text' },
  { name: 'subject_id', property: 'subjectId', type: 'text' },
  { name: 'counterparty_id', property: 'counterpartyId', type: 'text' },
  { name: 'operation_date', property: 'operationDate', type: 'text' },
  { name: 'item_count', property: 'itemCount', type: 'integer' },
  { name: 'phase', property: 'phase', type: 'text' },
  { name: 'status', property: 'status', type: 'text' },
  { name: 'outcome', property: 'outcome', type: 'text' },
  { name: 'problem', property: 'problem', type: 'text' },
  { name: 'error_count', property: 'errorCount', type: 'integer' },
  { name: 'document_sha256', property: 'documentSha256', type: 'text' },
  { name: 'receipt_sha256', property: 'receiptSha256', type: 'text' },
  { name: 'linked_request_id', property: 'linkedRequestId', type: 'text' },
  { name: 'linked_by', property: 'linkedBy', type: 'text' },
  { name: 'shared_items', property: 'sharedItems', type: 'integer' },
  { name: 'seen_at', property: 'seenAt', type: 'timestamptz' },
  { name: 'received_at', property: 'receivedAt', type: 'timestamptz' },
  { name: 'accepted_at', property: 'acceptedAt', type: 'timestamptz' },
  { name: 'concluded_at', property: 'concludedAt', type: 'timestamptz' },
];

/** For SELECT: each column under the row's own name. */
export const SELECTED = COLUMNS.map(({ name, property }) => `${name} AS "${property}"`).join(', ');
