import { defined, PedigreeError } from '#kernel';
import { documentTypeOf, type DocumentType } from './catalogue/catalogue.js';
import { impossibleDate } from './check-document.js';
import { problemsOf, type Problem } from './problems.js';
import { FactsCollector } from './read-document.js';
import { mustFitRecord } from './record-limits.js';
import type { SchemaSet } from './schemas/schema-set.js';
import { builtInSchemas, type SchemaSets } from './schemas/schema-sets.js';
import { walkXml, type XmlLeaf, type XmlListener } from './walk-xml.js';

/** Most problems that are told of one document. */
export const MOST_PROBLEMS = 1_000;
/** A text may break two rules, and is one problem. */
const MOST_DETAILS = 2 * MOST_PROBLEMS + 1;

export interface Validation {
  problems: Problem[];
  /** Are there more than are told? */
  more: boolean;
  /** Name of the set that judged; absent where none could. */
  schemaSet?: string;
  /** As the document says. */
  version?: string;
  docType?: number;
}

/**
 * All that is wrong with a document, in its order: what the reader refuses, what its schema set does not allow, what
 * the record has no room for, and an operation date that does not exist. Answers are judged too. Never throws for what
 * stands in the document.
 */
export function validateDocument(bytes: Uint8Array, schemas: SchemaSets = builtInSchemas()): Validation {
  const reading = new Reading();
  const { head } = reading;
  try {
    walkXml(bytes, reading);
    const read = reading.problems(bytes);
    if (head.version === undefined) return { problems: read, more: false, ...head };
    const set = schemas.forVersion(head.version);
    return { ...judged(bytes, { set, read }), schemaSet: set.name, ...head };
  } catch (error) {
    return { problems: [problemOf(error)], more: false, ...head };
  }
}

/**
 * Reads the whole of a document, so that nothing comes before the validator that `walkXml` does not allow. What the
 * reader of documents refuses besides does not end the reading.
 */
class Reading implements XmlListener {
  readonly head: { version?: string; docType?: number } = {};
  /** Less is asked of what only the registry writes. */
  private readonly reader = new FactsCollector({ isForeign: (docType) => directionOf(docType) === 'notification' });
  private refused: Problem | undefined;

  open(...element: Parameters<XmlListener['open']>): void {
    const [name, { version, action_id: actionId }, { depth }] = element;
    if (depth === 0 && name === 'documents') Object.assign(this.head, defined({ version }));
    if (depth === 1 && /^\d{1,6}$/.test(actionId ?? '')) this.head.docType ??= Number(actionId);
    this.read(() => this.reader.open(...element));
  }

  leaf(leaf: XmlLeaf): void {
    this.read(() => this.reader.leaf(leaf));
  }

  close(name: string, depth: number): void {
    this.read(() => this.reader.close(name, depth));
  }

  /** At the end: what the reader of documents says. It reads no answers. */
  problems(bytes: Uint8Array): Problem[] {
    const impossible = this.read(() => impossibleDate(bytes, mustFitRecord(this.reader.facts()))) ?? [];
    if (directionOf(this.head.docType) === 'answer') return [];
    return this.refused === undefined ? impossible : [this.refused];
  }

  private read<T>(part: () => T): T | undefined {
    if (this.refused !== undefined) return undefined;
    try {
      return part();
    } catch (error) {
      this.refused = problemOf(error);
      return undefined;
    }
  }
}

const directionOf = (docType: number | undefined): DocumentType['direction'] | undefined =>
  docType === undefined ? undefined : documentTypeOf(docType)?.direction;

/** Where both speak of the same line, the schema set says it with its path. */
function judged(
  bytes: Uint8Array,
  { set, read }: { set: SchemaSet; read: Problem[] },
): Pick<Validation, 'problems' | 'more'> {
  const details = set.violations(bytes, MOST_DETAILS);
  const told = problemsOf(details, (type) => set.baseOf(type));
  const alone = read.filter(
    ({ line }) => told.length === 0 || !told.some((one) => line === undefined || one.line === line),
  );
  const problems = [...told, ...alone].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return {
    problems: problems.slice(0, MOST_PROBLEMS),
    more: details.length === MOST_DETAILS || problems.length > MOST_PROBLEMS,
  };
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof PedigreeError)) throw error;
  const { line, element = '' } = error.place;
  const path = element === '' || element.startsWith('/') ? element : `//${element}`;
  return { ...defined({ line }), path, sentence: error.message.replace(/^line \d+[:,] /, '') };
}
