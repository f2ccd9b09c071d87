import type { DeadlineChannel, InboundOutcome } from '#domain';
import type { Sha256 } from '#kernel';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/**
 * `own`: a document of ours. `incoming`: told to us. `adopted`: in our name past this system. `recognised`: it turned
 * out to be one of ours, and counts as that one alone.
 */
export type TimingKind = 'own' | 'incoming' | 'adopted' | 'recognised';

/** The moments of a document, ours or not: what deadlines are judged by. */
@Entity('document_timing')
export class DocumentTimingRow {
  @column('text', { primary: true }) stream!: string;
  /** Log position of its registration, or of the moment at which a list showed it. */
  @column('bigint', { update: false }) firstPosition!: bigint;
  @column('bigint') position!: bigint;
  @column('text') kind!: TimingKind;
  /** The request_id of a document of ours, else the registry's id. */
  @column('text', { update: false }) id!: string;
  @column('text', { update: false }) account!: string;
  @column('text', { update: false }) channel!: DeadlineChannel;
  @column('integer', { nullable: true }) docType!: number | null;
  @column('text', { nullable: true }) docNum!: string | null;
  @column('text', { nullable: true, update: false }) commandId!: string | null;
  @column('text', { nullable: true, update: false }) reference!: string | null;
  @column('text', { nullable: true }) operationDate!: string | null;
  /** Null where what the document claims is not an instant. */
  @column('timestamptz', { nullable: true }) operationAt!: Date | null;
  /** When its command was registered, or a list showed it. */
  @column('timestamptz', { update: false }) knownAt!: Date;
  /** The order of the report: the claimed moment, else when it was known. */
  @column('timestamptz') dayAt!: Date;
  /** When the registry took it, as far as we know. */
  @column('timestamptz', { nullable: true }) sentAt!: Date | null;
  @column('timestamptz', { nullable: true }) acceptedAt!: Date | null;
  @column('text', { nullable: true }) outcome!: InboundOutcome | null;
  /** The document of ours that was sent in its place. */
  @column('text', { nullable: true }) replacedBy!: string | null;
  @column('text', { nullable: true }) documentSha256!: Sha256 | null;
}

export const DOCUMENT_TIMING = new Table(DocumentTimingRow);
