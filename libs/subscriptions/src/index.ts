/**
 * The checkpointed runner: it carries the log to sagas and projections, one PostgreSQL transaction per page. Promise:
 * each event is handled once and in order per subscription (of a saga: per instance), through crashes, failures and
 * take-overs; a failing event is never dropped: it halts a projection, and parks the one instance of a saga that it
 * concerns. Proven in: runner.int.spec.ts, saga.int.spec.ts, saga.prop.spec.ts, parked.int.spec.ts,
 * projection.int.spec.ts, subscription-watch.int.spec.ts, cursors-ahead.int.spec.ts; a read model is rebuilt beside its
 * live tables: rebuild/rebuild-beside.int.spec.ts, and compared with them: compare/compare-beside.int.spec.ts.
 */
export * from './schema.js';
export { checkpointPosition, dropCheckpoint, subscriptionLag, type SubscriptionLag } from './checkpoint.js';
export { refuseCursorsAhead } from './cursors-ahead.js';
export { dependentsOf } from './dependents.js';
export { SubscriptionWatch, type FailingSubscription, type Standing } from './subscription-watch.js';
export type { NewDependent } from './fold.js';
export { catchUp, runSubscription, type CatchUpOptions, type Followed, type SubscriptionOptions } from './runner.js';
export { parkedFigures, parkedInstances, type ParkedInstance } from './parked.js';
export { retryParked, type RetryParts } from './retry-parked.js';
export { catchUpSaga, runSaga, sagaCheckpoint, type ParkingNews, type SagaOptions } from './saga.js';
export { catchUpProjection, projectionCheckpoint, runProjection, type Projection } from './projection.js';
export { discardRebuild, rebuildBeside } from './rebuild/rebuild-beside.js';
export { compareBeside, type ComparePlace, type Compared, type RowDifference } from './compare/compare-beside.js';
export { copySchemaOf, unfinishedCopies } from './rebuild/copy-schema.js';
export { olderRowsOf, type OlderRows } from './rebuild/older-rows.js';
export type { RebuildProgress } from './rebuild/estimate.js';
export type { AlongSwitch } from './rebuild/switch-over.js';
