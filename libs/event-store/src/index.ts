/**
 * The event log: the port that the product writes to and reads from, and its adapters on PostgreSQL and on EventStoreDB
 * or KurrentDB. Promise: an append commits by itself and a repeat is recognised; positions are in commit order, in
 * PostgreSQL without a gap; readers never miss, never reorder; a log says whose it is, and no other installation works
 * on it. Proven in: contract.ts (for any adapter), postgres.int.spec.ts, eventstoredb.int.spec.ts, encode.spec.ts,
 * group-commit.spec.ts, tail.spec.ts, settle-log.int.spec.ts, recorded-by.int.spec.ts.
 */
export * from './port.js';
export { newEvent, type Says } from './new-event.js';
export * from './schema.js';
export * from './actor.js';
export * from './limits.js';
export { INSTALLATION_STREAM, holdsEvents, settleLog } from './settle-log.js';
export { openEventStore, openEventStoreDb } from './open-event-store.js';
export { readStored, readStoredStreams, storedHeads, strayEvents, type StoredEvent } from './stored.js';
export { hasAllRecordedBy } from './recorded-by.js';
export { PostgresEventStore } from './postgres.js';
export type { EventStoreDbEventStore } from './eventstoredb/event-store-db.js';
export type { PersistentSubscriptionState } from './eventstoredb/persistent-subscriptions.js';
export { SOFTWARE_VERSION } from './software-version.js';
export { typedEvent, typedEvents, type TypedEvent } from './typed-events.js';
export { logIsAway, whileLogIsAway } from './while-away.js';
