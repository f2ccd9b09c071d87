import type { DocumentOutcome, GroupKind, HaltCause } from '#domain';
import type { Sha256 } from '#kernel';
import { Entity } from '../entity.js';
import type { HeldFor, WaitingForRow } from '../document-outcomes/holds.js';
import { column, Table } from '../table.js';
import type { GroupPhase } from '../phases.js';

/** Where a group stands, as the fold makes it and the table keeps it. */
@Entity('document_group')
export class GroupRow {
  @column('text', { primary: true }) groupId!: string;
  /** Log position of the registration: the order of the list. */
  @column('bigint', { update: false }) registeredPosition!: bigint;
  /** Log position of the newest event in this row. */
  @column('bigint') position!: bigint;
  @column('text', { update: false }) commandId!: string;
  @column('text', { nullable: true, update: false }) reference!: string | null;
  @column('text', { update: false }) account!: string;
  @column('text', { update: false }) kind!: GroupKind;
  @column('text') phase!: GroupPhase;
  @column('jsonb') waitingFor!: WaitingForRow[];
  /** Predecessors that ended badly. */
  @column('jsonb') heldFor!: HeldFor[];
  @column('integer', { update: false }) memberCount!: number;
  @column('integer') sentCount!: number;
  @column('integer') endedCount!: number;
  @column('text', { nullable: true }) outcome!: DocumentOutcome | null;
  @column('text', { nullable: true }) halt!: HaltCause | null;
  /** Command and outcome of the member, or of the predecessor, that stopped it. */
  @column('text', { nullable: true }) stoppedBy!: string | null;
  /** The registry's words where it would not begin, or what is not known. */
  @column('text', { nullable: true }) problem!: string | null;
  /** The document that was split. */
  @column('text', { nullable: true, update: false }) documentSha256!: Sha256 | null;
  @column('integer', { update: false }) itemCount!: number;
  /** Ids of groups. */
  @column('text', { nullable: true, update: false }) resumes!: string | null;
  @column('text', { nullable: true }) resumedBy!: string | null;
  @column('timestamptz', { update: false }) registeredAt!: Date;
  @column('timestamptz', { nullable: true }) startedAt!: Date | null;
  @column('timestamptz', { nullable: true }) concludedAt!: Date | null;
}

export const DOCUMENT_GROUP = new Table(GroupRow);
