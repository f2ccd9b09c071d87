/**
 * The questions people ask, each with its own tables: what became of a document (document-outcomes), its life (document-timeline), a pack's life (sgtin-history).
 * Promise: every table can be emptied and rebuilt from log and evidence and comes out the same; history keeps three times and overwrites nothing.
 * Proven in: rebuild.int.spec.ts, document-outcomes/*.spec.ts, sgtin-history/*.spec.ts, document-timeline/timeline.spec.ts.
 */
export * from './port.js';
export * from './projections.js';
export * from './schema.js';
export * from './postgres-read-models.js';
export { documentOutcomesProjection } from './document-outcomes/projection.js';
export { wordsFor, type Described, type PlainWords } from './document-outcomes/sentences.js';
export { timelineOf } from './document-timeline/timeline.js';
export { sgtinHistoryProjection, type SgtinHistoryOptions } from './sgtin-history/projection.js';
export type { DocumentReading } from './sgtin-history/movements.js';
