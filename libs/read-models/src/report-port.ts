import type { OverrideKind } from './access-log/override-kinds.js';
import type { overridesShape } from './access-log/shape.js';
import type {
  expiringPacksShape,
  mockRecallShape,
  overdueTransfersShape,
  SHELF_PARTS,
  tracedSeriesShape,
  TRANSFER_DIRECTIONS,
  unmovedPacksShape,
} from './pack-reports/shape.js';
import type { suspensionReply } from './suspensions/shape.js';
import type { Shown } from './shapes.js';

/** Reports about packs (`pack-reports`). */
export type UnmovedPacks = Shown<typeof unmovedPacksShape>;
export type ExpiringPacks = Shown<typeof expiringPacksShape>;
export type OverdueTransfers = Shown<typeof overdueTransfersShape>;
export type ShelfLine = UnmovedPacks['items'][number];
export type TransferLine = OverdueTransfers['items'][number];
export type ShelfPart = (typeof SHELF_PARTS)[number];

/** Which packs on our shelves a report is about. */
export interface ShelfQuery {
  days: number;
  gtin?: string | undefined;
  series?: string | undefined;
  place?: string | undefined;
  /** What the lines are told apart by. */
  by: readonly ShelfPart[];
}

/** Which transfers a report is about. */
export interface TransferQuery {
  days: number;
  direction?: (typeof TRANSFER_DIRECTIONS)[number] | undefined;
  /** One of the two sides. */
  partner?: string | undefined;
}

/** What persons overrode (read model `access-log`). */
export type Overrides = Shown<typeof overridesShape>;

/** Which overrides are asked for; `from` is inclusive, `to` is not. */
export interface OverridesQuery {
  kind?: OverrideKind;
  /** Name of the person, program or key. */
  actor?: string;
  from?: Date;
  to?: Date;
  limit?: number;
  cursor?: string;
}

/** The newest reply of a suspension (read model `suspensions`). */
export type SuspensionReply = Shown<typeof suspensionReply>;

/** Where every pack of a series is, and the mock recall that asked for it. */
export type TracedSeries = Shown<typeof tracedSeriesShape>;
export type MockRecallSummary = Shown<typeof mockRecallShape>;
