import type { DocumentOutcome, DocumentReference, FailureCause, RegistryStatus } from '#domain';
import type { Sha256 } from '#kernel';
import { EntitySchema } from 'typeorm';
import type { DocumentPhase } from '../port.js';
import type { HeldFor } from '../groups/row.js';

/** One row of `document_outcome`, as the fold makes it and the table keeps it. */
export interface DocumentOutcomeRow {
  requestId: string;
  /** Log position of the registration: the order of the list. */
  registeredPosition: bigint;
  /** Log position of the newest event in this row. */
  position: bigint;
  commandId: string;
  reference: string | null;
  account: string;
  docType: number;
  docNum: string | null;
  subjectId: string;
  counterpartyId: string | null;
  operationDate: string;
  itemCount: number;
  phase: DocumentPhase;
  waitingFor: DocumentReference[];
  /** Predecessors that ended badly. */
  heldFor: HeldFor[];
  attempts: number;
  documentId: string | null;
  status: RegistryStatus | null;
  outcome: DocumentOutcome | null;
  cause: FailureCause | null;
  /** Why the last send did not go through, or which predecessor stopped it; null once the registry has it. */
  problem: string | null;
  /** The receipt's comment. */
  comment: string | null;
  errorCount: number;
  documentSha256: Sha256;
  receiptSha256: Sha256 | null;
  duplicate: boolean;
  groupId: string | null;
  groupIndex: number | null;
  groupSize: number | null;
  supersededBy: string | null;
  /** Which document it was sent in place of, and which in place of it, by an operator. */
  resendOf: string | null;
  resentAs: string | null;
  registeredAt: Date;
  acceptedAt: Date | null;
  concludedAt: Date | null;
}

/** How the table is read through TypeORM. The .sql migrations alone make it; `synchronize` is never on. */
export const DocumentOutcomeEntity = new EntitySchema<DocumentOutcomeRow>({
  name: 'DocumentOutcome',
  tableName: 'document_outcome',
  columns: {
    requestId: { name: 'request_id', type: 'text', primary: true },
    registeredPosition: { name: 'registered_position', type: 'bigint' },
    position: { type: 'bigint' },
    commandId: { name: 'command_id', type: 'text' },
    reference: { type: 'text', nullable: true },
    account: { type: 'text' },
    docType: { name: 'doc_type', type: 'integer' },
    docNum: { name: 'doc_num', type: 'text', nullable: true },
    subjectId: { name: 'subject_id', type: 'text' },
    counterpartyId: { name: 'counterparty_id', type: 'text', nullable: true },
    operationDate: { name: 'operation_date', type: 'text' },
    itemCount: { name: 'item_count', type: 'integer' },
    phase: { type: 'text' },
    waitingFor: { name: 'waiting_for', type: 'jsonb' },
    heldFor: { name: 'held_for', type: 'jsonb' },
    attempts: { type: 'integer' },
    documentId: { name: 'document_id', type: 'text', nullable: true },
    status: { type: 'text', nullable: true },
    outcome: { type: 'text', nullable: true },
    cause: { type: 'text', nullable: true },
    problem: { type: 'text', nullable: true },
    comment: { type: 'text', nullable: true },
    errorCount: { name: 'error_count', type: 'integer' },
    documentSha256: { name: 'document_sha256', type: 'text' },
    receiptSha256: { name: 'receipt_sha256', type: 'text', nullable: true },
    duplicate: { type: 'boolean' },
    groupId: { name: 'group_id', type: 'text', nullable: true },
    groupIndex: { name: 'group_index', type: 'integer', nullable: true },
    groupSize: { name: 'group_size', type: 'integer', nullable: true },
    supersededBy: { name: 'superseded_by', type: 'text', nullable: true },
    resendOf: { name: 'resend_of', type: 'text', nullable: true },
    resentAs: { name: 'resent_as', type: 'text', nullable: true },
    registeredAt: { name: 'registered_at', type: 'timestamptz' },
    acceptedAt: { name: 'accepted_at', type: 'timestamptz', nullable: true },
    concludedAt: { name: 'concluded_at', type: 'timestamptz', nullable: true },
  },
});

/**
 * A document without an outcome, in `document_open`: what the list is read by where a phase is asked for. Queries join
 * it by its name.
 */
export interface DocumentOpenRow {
  registeredPosition: bigint;
  registeredAt: Date;
  phase: DocumentPhase;
}

export const DocumentOpenEntity = new EntitySchema<DocumentOpenRow>({
  name: 'DocumentOpen',
  tableName: 'document_open',
  columns: {
    registeredPosition: { name: 'registered_position', type: 'bigint', primary: true },
    registeredAt: { name: 'registered_at', type: 'timestamptz' },
    phase: { type: 'text' },
  },
});
