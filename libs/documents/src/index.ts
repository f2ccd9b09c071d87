/**
 * The registry's documents: XML in and out, the schema set, receipts, and what each document does to each pack.
 * Promise: what is read is exactly what is written there; anything else is refused with its line, and no input harms
 * the reader. Proven in: read-document.spec.ts, hostile-xml.spec.ts, check-document.spec.ts,
 * validate-document.spec.ts, build-document.prop.spec.ts, split-document.prop.spec.ts, session-ui.prop.spec.ts,
 * mutation.prop.spec.ts, read-receipt.spec.ts, instants.spec.ts, effects-of.spec.ts, catalogue/catalogue.prop.spec.ts,
 * record-limits.spec.ts, xml/plain.prop.spec.ts, epcis/epcis.prop.spec.ts, epcis/event-hash.spec.ts.
 */
export * from './port.js';
export { readForeignDocument } from './read-document.js';
export { fitsRecord, MOST_NAMINGS, mustFitRecord } from './record-limits.js';
export { documentReading } from './document-reading.js';
export { checkDocument } from './check-document.js';
export { validateDocument, type Validation } from './validate-document.js';
export { splitDocument } from './split-document.js';
export { withSessionUi } from './session-ui.js';
export { buildDocument } from './build-document.js';
export { readReceipt } from './read-receipt.js';
export { CATALOGUE, documentTypeOf, type DocumentType } from './catalogue/catalogue.js';
export type { ElementShape } from './schemas/schema-model.js';
export { isStandKnown, obstaclesTo, sequenceRuleOf, type NextDocument, type Obstacle } from './catalogue/sequence.js';
export {
  ANSWER_ABOUT_CONTAINER,
  CORRECTION_OF_DETAILS,
  RECALL,
  typeKnowledge,
  type StatePart,
  type TypeKnowledge,
} from './catalogue/type-knowledge.js';
export { compareSets, type SetDifference } from './schemas/compare-sets.js';
export { addSchemaSet, readSchemaDir, removeSchemaSet, schemaSetsIn } from './schemas/schema-dir.js';
export { SchemaSet } from './schemas/schema-set.js';
export { builtInSchemas, builtInSet, SchemaSets } from './schemas/schema-sets.js';
export { eventsOf, leftOutOf, type ConcludedDocument } from './epcis/epcis-event.js';
export type { EpcisEvent } from './epcis/event-shape.js';
export { epcisDocumentOf, type EpcisDocument, type ToldDocument } from './epcis/epcis-document.js';
