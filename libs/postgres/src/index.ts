/**
 * PostgreSQL for everybody: the pool, forward-only migrations, and the embedded server of a bare machine. Promise: a
 * migration runs once and in order, whoever starts first; an embedded server left by a kill is found and reused; no
 * transaction outlives 30 s, and no query a silence of 35 s. Proven in: migrate.int.spec.ts, embedded.int.spec.ts,
 * away.spec.ts, listener.int.spec.ts, locks.int.spec.ts, transaction-limit.int.spec.ts, silent-server.int.spec.ts,
 * unparsed.spec.ts.
 */
export * from './pool.js';
export { asLongJob, nameTransaction, transactionError } from './transaction-limit.js';
export { arrayText } from './array-text.js';
export { reachByLevels } from './levels.js';
export { copyLines, copyText } from './copy-rows.js';
export * from './away.js';
export * from './listener.js';
export * from './migrate.js';
export * from './embedded.js';
export * from './installation.js';
export * from './server-clock.js';
export * from './unparsed.js';
