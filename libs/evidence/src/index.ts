/**
 * The content-addressed store of what was sent and received (principles 5, 2.5). Promise: bytes are durable when put()
 * resolves, come back byte for byte, and damage is found on every read from the database. Proven in:
 * postgres-evidence-store.int.spec.ts, encoding.spec.ts, blob-cache.spec.ts,
 * check-stored.int.spec.ts.
 */
export * from './port.js';
export * from './postgres-evidence-store.js';
export { getUndamaged } from './undamaged.js';
export { checkAllStored, checkStored } from './check-stored.js';
