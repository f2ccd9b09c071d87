import { isJsonObject, PedigreeError, type JsonObject, type JsonValue } from '#kernel';
import { documentTypeOf, type DocumentType } from './catalogue/catalogue.js';
import type { DocumentJson } from './port.js';
import type { DocumentShape, ElementShape } from './schemas/schema-model.js';
import type { SchemaSet } from './schemas/schema-set.js';
import { builtInSchemas, type SchemaSets } from './schemas/schema-sets.js';

/**
 * Under this name an element with attributes carries its text: `{"sgtin": {"value": "...", "withdrawal_part": "1/2"}}`.
 */
const TEXT_FIELD = 'value';

/**
 * Writes the XML of a document that an ERP gave as JSON: `action_id`, the children of the action element by name in any
 * order, arrays for what repeats, and, where wanted, the envelope's `version`, `session_ui`, `original_id` and
 * `client_identifier`. The schema set of the version gives the order. Texts are strings; whole numbers and booleans are
 * taken as they are, and fractions must be strings, so that no amount goes through a binary float. No XML declaration
 * is written: one once made the registry fail (public-facts 2). Throws PedigreeError `unknown_document_type`, or
 * `invalid_command` with the JSON pointer of what does not belong. What is missing or out of range is said by
 * `checkDocument`, which the result is to be given to.
 */
export function buildDocument(json: DocumentJson, schemas: SchemaSets = builtInSchemas()): Buffer {
  const { action_id: docType } = json;
  const type = typeof docType === 'number' ? documentTypeOf(docType) : undefined;
  if (type === undefined || type.direction === 'answer') {
    const message = `/action_id: ${JSON.stringify(docType)} is not a document type that is known here`;
    throw new PedigreeError('unknown_document_type', message, { field: '/action_id' });
  }
  const version = json.version === undefined ? schemas.usualVersion : scalarText(json.version, '/version');
  const { envelope, action } = shapeOf(schemas.forVersion(version), type);
  const outside = ['action_id', 'version', ...envelope];
  const rest = Object.fromEntries(Object.entries(json).filter(([name]) => !outside.includes(name)));
  const attributes = envelope
    .filter((name) => json[name] !== undefined)
    .map((name) => ` ${name}="${escapeXml(scalarText(json[name] as JsonValue, `/${name}`))}"`)
    .join('');
  const open = `<documents version="${escapeXml(version)}"${attributes}><${action.name} action_id="${docType}">`;
  return Buffer.from(`${open}${children(action.children ?? [], rest, '')}</${action.name}></documents>`, 'utf8');
}

function shapeOf(set: SchemaSet, { docType, element }: DocumentType): DocumentShape {
  const shape = set.shapeOf(docType);
  if (shape !== undefined) return shape;
  const message = `/action_id: the schema set ${set.name} has no <${element}> (${docType})`;
  throw new PedigreeError('unknown_document_type', message, { field: '/action_id' });
}

/** The children that `json` names, in the order of `shapes`. */
function children(shapes: ElementShape[], json: JsonObject, pointer: string): string {
  let xml = '';
  let known = 0;
  for (const shape of shapes) {
    const value = Object.hasOwn(json, shape.name) ? json[shape.name] : undefined;
    if (value === undefined) continue;
    known += 1;
    xml += occurrences(shape, value, `${pointer}/${shape.name}`);
  }
  if (known < Object.keys(json).length) refuseUnknown(shapes, json, pointer);
  return xml;
}

function refuseUnknown(shapes: ElementShape[], json: JsonObject, pointer: string): void {
  const names = shapes.map((shape) => shape.name);
  const unknown = Object.keys(json).find((name) => !names.includes(name));
  // An undefined member counts as a key and names nothing.
  if (unknown === undefined || json[unknown] === undefined) return;
  const field = `${pointer}/${unknown.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  throw invalid(field, `is not a field here; known are ${[...new Set(names)].join(', ')}`);
}

function occurrences(shape: ElementShape, value: JsonValue, pointer: string): string {
  if (!Array.isArray(value)) return element(shape, value, pointer);
  if (!shape.many) throw invalid(pointer, 'is a list, but this element does not repeat');
  let xml = '';
  for (let i = 0; i < value.length; i += 1) xml += element(shape, value[i] as JsonValue, `${pointer}/${i}`);
  return xml;
}

function element(shape: ElementShape, value: JsonValue, pointer: string): string {
  const { name } = shape;
  if (shape.children !== undefined) {
    if (!isJsonObject(value)) throw invalid(pointer, 'must be an object with fields');
    return `<${name}>${children(shape.children, value, pointer)}</${name}>`;
  }
  if (!isJsonObject(value)) return `<${name}>${escapeXml(scalarText(value, pointer))}</${name}>`;
  if (shape.attributes.length === 0) throw invalid(pointer, 'must be a text, not an object');
  let attributes = '';
  for (const [field, text] of Object.entries(value)) {
    if (field === TEXT_FIELD) continue;
    if (!shape.attributes.includes(field))
      throw invalid(
        `${pointer}/${field}`,
        `is not a field here; known are ${TEXT_FIELD}, ${shape.attributes.join(', ')}`,
      );
    attributes += ` ${field}="${escapeXml(scalarText(text, `${pointer}/${field}`))}"`;
  }
  const text = Object.hasOwn(value, TEXT_FIELD) ? value[TEXT_FIELD] : undefined;
  if (text === undefined) throw invalid(`${pointer}/${TEXT_FIELD}`, 'is missing');
  return `<${name}${attributes}>${escapeXml(scalarText(text, `${pointer}/${TEXT_FIELD}`))}</${name}>`;
}

/** What XML 1.0 cannot carry at all: control characters, halves of surrogate pairs, two non-characters. */
const NOT_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/u;

function scalarText(value: JsonValue, pointer: string): string {
  if (typeof value === 'string') {
    const at = value.search(NOT_XML);
    if (at >= 0) throw invalid(pointer, `holds a character at ${at} that XML cannot carry`);
    return value;
  }
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return String(value);
    throw invalid(pointer, 'is a fraction or too large for a number: write it as a string');
  }
  throw invalid(
    pointer,
    value === null ? 'is null: leave it out, or give it a text' : 'must be a text, a whole number or a boolean',
  );
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** Line ends and tabs are written as references, for a reader would change them otherwise. */
export const escapeXml = (text: string): string =>
  /[&<>"\r\n\t]/.test(text) ? text.replace(/[&<>"\r\n\t]/g, (char) => ESCAPES[char] as string) : text;

const invalid = (field: string, why: string): PedigreeError =>
  new PedigreeError('invalid_command', `${field}: ${why}`, { field });
