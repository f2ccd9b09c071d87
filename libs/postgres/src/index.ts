/**
 * PostgreSQL for everybody: the pool, forward-only migrations, and the embedded server of a bare machine.
 * Promise: a migration runs once and in order, whoever starts first; an embedded server left by a kill is found and reused.
 * Proven in: migrate.int.spec.ts, embedded.int.spec.ts, away.spec.ts, listener.int.spec.ts.
 */
export * from './pool.js';
export * from './away.js';
export * from './listener.js';
export * from './migrate.js';
export * from './embedded.js';
export * from './installation.js';
export * from './server-clock.js';
