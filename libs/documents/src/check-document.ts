import { PedigreeError } from '#kernel';
import { readInstant } from './instants.js';
import type { DocumentFacts } from './port.js';
import { problemsOf, type Problem } from './problems.js';
import { FIELD_DEPTH, readDocument } from './read-document.js';
import { mustFitRecord } from './record-limits.js';
import { builtInSchemas, type SchemaSets } from './schemas/schema-sets.js';
import { walkXml } from './walk-xml.js';

/** Enough to tell the first problem, and whether it is the only one. */
const MOST_DETAILS = 4;

/**
 * Reads a document as `readDocument` does and holds it against the schema set of its version (public-facts 2.2); an
 * operation date must moreover exist and lie in the years 2000 to 2100, because the schema takes the year 1 too. Throws
 * PedigreeError as `readDocument` does, and `schema_violation` with the element's path and line.
 */
export function checkDocument(bytes: Uint8Array, schemas: SchemaSets = builtInSchemas()): DocumentFacts {
  const facts = readDocument(bytes);
  const set = schemas.forVersion(facts.schemaVersion);
  const problems = problemsOf(set.violations(bytes, MOST_DETAILS), (type) => set.baseOf(type));
  const [first] = problems.length > 0 ? problems : impossibleDate(bytes, facts);
  if (first !== undefined) throw violation(first, problems.length > 1);
  return mustFitRecord(facts);
}

/** The schema set takes the year 1, and a 30th of February of other sets; empty where there is nothing to say. */
export function impossibleDate(bytes: Uint8Array, { element, fields }: DocumentFacts): Problem[] {
  if (fields.operation_date === undefined) return [];
  const read = readInstant(fields.operation_date);
  if ('at' in read) return [];
  const sentence = `operation_date "${fields.operation_date.slice(0, 60)}" ${read.why}`;
  return [{ line: lineOfField(bytes, 'operation_date'), path: `/documents/${element}/operation_date`, sentence }];
}

/** Only for a document that is refused: it costs a second reading, which good ones are spared. */
function lineOfField(bytes: Uint8Array, field: string): number {
  let found = 1;
  walkXml(bytes, {
    open: () => undefined,
    leaf: ({ name, depth, line }) => {
      if (name === field && depth === FIELD_DEPTH) found = line;
    },
    close: () => undefined,
  });
  return found;
}

function violation({ line = 1, path, sentence }: Problem, isNotAll: boolean): PedigreeError {
  const message = `line ${line}, ${path}: ${sentence}${isNotAll ? ' (and more)' : ''}`;
  return new PedigreeError('schema_violation', message, { line, element: path });
}
