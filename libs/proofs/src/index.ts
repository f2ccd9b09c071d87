/**
 * What a proof of the log is, and what checks one: leaves, counts of streams, breaks, witnesses, the file and its
 * verifier. Promise: a proof is checked with nothing but the file and the keys; nothing here touches a database, a
 * network or a clock. Proven in: answer.spec.ts, buckets.prop.spec.ts, shape.spec.ts,
 * segments/pack-proof.prop.spec.ts.
 */
export * from './leaf.js';
export * from './evidence-names.js';
export * from './buckets.js';
export * from './count-note.js';
export * from './log-keys.js';
export * from './break-note.js';
export * from './witnessed.js';
export { asPageData } from './as-written.js';
export * from './bundle.js';
export type { AnsweredEvent, VerifiedAnswer } from './answer.js';
export type { CheckedEvent } from './entry.js';
export * from './verify.js';
export * from './segments/seal.js';
export * from './segments/rows.js';
export * from './segments/pack-proof.js';
