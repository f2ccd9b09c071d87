import type { CaseCause, CasePhase, CaseRun, CaseSeverity, KnownCase } from '#domain';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** How a case stands, as the fold makes it and the table keeps it. */
@Entity('reconciliation_case')
export class CaseRow {
  @column('text', { primary: true }) caseId!: string;
  /** Log position of its opening: the order of the list. */
  @column('bigint', { update: false }) openedPosition!: bigint;
  /** Log position and version of the newest event in this row. */
  @column('bigint') position!: bigint;
  @column('integer') version!: number;
  @column('text', { update: false }) code!: string;
  @column('text') severity!: CaseSeverity;
  @column('text') phase!: CasePhase;
  @column('text', { update: false }) causeKind!: CaseCause['kind'];
  @column('text', { nullable: true, update: false }) document!: string | null;
  @column('text', { nullable: true, update: false }) container!: string | null;
  @column('text', { nullable: true, update: false }) gtin!: string | null;
  @column('text', { nullable: true, update: false }) series!: string | null;
  @column('text', { nullable: true, update: false }) place!: string | null;
  /** The case out of which a person took it. */
  @column('text', { nullable: true, update: false }) partOf!: string | null;
  @column('text', { nullable: true }) assignee!: string | null;
  /** Moments of the runs. */
  @column('timestamptz', { update: false }) firstSeenAt!: Date;
  @column('timestamptz') lastSeenAt!: Date;
  @column('text') runKind!: CaseRun['kind'];
  @column('text') lastRun!: string;
  /** Moment of the last run of packs that told it, and the runs in whose files its items are, that one first. */
  @column('timestamptz', { nullable: true }) packsSeenAt!: Date | null;
  @column('jsonb') packsRuns!: string[];
  /** Moment of the last run of documents that told it. */
  @column('timestamptz', { nullable: true }) documentsSeenAt!: Date | null;
  @column('integer') runsSeen!: number;
  @column('integer') itemCount!: number;
  @column('timestamptz') dueAt!: Date;
  @column('timestamptz', { nullable: true }) resolvedAt!: Date | null;
  /** The document that was sent for it and has not ended. */
  @column('text', { nullable: true }) remedyRequestId!: string | null;
  @column('jsonb') state!: KnownCase;
}

export const RECONCILIATION_CASE = new Table(CaseRow);
