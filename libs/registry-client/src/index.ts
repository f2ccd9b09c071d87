/**
 * The one way out: sessions, operations, profiles and signers of the registry (DESIGN section 6).
 * Promise: an outcome is never guessed, a send is never repeated, a token never leaves for another host, a log or the evidence.
 * Proven in: call/classify.spec.ts, client.int.spec.ts, session/sessions.int.spec.ts, signing/pkcs12-signer.int.spec.ts.
 */
export * from './port.js';
export * from './profile.js';
export * from './accounts.js';
export * from './registry-dates.js';
export * from './signing/pkcs12-signer.js';
export * from './signing/verify-cms.js';
export * from './log.js';
export * from './session/schema.js';
export { PostgresSessionStore, type SessionStore, type SessionRow, type Session, type NewSession } from './session/session-store.js';
export * from './client.js';
