/**
 * Segments: immutable Parquet files with all movements of packs by range of log positions, and from them the state of
 * all packs at any position, in bulk. Promise: every pack has the state that its own history gives it, now and at any
 * past position; memory stays within its limit; a range, its rows and its root are the same after a rebuild; what a
 * segment has of an item is proven by its root. Proven in: states.prop.int.spec.ts, segments.int.spec.ts,
 * of seals in apps/cli/src/commands.
 */
export { segmentParts, type SegmentSettings } from './parts.js';
export { segmentsSchema } from './schema.js';
export {
  forgettingSegments,
  newestSegmentSeconds,
  segments,
  setOf,
  statesAt,
  sweepSegments,
  writeNextSegment,
  type Segment,
  type SegmentParts,
} from './segments.js';
export { proveInSegment, rootNextSegment, sealNextSegment } from './seal.js';
export { FOLD, readStates, STATE_COLUMNS, STATES_FILE, type States } from './fold/state.js';
export { foldStates } from './fold/state.js';
export type { Movements } from './fold/documents.js';
export { inBucket, BUCKETS } from './fold/packs.js';
export { DOCUMENTS, FILES, GROUP_ROWS, ITEM_CHECK, ITEM_ID } from './rows.js';
