/**
 * The questions people ask, each with its own tables: what became of a document (document-outcomes), its life
 * (document-timeline), a pack's life (sgtin-history), how all packs stand now (pack-state), what came from others
 * (inbound-documents), what was late (timeliness), what differs and who cares (cases), what is suspended (suspensions),
 * what the ERP is told (outbox), who did what (access-log), what nothing carries on (orphans). Promise: every table can
 * be emptied and rebuilt from log and evidence and comes out the same; history keeps three times, overwrites nothing; a
 * row is what its entity says. Proven in: rebuild.int.spec.ts, rebuild-beside.int.spec.ts, rows.int.spec.ts,
 * epcis/*.spec.ts, document-outcomes/*.spec.ts, sgtin-history/*.spec.ts, pack-state/*.spec.ts,
 * inbound-documents/*.spec.ts, timeliness/*.spec.ts, outbox/*.spec.ts, cases/*.spec.ts, suspensions/*.spec.ts,
 * access-log/*.spec.ts, document-timeline/timeline.spec.ts; orphans in apps/worker/src/orphans.
 */
export * from './port.js';
export * from './report-port.js';
export * from './projections.js';
export * from './schema.js';
export * from './postgres-read-models.js';
export { heldFigures, type HeldFigures } from './document-outcomes/held-figures.js';
export { documentFigures, unconfirmedSince } from './document-outcomes/figures.js';
export { followedSeconds, givenUpCount, notUnderstoodCount } from './inbound-documents/figures.js';
export { documentDetailOf, documentRow, needsAccount, type DocumentFacts } from './document-outcomes/detail.js';
export { documentIdsOf } from './document-outcomes/query.js';
export { groupDetailOf } from './groups/query.js';
export { inboundDetailOf, inboundRow, receiptWithErrors } from './inbound-documents/detail.js';
export { notificationOf } from './inbound-documents/query.js';
export { caseDetailOf } from './cases/query.js';
export { accountStanding, type AccountStanding } from './accounts/standing.js';
export { orphans, type Orphan } from './orphans/query.js';
export * from './phases.js';
export * as shapes from './shapes.js';
export { foreignCursor } from './list-page.js';
export { PAGE_BOUNDS, withinBytes } from './page-bounds.js';
export { documentDetail, documentSummary, outcomeCounts } from './document-outcomes/shape.js';
export { groupDetail, groupSummary } from './groups/shape.js';
export * from './inbound-documents/shape.js';
export {
  containersOfUnknownContent,
  unknownContentFigures,
  type UnknownContentFigures,
} from './sgtin-history/content-question.js';
export { containerContent, containerHistory, packHistory, packState } from './sgtin-history/shape.js';
export { inboundOrder } from './sgtin-history/inbound-movements.js';
export { packReadFrom } from './sgtin-history/query.js';
export { foldState, type FoldedRow } from './sgtin-history/state.js';
export { IN_OUR_NAME } from './sgtin-history/row.js';
export { namedOperations, type RecallableMovement } from './sgtin-history/recalls.js';
export {
  nearToAnswer,
  nearToSend,
  unknownDeadlines,
  type NearDeadlines,
  type UnknownDeadline,
} from './timeliness/figures.js';
export { calendarName, dutyRow, timeliness } from './timeliness/shape.js';
export {
  CHECK_PURPOSES,
  SERIES_FATES,
  packChecks,
  packPage,
  packSummary,
  seriesFile,
  seriesSourcePage,
  stockPage,
} from './pack-state/shape.js';
export { mockRecallOf, mockRecallStreams } from './pack-reports/mock-recalls.js';
export {
  expiringPacksShape,
  mockRecallDetail,
  mockRecallPage,
  overdueTransfersShape,
  SHELF_PARTS,
  TRANSFER_DIRECTIONS,
  unmovedPacksShape,
} from './pack-reports/shape.js';
export { packsAgainst } from './pack-state/against.js';
export { knownUpTo } from './pack-state/record-age.js';
export { namedCalendar, readCalendarFile, type CalendarFile, type NamedCalendar } from './timeliness/calendar-file.js';
export { clocksOf, type ClockStart } from './timeliness/clock.js';
export { ownDocumentSharing } from './sgtin-history/same-items.js';
export { cloudEventOf, OUTCOME_DATA, OUTCOME_TOPICS, sequenceOf, type OutcomeType } from './outbox/cloud-event.js';
export { historyOf } from './outbox/history.js';
export { wholeStream } from './document-timeline/whole-stream.js';
export { conclusionItems, type OutcomeItem } from './outbox/items.js';
export { itemWarnings, toldWarnings } from './outbox/item-warnings.js';
export { accessLogProjection } from './access-log/projection.js';
export { accessEntryOf } from './access-log/query.js';
export { ACCESS_KINDS } from './access-log/row.js';
export { OVERRIDE_KINDS } from './access-log/override-kinds.js';
export { accessEntry, overridesShape } from './access-log/shape.js';
export { digestsIn } from './document-timeline/timeline.js';
export { caseFigures } from './cases/query.js';
export { casesProjection } from './cases/projection.js';
export { RECONCILIATION_CASE, type CaseRow } from './cases/row.js';
export { caseDetail, caseSummary } from './cases/shape.js';
export { wordsForCase } from './cases/words.js';
export { SuspensionsInForce, type InForce } from './suspensions/in-force.js';
export { packsStopped, type NamedPacks } from './suspensions/packs-stopped.js';
export { answerSuspension, suspendedSeries, toldDecisions, unnamedOfList } from './suspensions/answer.js';
export { suspendedListFigures, suspensionDetailOf } from './suspensions/query.js';
export { RECENT_DAYS, suspensionQuestions } from './suspensions/questions.js';
export { suspensionsProjection } from './suspensions/projection.js';
export {
  suspendedListPage,
  suspensionAfterAction,
  suspensionAnswer,
  suspensionDetail,
  suspensionPage,
  suspensionReply,
} from './suspensions/shape.js';
export { conclusionsOf } from './outbox/parts.js';
export {
  newestOutcome,
  outcomesAfter,
  outcomesRemovedUpTo,
  removeOutcomes,
  type StoredOutcome,
} from './outbox/query.js';
