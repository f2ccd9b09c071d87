/**
 * The pure Merkle tree of RFC 6962 over a one-function storage, its proofs, and signed notes for checkpoints. Promise:
 * what the proofs check holds for any storage, and what does not hold is never believed; nothing here touches a file, a
 * network or a clock. Proven in: tree.prop.spec.ts (against the definition of the RFC), tiles.prop.spec.ts,
 * vectors.spec.ts (published vectors), note.spec.ts,
 * cosignature.spec.ts, add-checkpoint.spec.ts, tile-files.spec.ts, tlog-proof.spec.ts.
 */
export * from './tree.js';
export * from './proofs.js';
export * from './tiles.js';
export * from './note.js';
export * from './cosignature.js';
export * from './add-checkpoint.js';
export * from './tile-files.js';
export * from './tlog-proof.js';
export { strictBase64 } from './note-parts.js';
