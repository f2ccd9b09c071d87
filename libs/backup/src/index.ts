/**
 * A backup of an installation in one file, its restore, and what a restored database has to go through before documents
 * leave it again. Promise: a backup is one moment of the log with all that belongs to it; a damaged file changes
 * nothing; a half-restored database is never taken for a whole one. Proven in: file.spec.ts, load.int.spec.ts,
 * test/scenarios/restore.int.spec.ts; on real tables beside the command and beside the worker (docs/reliability.md).
 */
export { ON_A_SERVER, takeBackup } from './dump.js';
export { restoreBackup } from './load.js';
export * from './restoration.js';
export { TABLES } from './tables.js';
