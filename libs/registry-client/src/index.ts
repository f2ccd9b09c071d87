/**
 * The one way out: sessions, operations, profiles and signers of the registry (DESIGN section 6).
 * Promise: an outcome is never guessed, a send is never repeated, a token never leaves for another host, a log or the evidence.
 * Proven in: call/classify.spec.ts, client.int.spec.ts, lists/*.prop.spec.ts, operations/*.spec.ts, test/scenarios/client-operations.int.spec.ts,
 * session/sessions.int.spec.ts, signing/*.spec.ts, test/scenarios/signers.int.spec.ts.
 */
export * from './port.js';
export * from './profile.js';
export * from './accounts.js';
export * from './registry-dates.js';
export * from './signing/pkcs12-signer.js';
export * from './signing/verify-cms.js';
export * from './signing/certificate-expiry.js';
export { openSigner } from './signing/open-signer.js';
export * from './log.js';
export * from './session/schema.js';
export { TokenCipher } from './session/token-cipher.js';
export { readEncryptionKey } from './session/encryption-key.js';
export { PostgresSessionStore, type SessionStore, type SessionRow, type Session, type NewSession } from './session/session-store.js';
export * from './client.js';
export { callsPerDocument, type CallCount, type CallResult } from './call/call-counts.js';
export type { ReadOutcome } from './call/read-outcome.js';
export { cursorFrom, type DocumentCursor, type DocumentLists, type NewDocuments, type SinceQuery } from './lists/document-cursor.js';
export { walkPages, type Page, type WalkOptions, type WalkOutcome } from './lists/walk-pages.js';
export type { ListFilter, ListName, ListRecord } from './lists/table.js';
export type { Lists, ListQuery, PageQuery, WalkQuery } from './lists/lists.js';
export { Directory, RegistryOperations, type DirectoryAnswer } from './operations/operations.js';
export type { Aged } from './operations/cache.js';
export type { GroupCheck, Groups } from './operations/groups.js';
export type { LargeDocuments, LargeSend } from './operations/large-documents.js';
export { PostgresUploadLinks, type OpenUpload, type UploadLinks } from './operations/upload-links.js';
export type { NoRecord, SgtinAnswers, SgtinList, SgtinRecord, SgtinRegistry } from './operations/sgtin-registry.js';
export type { FullHierarchy, HierarchyNode, HierarchyPack, SsccHierarchy, SsccRegistry } from './operations/sscc.js';
export type { Exports, ExportState } from './operations/exports.js';
