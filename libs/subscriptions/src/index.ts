/**
 * The checkpointed runner: it carries the log to sagas and projections, one PostgreSQL transaction per page.
 * Promise: each event is handled once and in order per subscription, through crashes, failures and take-overs; a failing event is never dropped.
 * Proven in: runner.int.spec.ts, saga.int.spec.ts, saga.prop.spec.ts, projection.int.spec.ts.
 */
export * from './schema.js';
export { dropCheckpoint, subscriptionLag, type SubscriptionLag } from './checkpoint.js';
export type { Handle } from './page.js';
export { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions, type SubscriptionTrouble } from './runner.js';
export { catchUpSaga, foldSaga, runSaga, sagaCheckpoint, type Saga, type SagaOptions } from './saga.js';
export { catchUpProjection, projectionCheckpoint, rebuildProjection, runProjection, type Projection } from './projection.js';
