import type { InboundChannel, InboundDirection, InboundOutcome, LinkedBy, RegistryStatus } from '#domain';
import type { Sha256 } from '#kernel';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';
import type { InboundPhase } from '../phases.js';

/** A document of others, as the fold makes it and the table keeps it. */
@Entity('inbound_document')
export class InboundDocumentRow {
  @column('text', { primary: true }) documentId!: string;
  /** Log position at which it was first seen: the order of the list. */
  @column('bigint') seenPosition!: bigint;
  @column('bigint') position!: bigint;
  @column('text') direction!: InboundDirection;
  @column('text') channel!: InboundChannel;
  @column('text') account!: string;
  @column('text', { nullable: true }) requestId!: string | null;
  @column('integer', { nullable: true }) docType!: number | null;
  @column('text', { nullable: true }) docNum!: string | null;
  @column('text', { nullable: true }) sender!: string | null;
  @column('text', { nullable: true }) receiver!: string | null;
  @column('text', { nullable: true }) subjectId!: string | null;
  @column('text', { nullable: true }) counterpartyId!: string | null;
  @column('text', { nullable: true }) operationDate!: string | null;
  @column('integer', { nullable: true }) itemCount!: number | null;
  @column('text') phase!: InboundPhase;
  @column('text') status!: RegistryStatus;
  @column('text', { nullable: true }) outcome!: InboundOutcome | null;
  /** Why its bytes cannot be had or read. */
  @column('text', { nullable: true }) problem!: string | null;
  /** Why its receipt cannot be had or read. */
  @column('text', { nullable: true }) receiptProblem!: string | null;
  @column('integer') errorCount!: number;
  @column('text', { nullable: true }) documentSha256!: Sha256 | null;
  @column('text', { nullable: true }) receiptSha256!: Sha256 | null;
  @column('text', { nullable: true }) linkedRequestId!: string | null;
  @column('text', { nullable: true }) linkedBy!: LinkedBy | null;
  @column('integer', { nullable: true }) sharedItems!: number | null;
  @column('timestamptz') seenAt!: Date;
  @column('timestamptz', { nullable: true }) receivedAt!: Date | null;
  @column('timestamptz', { nullable: true }) acceptedAt!: Date | null;
  @column('timestamptz', { nullable: true }) concludedAt!: Date | null;
}

export const INBOUND_DOCUMENT = new Table(InboundDocumentRow);
