import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlLibError,
  xmlRegisterInputProvider,
  XsdValidator,
  type ErrorDetail,
} from 'libxml2-wasm';
import { PedigreeError, type Sha256 } from '#kernel';
import { CATALOGUE, documentTypeOf, type DocumentType } from '../catalogue/catalogue.js';
import { withBoundedErrors } from './bounded-errors.js';
import { compileApart, type CompileLimits } from './compile-thread.js';
import { digestOf, refused, readSchemaFiles, type SchemaFiles } from './schema-files.js';
import { SchemaModel, type DocumentShape } from './schema-model.js';

/** No network, no entities, no catalogues, no huge documents; line numbers above 65,535 are kept. */
const PARSE_OPTIONS: ParseOption =
  ParseOption.XML_PARSE_NONET |
  ParseOption.XML_PARSE_NO_XXE |
  ParseOption.XML_PARSE_NO_SYS_CATALOG |
  ParseOption.XML_PARSE_BIG_LINES;

export interface SchemaSetOptions {
  folder: string;
  name: string;
  /** Versions of documents that it serves, as `documents/@version` says them. */
  versions: readonly string[];
  /** First and last day on which it serves, YYYY-MM-DD; absent: without such a bound. */
  validFrom?: string;
  validUntil?: string;
}

/** A schema set: what documents of some versions must look like. Files are read at once and compiled when needed. */
export class SchemaSet {
  readonly name: string;
  readonly versions: readonly string[];
  readonly validFrom: string | undefined;
  readonly validUntil: string | undefined;
  private readonly files: SchemaFiles;
  private readonly model: SchemaModel;
  private compiled: XsdValidator | undefined;

  /** Throws PedigreeError `invalid_schema_set` as `readSchemaFiles` does. */
  constructor({ folder, name, versions, validFrom, validUntil }: SchemaSetOptions) {
    this.name = name;
    this.versions = versions;
    this.validFrom = validFrom;
    this.validUntil = validUntil;
    this.files = readSchemaFiles(folder);
    this.model = new SchemaModel(this.files);
  }

  get digest(): Sha256 {
    return digestOf(this.files);
  }

  get fileNames(): string[] {
    return [...this.files.bytes.keys()];
  }

  /** Catalogue rows that the set lacks, by element or by number. */
  get lacks(): DocumentType[] {
    return CATALOGUE.filter(({ docType, element }) => this.model.actionIdOf(element) !== docType);
  }

  /** Elements of the set that the catalogue does not know. */
  get unknownElements(): string[] {
    const known = new Set(CATALOGUE.map((type) => type.element));
    return this.model.elements.filter((element) => !known.has(element));
  }

  /** Names of its action elements. */
  get elements(): string[] {
    return this.model.elements;
  }

  /** What each named type of texts allows, in a form that can be compared. */
  get simpleTypes(): Map<string, string> {
    return this.model.simpleTypes;
  }

  shapeOfElement(element: string): DocumentShape | undefined {
    return this.model.shapeOf(element);
  }

  /** What may stand where in a document of this type; undefined when the set lacks it. */
  shapeOf(docType: number): DocumentShape | undefined {
    const type = documentTypeOf(docType);
    return type === undefined ? undefined : this.model.shapeOf(type.element);
  }

  /** What it is that a type of texts narrows, for people: `dateTime`, `decimal`. */
  baseOf(type: string): string | undefined {
    return this.model.baseOf(type);
  }

  /**
   * What is wrong with the document, in its order and at most so much; empty when nothing is. Throws `malformed_xml`.
   */
  violations(bytes: Uint8Array, most = 1_000): ErrorDetail[] {
    const validator = this.validator();
    const document = parse(bytes);
    try {
      withBoundedErrors(most, () => validator.validate(document));
      return [];
    } catch (error) {
      if (error instanceof XmlLibError && error.details.length > 0) return error.details;
      throw error;
    } finally {
      document.dispose();
    }
  }

  /** Rejects when the set does not compile within limits: with `invalid_schema_set`, file and line. */
  verify(limits?: CompileLimits): Promise<void> {
    return compileApart(this.files, limits);
  }

  /** Compiled once and kept for the life of the process. Throws `invalid_schema_set` with file and line. */
  validator(): XsdValidator {
    return (this.compiled ??= compile(this.files));
  }
}

function parse(bytes: Uint8Array): XmlDocument {
  try {
    return XmlDocument.fromBuffer(bytes, { option: PARSE_OPTIONS });
  } catch (error) {
    const detail = error instanceof XmlLibError ? error.details[0] : undefined;
    if (detail === undefined) throw error;
    throw new PedigreeError('malformed_xml', `line ${detail.line}: ${detail.message.trim()}`, { line: detail.line });
  }
}

/** A made-up place, so that the schema files can include each other and nothing else on this machine. */
const PLACE = 'schema-set:/';

/**
 * The files of the set that is being compiled, and no others. The parser asks every provider that was ever told to it,
 * and one cannot be taken back, so there is one for all sets.
 */
const openFiles = new XmlBufferInputProvider({});
let isKnown = false;

function compile({ bytes, root }: SchemaFiles): XsdValidator {
  if (!isKnown) xmlRegisterInputProvider(openFiles);
  isKnown = true;
  for (const [name, content] of bytes) openFiles.addBuffer(`${PLACE}${name}`, content);
  const schema = XmlDocument.fromBuffer(bytes.get(root) as Buffer, { url: `${PLACE}${root}`, option: PARSE_OPTIONS });
  try {
    return XsdValidator.fromDoc(schema);
  } catch (error) {
    const detail = error instanceof XmlLibError ? error.details[0] : undefined;
    if (detail === undefined) throw error;
    throw refused(detail.file?.replace(PLACE, '') ?? root, detail.line, detail.message.trim());
  } finally {
    schema.dispose();
    for (const name of bytes.keys()) openFiles.removeBuffer(`${PLACE}${name}`);
  }
}
