/**
 * The registry's documents: XML in and out, the schema set, receipts, and what each document does to each pack.
 * Promise: what is read is exactly what is written there; anything else is refused with its line, and no input harms
 * the reader. Proven in: read-document.spec.ts, hostile-xml.spec.ts, check-document.spec.ts,
 * build-document.prop.spec.ts, split-document.prop.spec.ts, mutation.prop.spec.ts, read-receipt.spec.ts,
 * instants.spec.ts, effects-of.spec.ts.
 */
export * from './port.js';
export { readForeignDocument } from './read-document.js';
export { documentReading } from './document-reading.js';
export { checkDocument } from './check-document.js';
export { splitDocument } from './split-document.js';
export { buildDocument } from './build-document.js';
export { readReceipt } from './read-receipt.js';
export { documentTypeOf, titleOfType } from './document-types.js';
export { SCHEMA_VERSION, schemaSetDigest } from './schema-set.js';
