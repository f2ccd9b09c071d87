import { PedigreeError } from '#kernel';
import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlLibError,
  xmlRegisterInputProvider,
  XsdValidator,
  type ErrorDetail,
} from 'libxml2-wasm';
import { documentShape } from './document-shape.js';
import { readInstant } from './instants.js';
import type { DocumentFacts } from './port.js';
import { FIELD_DEPTH, readDocument } from './read-document.js';
import { SCHEMA_VERSION, schemaEntries, schemaFile, SHARED_TYPES } from './schema-set.js';
import { walkXml } from './walk-xml.js';

/** No network, no entities, no catalogues, no huge documents; line numbers above 65,535 are kept. */
const PARSE_OPTIONS: ParseOption =
  ParseOption.XML_PARSE_NONET |
  ParseOption.XML_PARSE_NO_XXE |
  ParseOption.XML_PARSE_NO_SYS_CATALOG |
  ParseOption.XML_PARSE_BIG_LINES;

/** A made-up place, so that the schema files can include each other and nothing else on this machine. */
const SCHEMA_PLACE = 'schema-set:/';

/** Compiled once each and kept for the life of the process. */
const validators = new Map<number, XsdValidator>();

/**
 * Reads a document as `readDocument` does and holds it against the schema set (public-facts 2.2); an operation date
 * must moreover exist and lie in the years 2000 to 2100, because the schema takes the year 1 too. Throws PedigreeError
 * as `readDocument` does, and `schema_violation` with the element's path and line.
 */
export function checkDocument(bytes: Uint8Array): DocumentFacts {
  const facts = readDocument(bytes);
  if (facts.schemaVersion !== SCHEMA_VERSION) {
    const message = `documents/@version is ${facts.schemaVersion}; the schema set known here is ${SCHEMA_VERSION}`;
    throw new PedigreeError('schema_violation', message, { element: '/documents/@version' });
  }
  const head = bytes.length > HEAD_IS_WORTH_BYTES ? headOf(bytes, facts.docType) : undefined;
  if (head !== undefined) refuseBadRows(head, facts.docType);
  validate(bytes, facts.docType);
  refuseImpossibleDate(bytes, facts);
  return facts;
}

function refuseImpossibleDate(bytes: Uint8Array, { element, fields }: DocumentFacts): void {
  if (fields.operation_date === undefined) return;
  const read = readInstant(fields.operation_date);
  if ('at' in read) return;
  const line = lineOfField(bytes, 'operation_date');
  const message = `line ${line}: operation_date "${fields.operation_date.slice(0, 60)}" ${read.why}`;
  throw new PedigreeError('schema_violation', message, { line, element: `/documents/${element}/operation_date` });
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

/** From this size on the first rows are tried alone. */
const HEAD_IS_WORTH_BYTES = 128 * 1024;
const HEAD_ROWS = 100;

/**
 * The document with its first rows only. The validator cannot be told to stop at the first error, and it spends longer
 * on each error the later its row stands: a file of 25,000 rows with the same mistake in each would hold the process
 * for seconds.
 */
function headOf(bytes: Uint8Array, docType: number): Uint8Array | undefined {
  const { action } = documentShape(docType);
  const list = action.children?.find((field) => field.children?.some((row) => row.many && row.children !== undefined));
  const row = list?.children?.find((one) => one.many);
  if (list === undefined || row === undefined) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const endOfRow = `</${row.name}>`;
  let end = 0;
  for (let i = 0; i < HEAD_ROWS; i += 1) {
    const at = buffer.indexOf(endOfRow, end);
    if (at < 0) return undefined;
    end = at + endOfRow.length;
  }
  return Buffer.concat([buffer.subarray(0, end), Buffer.from(`</${list.name}></${action.name}></documents>`)]);
}

/**
 * Only what is wrong within a row counts here: around the rows the head lacks what the document may have. Whatever else
 * is wrong comes up again when the whole is validated.
 */
function refuseBadRows(head: Uint8Array, docType: number): void {
  try {
    validate(head, docType);
  } catch (error) {
    if (
      error instanceof PedigreeError &&
      error.code === 'schema_violation' &&
      /\[\d+\]/.test(error.place.element ?? '')
    )
      throw error;
  }
}

/** Holds a receipt against its schema; for tests and for those who make receipts. */
export const checkReceiptSchema = (bytes: Uint8Array): void => validate(bytes, 200);

function validate(bytes: Uint8Array, docType: number): void {
  const validator = validatorOf(docType);
  const document = parse(bytes);
  try {
    validator.validate(document);
  } catch (error) {
    if (error instanceof XmlLibError && error.details.length > 0) throw violation(error.details);
    throw error;
  } finally {
    document.dispose();
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

function violation(details: ErrorDetail[]): PedigreeError {
  const { line, xpath, message } = details[0] as ErrorDetail;
  const more = details.length > 1 ? ' (and more)' : '';
  const element = xpath ?? '';
  return new PedigreeError('schema_violation', `line ${line}, ${element}: ${message.trim()}${more}`, { line, element });
}

function validatorOf(docType: number): XsdValidator {
  const known = validators.get(docType);
  if (known !== undefined) return known;
  const entry = schemaEntries.find((one) => one.docType === docType);
  if (entry === undefined) throw new Error(`the schema set has no file for document type ${docType}`);
  const validator = compile(entry.file);
  validators.set(docType, validator);
  return validator;
}

let sharedTypesAreKnown = false;

/**
 * The parser may open the set's shared types, under a made-up address, and nothing else. They stay known to it: taking
 * one provider back is not possible, and taking all back would take those of others in this process too.
 */
function compile(file: string): XsdValidator {
  if (!sharedTypesAreKnown)
    xmlRegisterInputProvider(
      new XmlBufferInputProvider({ [`${SCHEMA_PLACE}${SHARED_TYPES}`]: schemaFile(SHARED_TYPES) }),
    );
  sharedTypesAreKnown = true;
  const schema = XmlDocument.fromBuffer(schemaFile(file), { url: `${SCHEMA_PLACE}${file}`, option: PARSE_OPTIONS });
  try {
    return XsdValidator.fromDoc(schema);
  } finally {
    schema.dispose();
  }
}
