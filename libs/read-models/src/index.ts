/**
 * The questions people ask, each with its own tables: what became of a document (document-outcomes), its life
 * (document-timeline), a pack's life (sgtin-history), what came from others (inbound-documents), what the ERP is told
 * (outbox), what nothing carries on (orphans). Promise: every table can be emptied and rebuilt from log and evidence
 * and comes out the same; history keeps three times and overwrites nothing; a row is what its entity says. Proven in:
 * rebuild.int.spec.ts, rows.int.spec.ts, document-outcomes/*.spec.ts, sgtin-history/*.spec.ts,
 * inbound-documents/*.spec.ts, outbox/*.spec.ts, document-timeline/timeline.spec.ts; orphans in
 * apps/worker/src/orphans.
 */
export * from './port.js';
export * from './projections.js';
export * from './schema.js';
export * from './postgres-read-models.js';
export { heldFigures, type HeldFigures } from './document-outcomes/held-figures.js';
export { documentFigures } from './document-outcomes/figures.js';
export { documentIdsOf } from './document-outcomes/query.js';
export { accountHolds, accountStanding, type AccountStanding } from './accounts/standing.js';
export { orphans, type Orphan } from './orphans/query.js';
export * from './phases.js';
export * as shapes from './shapes.js';
export { afterHold, documentDetail, documentSummary, outcomeCounts } from './document-outcomes/shape.js';
export { groupDetail, groupSummary } from './groups/shape.js';
export * from './inbound-documents/shape.js';
export { packHistory } from './sgtin-history/shape.js';
export { ownDocumentSharing } from './sgtin-history/same-items.js';
export { cloudEventOf, OUTCOME_DATA, OUTCOME_TOPICS, sequenceOf, type OutcomeType } from './outbox/cloud-event.js';
export { historyOf } from './outbox/history.js';
export { conclusionItems, type OutcomeItem } from './outbox/items.js';
export { conclusionsOf } from './outbox/parts.js';
export {
  newestOutcome,
  outcomesAfter,
  outcomesRemovedUpTo,
  removeOutcomes,
  type StoredOutcome,
} from './outbox/query.js';
