import type { DocumentOutcome, FailureCause, RegistryStatus } from '#domain';
import type { Sha256 } from '#kernel';
import { Entity } from '../entity.js';
import type { HeldFor, WaitingForRow } from './holds.js';
import type { DocumentPhase } from '../phases.js';
import { column, Table } from '../table.js';

/** What became of a document, as the fold makes it and the table keeps it. */
@Entity('document_outcome')
export class DocumentOutcomeRow {
  @column('text', { primary: true }) requestId!: string;
  /** Log position of the registration: the order of the list. */
  @column('bigint', { update: false }) registeredPosition!: bigint;
  /** Log position of the newest event in this row. */
  @column('bigint') position!: bigint;
  @column('text', { update: false }) commandId!: string;
  @column('text', { nullable: true, update: false }) reference!: string | null;
  @column('text', { update: false }) account!: string;
  @column('integer', { update: false }) docType!: number;
  @column('text', { nullable: true, update: false }) docNum!: string | null;
  @column('text', { update: false }) subjectId!: string;
  @column('text', { nullable: true, update: false }) counterpartyId!: string | null;
  @column('text', { update: false }) operationDate!: string;
  @column('integer', { update: false }) itemCount!: number;
  @column('text') phase!: DocumentPhase;
  @column('jsonb') waitingFor!: WaitingForRow[];
  /** Predecessors that ended badly. */
  @column('jsonb') heldFor!: HeldFor[];
  @column('integer') attempts!: number;
  @column('text', { nullable: true }) documentId!: string | null;
  @column('text', { nullable: true }) status!: RegistryStatus | null;
  @column('text', { nullable: true }) outcome!: DocumentOutcome | null;
  @column('text', { nullable: true }) cause!: FailureCause | null;
  /** Why the last send did not go through, or which predecessor stopped it; null once the registry has it. */
  @column('text', { nullable: true }) problem!: string | null;
  /** The receipt's comment. */
  @column('text', { nullable: true }) comment!: string | null;
  @column('integer') errorCount!: number;
  @column('text', { update: false }) documentSha256!: Sha256;
  @column('text', { nullable: true }) receiptSha256!: Sha256 | null;
  @column('boolean') duplicate!: boolean;
  @column('text', { nullable: true, update: false }) groupId!: string | null;
  @column('integer', { nullable: true, update: false }) groupIndex!: number | null;
  @column('integer', { nullable: true, update: false }) groupSize!: number | null;
  @column('text', { nullable: true }) supersededBy!: string | null;
  /** Which document it was sent in place of, and which in place of it, by an operator. */
  @column('text', { nullable: true, update: false }) resendOf!: string | null;
  @column('text', { nullable: true }) resentAs!: string | null;
  @column('timestamptz', { update: false }) registeredAt!: Date;
  @column('timestamptz', { nullable: true }) acceptedAt!: Date | null;
  @column('timestamptz', { nullable: true }) concludedAt!: Date | null;
}

export const DOCUMENT_OUTCOME = new Table(DocumentOutcomeRow);

/** A document without an outcome: what the list is read by where a phase is asked for. */
@Entity('document_open')
class DocumentOpenRow {
  @column('bigint', { primary: true }) registeredPosition!: bigint;
  @column('timestamptz', { update: false }) registeredAt!: Date;
  @column('text') phase!: DocumentPhase;
}

export const DOCUMENT_OPEN = new Table(DocumentOpenRow);

/** Documents in all and by outcome, in one row; what has no outcome yet is the rest. */
@Entity('document_outcome_count')
export class DocumentCountRow {
  @column('boolean', { primary: true, insert: false }) single!: boolean;
  @column('bigint') documents!: bigint;
  @column('bigint') accepted!: bigint;
  @column('bigint') partial!: bigint;
  @column('bigint') rejected!: bigint;
  @column('bigint') failed!: bigint;
}

export const DOCUMENT_COUNT = new Table(DocumentCountRow);
