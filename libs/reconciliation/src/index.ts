/**
 * Compares what we hold with what the registry shows, in runs that can be repeated; the first comparison is that of the
 * documents (principles 8). Promise: the same inputs, by digest, give the same findings and the same digest; a run is
 * recorded once; few rows are held at a time. Proven in: documents/compare.spec.ts, documents/compare.prop.spec.ts,
 * runs/run.int.spec.ts, test/scenarios/reconciliation.int.spec.ts.
 */
export * from './documents/compare.js';
export * from './documents/finding.js';
export * from './registry-lists/schema.js';
export { readFindings, removeFindings } from './runs/findings.js';
export * from './runs/query.js';
export * from './runs/request.js';
export * from './runs/run.js';
