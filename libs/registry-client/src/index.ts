/**
 * The one way out: sessions, operations, profiles and signers of the registry (principles 6). Promise: an outcome is
 * never guessed, a send is never repeated, a token never leaves for another host, a log or the evidence. Proven in:
 * call/classify.spec.ts, client.int.spec.ts, lists/*.prop.spec.ts, operations/*.spec.ts,
 * test/scenarios/client-operations.int.spec.ts, session/sessions.int.spec.ts, signing/*.spec.ts,
 * test/scenarios/signers.int.spec.ts.
 */
export * from './port.js';
export * from './profile.js';
export { OPERATIONS } from './profile-names.js';
export * from './account-refusals.js';
export * from './accounts.js';
export * from './registry-dates.js';
export * from './signing/pkcs12-signer.js';
export * from './signing/verify-cms.js';
export * from './signing/certificate-expiry.js';
export * from './signing/certificate-check.js';
export { openSigner } from './signing/open-signer.js';
export * from './log.js';
export * from './session/schema.js';
export { TokenCipher } from './session/token-cipher.js';
export { readEncryptionKey } from './session/encryption-key.js';
export { PostgresSessionStore } from './session/session-store.js';
export * from './client.js';
export { callsPerDocument } from './call/call-counts.js';
export { cursorFrom, type DocumentLists, type NewDocuments } from './lists/document-cursor.js';
export type { ListRecord } from './lists/table.js';
export type { Page, StrangeRecord } from './lists/walk-pages.js';
export { Directory } from './operations/operations.js';
export type { GroupCheck, Groups } from './operations/groups.js';
export type { FullHierarchy, HierarchyNode, HierarchyPack, SsccRegistry } from './operations/sscc.js';
export { outcomeWords, saysNo } from './call/outcome-words.js';
export type { ReadOutcome } from './call/read-outcome.js';
export type { NoRecord, SgtinAnswers, SgtinRecord } from './operations/sgtin-registry.js';
export type { LargeDocuments, LargeSend } from './operations/large-documents.js';
export { PostgresUploadLinks, type OpenUpload, type UploadLinks } from './operations/upload-links.js';
