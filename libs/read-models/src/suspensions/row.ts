import type {
  KnownSuspension,
  ListDoubt,
  ProductSeries,
  RegistryList,
  SuspensionAction,
  SuspensionPhase,
  SuspensionSource,
} from '#domain';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** How a suspension stands. */
@Entity('suspension')
export class SuspensionRow {
  @column('text', { primary: true }) suspensionId!: string;
  /** Log position of its first event: the order of the list. */
  @column('bigint', { update: false }) openedPosition!: bigint;
  /** Log position of the newest event in this row. */
  @column('bigint') position!: bigint;
  @column('text', { update: false }) source!: SuspensionSource;
  @column('text') phase!: SuspensionPhase;
  /** What its newest version says. */
  @column('text') action!: SuspensionAction;
  @column('boolean') inForce!: boolean;
  @column('timestamptz') changedAt!: Date;
  @column('jsonb') state!: Omit<KnownSuspension, 'letters'>;
  /** Every series that it was ever matched with. */
  @column('jsonb') matched!: ProductSeries[];
}

/** A version of the registry's list, or of its list of decisions, that we held. */
@Entity('suspended_list')
export class SuspendedListRow {
  @column('bigint', { primary: true }) position!: bigint;
  @column('text', { update: false }) source!: RegistryList;
  @column('timestamptz', { update: false }) heldAt!: Date;
  @column('timestamptz', { update: false }) fetchedAt!: Date;
  @column('text', { update: false }) account!: string;
  @column('text', { update: false }) listSha256!: string;
  @column('text', { update: false }) inForceSha256!: string;
  @column('integer', { update: false }) series!: number;
  @column('integer', { update: false }) packs!: number;
  @column('integer', { update: false }) packsWithoutSeries!: number;
  @column('integer', { nullable: true, update: false }) decisions!: number | null;
  @column('integer', { nullable: true, update: false }) notUnderstood!: number | null;
  @column('integer', { nullable: true, update: false }) unnamed!: number | null;
  @column('integer', { update: false }) appeared!: number;
  @column('integer', { update: false }) vanished!: number;
  @column('integer', { update: false }) calls!: number;
  @column('text', { nullable: true, update: false }) doubt!: ListDoubt | null;
  @column('timestamptz', { nullable: true }) confirmedAt!: Date | null;
}

export const SUSPENSION = new Table(SuspensionRow);
export const SUSPENDED_LIST = new Table(SuspendedListRow);
