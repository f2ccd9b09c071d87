/**
 * The questions people ask, each with its own tables: what became of a document (document-outcomes), its life (document-timeline), a pack's life (sgtin-history), what came from others (inbound-documents),
 * what the ERP is told (outbox).
 * Promise: every table can be emptied and rebuilt from log and evidence and comes out the same; history keeps three times and overwrites nothing.
 * Proven in: rebuild.int.spec.ts, document-outcomes/*.spec.ts, sgtin-history/*.spec.ts, inbound-documents/*.spec.ts, outbox/*.spec.ts, document-timeline/timeline.spec.ts.
 */
export * from './port.js';
export * from './projections.js';
export * from './schema.js';
export * from './postgres-read-models.js';
export { documentFigures, type DocumentFigures } from './document-outcomes/figures.js';
export { documentOutcomesProjection } from './document-outcomes/projection.js';
export { documentIdsOf } from './document-outcomes/query.js';
export { groupsProjection } from './groups/projection.js';
export { wordsForGroup } from './groups/sentences.js';
export { GROUP_PHASES, type GroupPhase } from './groups/row.js';
export { wordsFor, type Described, type PlainWords } from './document-outcomes/sentences.js';
export { inboundDocumentsProjection } from './inbound-documents/projection.js';
export { timelineOf } from './document-timeline/timeline.js';
export { sgtinHistoryProjection, type SgtinHistoryOptions } from './sgtin-history/projection.js';
export { ownDocumentSharing, type SharedItemsQuery } from './sgtin-history/same-items.js';
export type { DocumentReading } from './sgtin-history/movements.js';
export { cloudEventOf, OUTCOME_DATA, OUTCOME_TOPICS, sequenceOf, sourceOf, type OutcomeData, type OutcomeEvent, type OutcomeType } from './outbox/cloud-event.js';
export { conclusionItems, type OutcomeItem } from './outbox/items.js';
export { conclusionsOf } from './outbox/parts.js';
export { outboxProjection, type OutboxOptions } from './outbox/projection.js';
export { newestOutcome, outcomesAfter, outcomesRemovedUpTo, removeOutcomes, type StoredOutcome } from './outbox/query.js';
