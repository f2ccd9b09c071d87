import type { FailureCause, InboundChannel, InboundOutcome } from '#domain';
import type { ItemEffect } from '#documents';
import type { Sha256 } from '#kernel';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** Under which id the registry took a document that went out in our name. */
@Entity('sent_document')
export class SentDocumentRow {
  @column('text', { primary: true }) requestId!: string;
  @column('text') documentId!: string;
}

export const SENT_DOCUMENT = new Table(SentDocumentRow);

/** How we know of what we did not send: a document by its way, or an answer of the registry about a container. */
export type MovementChannel = InboundChannel | 'registry_answer';

const OF_OTHERS: readonly MovementChannel[] = ['counterparty', 'registry_answer'];
/** Whether it went out in our name: through this system, which is no channel, or past it. */
export const isInOurName = (channel: MovementChannel | null | undefined): boolean =>
  typeof channel !== 'string' || !OF_OTHERS.includes(channel);
/** The same in SQL, by a column. */
export const inOurName = (channel: string): string =>
  `coalesce(${channel} NOT IN (${OF_OTHERS.map((one) => `'${one}'`).join(', ')}), true)`;
export const IN_OUR_NAME = inOurName('channel');

/** A conclusion of a document; its items refer to it by `knownFrom`. Instants are written as the evidence has them. */
@Entity('movement_document')
export class MovementDocument {
  @column('bigint', { primary: true }) knownFrom!: bigint;
  /** Set once, by a revision, or where it turned out to be a document of ours. */
  @column('bigint', { nullable: true, insert: false }) knownTo?: bigint | null;
  /** When the latter was recorded; the row of a revision tells it of itself. */
  @column('timestamptz', { nullable: true, insert: false }) closedAt?: Date | null;
  /** Empty for a document of others whose sender's id is not known. */
  @column('text') requestId!: string;
  @column('integer') docType!: number;
  @column('text') outcome!: InboundOutcome;
  @column('text', { nullable: true }) cause: FailureCause | undefined;
  @column('text') subjectId!: string;
  @column('text', { nullable: true }) counterpartyId: string | undefined;
  @column('text') operationDate!: string;
  @column('timestamptz', { nullable: true }) operationAt: string | undefined;
  @column('timestamptz', { nullable: true }) acceptedAt: string | undefined;
  @column('timestamptz') orderedAt!: string;
  @column('text') documentSha256!: Sha256;
  @column('text', { nullable: true }) receiptSha256: Sha256 | undefined;
  /**
   * For a document of others: the registry's id, and the way by which it came. Of an answer of the registry about a
   * container: the document by which that came to us.
   */
  @column('text', { nullable: true }) documentId: string | undefined;
  @column('text', { nullable: true }) channel: MovementChannel | undefined;
  /** The operation that it recalls (250), as it names it. */
  @column('text', { nullable: true }) recalls: string | undefined;
  /** Rows that it has in `item_movement`. */
  @column('integer') items!: number;
  /** When its event was recorded; unknown for rows of an earlier version whose log lies on a server. */
  @column('timestamptz', { nullable: true }) recordedAt: Date | undefined;
}

export const MOVEMENT_DOCUMENT = new Table(MovementDocument);

/** What a document did to all its items with this effect. */
@Entity('movement_effect')
export class MovementEffectRow {
  @column('bigint', { primary: true }) knownFrom!: bigint;
  @column('integer', { primary: true }) effect!: number;
  @column('text') result!: ItemEffect['result'];
  @column('text', { nullable: true }) status: string | undefined;
  @column('text', { nullable: true }) place: string | undefined;
  @column('text', { nullable: true }) errorCode: string | undefined;
  @column('text', { nullable: true }) errorText: string | undefined;
  @column('text', { nullable: true }) containment: 'packed' | 'taken_out' | 'opened' | 'opened_all' | undefined;
  @column('text', { nullable: true }) container: string | undefined;
  /** The earlier document or receipt that it corrects, as it names it. */
  @column('text', { nullable: true }) corrects: string | undefined;
  /** Whose the item then is, and who answers for it: a place or system id, empty for nobody that is known. */
  @column('text', { nullable: true }) owner: string | undefined;
  @column('text', { nullable: true }) holder: string | undefined;
  /** How much of the pack is meant, a/b. */
  @column('text', { nullable: true }) part: string | undefined;
  @column('text', { nullable: true }) series: string | undefined;
  /** As written, DD.MM.YYYY. */
  @column('text', { nullable: true }) expiry: string | undefined;
  @column('text', { nullable: true }) funding: string | undefined;
  /** Of a container: JSON, a list of GTIN and series. */
  @column('text', { nullable: true }) lots: string | undefined;
}

export const MOVEMENT_EFFECT = new Table(MovementEffectRow);

/** One item of one document; `ordinal` tells apart an item that the document names twice. */
@Entity('item_movement')
export class ItemMovementRow {
  @column('bigint', { primary: true }) knownFrom!: bigint;
  @column('integer') effect!: number;
  @column('smallint', { primary: true }) ordinal!: number;
  @column('text', { primary: true }) item!: string;
}

export const ITEM_MOVEMENT = new Table(ItemMovementRow);

/** The packing of an item into a container. */
@Entity('containment')
export class ContainmentRow {
  @column('bigint', { primary: true }) knownFrom!: bigint;
  @column('smallint', { primary: true }) ordinal!: number;
  @column('text', { primary: true }) child!: string;
  @column('text') parent!: string;
}

export const CONTAINMENT = new Table(ContainmentRow);
