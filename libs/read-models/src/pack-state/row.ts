import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** An item right after the last document that named it. */
@Entity('pack_state')
export class PackStateRow {
  @column('text', { primary: true }) item!: string;
  /** The registry's acceptance of that document, in microseconds since 1970, and its log position. */
  @column('bigint') atMicros!: bigint;
  @column('bigint') position!: bigint;
  /** Log position of the first document that moved it, or a container that held it. */
  @column('bigint') firstFrom!: bigint;
  /** Log positions of the documents that told the status and the place, and of the last one that left parts open. */
  @column('bigint', { nullable: true }) statusFrom!: bigint | null;
  @column('bigint', { nullable: true }) placeFrom!: bigint | null;
  @column('bigint', { nullable: true }) doubtFrom!: bigint | null;
  /** What is open, as the bits of `doubtful-parts.ts`; NULL where nothing is, and then `doubtFrom` is, too. */
  @column('smallint', { nullable: true }) doubts!: number | null;
  @column('boolean') suspended!: boolean;
  /** The document since which it has been suspended. */
  @column('bigint', { nullable: true }) suspendedFrom!: bigint | null;
  @column('text', { nullable: true }) status!: string | null;
  /** Empty where it has left all places that are known. */
  @column('text', { nullable: true }) place!: string | null;
  /** The transfer under way (`transfer.ts`). */
  @column('text', { nullable: true }) transfer!: string | null;
  /** The production batch and the last day of use, and the document that told them last. */
  @column('text', { nullable: true }) series!: string | null;
  @column('date', { nullable: true }) expiresOn!: string | null;
  @column('bigint', { nullable: true }) seriesFrom!: bigint | null;
  /** It was in this container then; `PackStayRow` (container, position) says what followed. */
  @column('text', { nullable: true }) container!: string | null;
}

export const PACK_STATE = new Table(PackStateRow);

/** What movements of a container did, since `position`, to what was in it then. */
@Entity('pack_stay')
export class PackStayRow {
  @column('text', { primary: true }) container!: string;
  @column('bigint', { primary: true }) position!: bigint;
  @column('bigint') atMicros!: bigint;
  /** The last of these movements. */
  @column('bigint', { nullable: true }) movedFrom!: bigint | null;
  @column('bigint', { nullable: true }) statusFrom!: bigint | null;
  @column('bigint', { nullable: true }) placeFrom!: bigint | null;
  @column('bigint', { nullable: true }) doubtFrom!: bigint | null;
  /** What they have left open, and all that they have told meanwhile, in the bits of a pack's row; NULL for nothing. */
  @column('smallint', { nullable: true }) doubts!: number | null;
  @column('smallint', { nullable: true }) told!: number | null;
  /** Since which of them what was not suspended before has been; and what was, where it stopped to be meanwhile. */
  @column('bigint', { nullable: true }) suspendedFrom!: bigint | null;
  @column('bigint', { nullable: true }) pausedFrom!: bigint | null;
  /** The opening that let out what was in it. */
  @column('bigint', { nullable: true }) endedMicros!: bigint | null;
  @column('bigint', { nullable: true }) endedPosition!: bigint | null;
  /** The status of what was not suspended before, and of what was. */
  @column('text', { nullable: true }) status!: string | null;
  @column('text', { nullable: true }) pausedStatus!: string | null;
  @column('text', { nullable: true }) place!: string | null;
  /** The transfer that they began and that is under way. */
  @column('text', { nullable: true }) transfer!: string | null;
}

export const PACK_STAY = new Table(PackStayRow);

/** A document that moved all that a place held. */
@Entity('place_move')
class PlaceMoveRow {
  @column('bigint', { primary: true }) position!: bigint;
  @column('text', { primary: true }) place!: string;
}

export const PLACE_MOVE = new Table(PlaceMoveRow);

/** What a document says of series and expiry. */
@Entity('series_told')
class SeriesToldRow {
  @column('bigint', { primary: true }) position!: bigint;
  @column('integer', { primary: true }) ordinal!: number;
  /** A pack, a container with what it holds, or empty: all that the document names. */
  @column('text') item!: string;
  /** Only packs of this product; empty: any. */
  @column('text') gtin!: string;
  @column('text', { nullable: true }) series!: string | null;
  @column('date', { nullable: true }) expiresOn!: string | null;
}

export const SERIES_TOLD = new Table(SeriesToldRow);
