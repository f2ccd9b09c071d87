/**
 * The checkpointed runner: it carries the log to sagas and projections, one PostgreSQL transaction per page. Promise:
 * each event is handled once and in order per subscription (of a saga: per instance), through crashes, failures and
 * take-overs; a failing event is never dropped: it halts a projection, and parks the one instance of a saga that it
 * concerns. Proven in: runner.int.spec.ts, saga.int.spec.ts, saga.prop.spec.ts, parked.int.spec.ts,
 * projection.int.spec.ts, subscription-watch.int.spec.ts.
 */
export * from './schema.js';
export { dropCheckpoint, subscriptionLag, type SubscriptionLag } from './checkpoint.js';
export { dependentsOf } from './dependents.js';
export { SubscriptionWatch, type FailingSubscription, type Standing } from './subscription-watch.js';
export type { NewDependent } from './fold.js';
export { catchUp, runSubscription, type SubscriptionTrouble } from './runner.js';
export { parkedFigures, parkedInstances, type ParkedInstance } from './parked.js';
export { retryParked, type RetryParts } from './retry-parked.js';
export { catchUpSaga, runSaga, sagaCheckpoint, type ParkingNews, type SagaOptions } from './saga.js';
export {
  catchUpProjection,
  projectionCheckpoint,
  rebuildProjection,
  runProjection,
  type Projection,
} from './projection.js';
