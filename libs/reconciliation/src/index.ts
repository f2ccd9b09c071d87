/**
 * Compares what we hold with what the registry shows, in runs that can be repeated: documents with the registry's lists
 * (principles 8), and packs of stock files with states and the registry's answers; what a run found becomes cases.
 * Promise: the same inputs, by digest, give the same findings and the same digest; a run is recorded once, and changes
 * a case once; few rows are held at a time; no row of a file is dropped without a word. Proven in:
 * documents/compare.spec.ts, documents/compare.prop.spec.ts, runs/run.int.spec.ts, fetches/ways.spec.ts,
 * runs/remove-files.int.spec.ts, fetches/walk.prop.spec.ts, fetches/take-over.int.spec.ts,
 * snapshots/import.int.spec.ts,
 * document-side/write-documents.int.spec.ts, reports/run-report.int.spec.ts, comparison/comparison.prop.int.spec.ts,
 * comparison/planted-world.int.spec.ts, cases/pack-cases.int.spec.ts, cases/document-cases.int.spec.ts,
 * test/scenarios/incremental.int.spec.ts, test/scenarios/reconciliation.int.spec.ts.
 */
export * from './cases/case-log.js';
export { casesAreRead } from './runs/caught-up.js';
export { closeRemedies } from './cases/close-remedies.js';
export { openDocumentCases } from './cases/document-cases.js';
export { strangersTo } from './cases/items-of-case.js';
export { DEFAULT_DUE_DAYS, dueAt, dueDaysOf, type DueDays, type Opening } from './cases/opening.js';
export { EARLIER_RECORD, NO_CASES, openPackCases, UNCONFIRMED } from './cases/pack-cases.js';
export { isItemsFile } from './cases/item-files.js';
export { FINDING_COLUMNS } from './comparison/compare-buckets.js';
export { openComparison, resultOf, runComparison, type ComparisonResult } from './comparison/run-comparison.js';
export {
  byOtherRules,
  hasOtherRules,
  inputsDigest,
  NAMED_ONLY,
  readRun,
  type RunRecord,
} from './comparison/run-record.js';
export { comparisonSettings, type ComparisonSettings } from './comparison/settings.js';
export * from './documents/compare.js';
export * from './documents/finding.js';
export * from './fetches/export-order.js';
export * from './fetches/export-pages.js';
export * from './fetches/fetch.js';
export * from './fetches/gather.js';
export { lastContainerOf } from './fetches/items.js';
export * from './fetches/items.js';
export * from './fetches/pages.js';
export * from './fetches/progress.js';
export * from './fetches/schema.js';
export * from './fetches/registry-side.js';
export * from './fetches/walk.js';
export * from './fetches/ways.js';
export { checkZip, ZipFault } from './fetches/zip.js';
export * from './registry-lists/schema.js';
export { listsUnread } from './registry-lists/unread.js';
export { readFindings, removeFindings } from './runs/findings.js';
export {
  allFindings,
  findingsCursor,
  findingsPage,
  findingsPlaceOf,
  firstFindings,
  type FindingFilter,
  type FindingRow,
} from './reports/findings.js';
export { html } from './reports/html.js';
export { SAID, saidOf } from './reports/saying.js';
export { page, tableOf } from './reports/page.js';
export { readRunFacts } from './reports/run-facts.js';
export { runReport, type RunLogged } from './reports/run-report.js';
export * from './runs/asked-run.js';
export * from './runs/file-run.js';
export * from './runs/incremental-limits.js';
export { withoutEffect } from './runs/without-effect.js';
export { laterRun } from './runs/later-run.js';
export { newestTick, tickRunId, timetableOf, type Timetable } from './runs/ticks.js';
export * from './runs/pack-run.js';
export { OVERRIDES, RULES } from './comparison/rules.js';
export * from './runs/query.js';
export { removeRunFiles } from './runs/remove-files.js';
export * from './runs/request.js';
export * from './runs/run-folder.js';
export { runLock, whileLocked } from './runs/run-lock.js';
export * from './runs/run.js';
export * from './runs/schedule.js';
export { momentOfUpload, uploadedName } from './runs/uploaded-name.js';
export { importSnapshot } from './snapshots/import.js';
export { importFile, snapshotFolder, snapshotOfFile } from './snapshots/of-file.js';
export { inspectFile } from './snapshots/inspect.js';
export { canonicalRow } from './snapshots/buckets.js';
export { columnsOf, KINDS, type SnapshotKind } from './snapshots/kinds.js';
export {
  ANSWERS_FILE,
  ANSWERS_INDEX,
  bucketFile,
  BUCKETS,
  MANIFEST,
  SNAPSHOT_FORMAT,
  readSnapshot,
  REFUSED,
  snapshotDigest,
  type SnapshotManifest,
} from './snapshots/manifest.js';
export { mappingOf, type Mapping } from './snapshots/mapping.js';
export { isToCome, mustHaveCome } from './snapshots/to-come.js';
