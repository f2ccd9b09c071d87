/**
 * The event log: the port that the product writes to and reads from, and its PostgreSQL adapter.
 * Promise: an append commits by itself and a repeat is recognised; positions are gapless and in commit order; readers never miss, never reorder.
 * Proven in: contract.ts (for any adapter), postgres.int.spec.ts, encode.spec.ts, group-commit.spec.ts.
 */
export * from './port.js';
export * from './schema.js';
export * from './limits.js';
export { PostgresEventStore, type PostgresEventStoreOptions } from './postgres.js';
export { SOFTWARE_VERSION } from './software-version.js';
