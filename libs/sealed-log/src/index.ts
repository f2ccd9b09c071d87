/**
 * The tables of the sealed log, and proofs made from them: tiles, pages, checkpoints, cosignatures, breaks and counts
 * of streams. Promise: a proof has every event of its streams, whatever their length, or says which are not sealed yet.
 * The auditor alone writes the tables; whoever proves reads them. Proven in: cached-tiles.spec.ts; proofs of streams in
 * apps/auditor/src/proof, of answers in apps/cli/src/answers.
 */
export * from './break-table.js';
export { cachedTiles } from './cached-tiles.js';
export * from './checkpoints.js';
export * from './contradiction.js';
export * from './cosignature-table.js';
export * from './count-table.js';
export * from './entries.js';
export * from './leaf-place.js';
export * from './pages.js';
export * from './prove.js';
export * from './prove-answer.js';
export * from './prove-seals.js';
export * from './signed-leaves.js';
export * from './statement-place.js';
export * from './tile-table.js';
