import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** An outcome in the outbox: its body is a CloudEvent in JSON, given out byte for byte. */
@Entity('outcome_event')
export class OutcomeRow {
  /** Of the event that it tells of: its sequence, and the place in every cursor. */
  @column('bigint', { primary: true }) position!: bigint;
  @column('uuid', { update: false }) id!: string;
  @column('text', { update: false }) type!: string;
  /** Routing key on the bus. */
  @column('text', { update: false }) topic!: string;
  /** What keeps its order. */
  @column('text', { update: false }) subject!: string;
  @column('text', { update: false }) body!: string;
  @column('timestamptz', { update: false }) recordedAt!: Date;
}

export const OUTCOME = new Table(OutcomeRow);

/** Up to which position old outcomes were removed, in one row. */
@Entity('outcome_removed')
class OutcomeRemovedRow {
  @column('boolean', { primary: true, insert: false }) single!: boolean;
  @column('bigint') upTo!: bigint;
}

export const OUTCOME_REMOVED = new Table(OutcomeRemovedRow);
