import { isUtf8 } from 'node:buffer';
import { PedigreeError, type ErrorPlace } from '#kernel';
import { SaxesParser, type XMLDecl } from 'saxes';

type Parser = SaxesParser<{ position: false; xmlns: false }>;

/** Largest document that is read, in bytes: 150,000 items with their rows fit four times over. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;
/** Deepest nesting; the schema set needs 8. */
export const MAX_DEPTH = 32;
/** Longest text of one element or attribute; the schema set allows 4,000. */
const MAX_VALUE_CHARACTERS = 65_536;

export interface XmlLeaf {
  name: string;
  /** The root element is at depth 0. */
  depth: number;
  text: string;
  /** False when a comment or a CDATA section stands inside. */
  plain: boolean;
  line: number;
}

/** Hears the elements of a document in order. What it throws ends the walk. */
export interface XmlListener {
  open(name: string, attributes: Record<string, string>, at: { depth: number; line: number }): void;
  /** An element without child elements ended. */
  leaf(leaf: XmlLeaf): void;
  /** An element with child elements ended. */
  close(name: string, depth: number): void;
}

/** Bad XML with its line in the message and in the place. */
export function xmlError(
  code: 'malformed_xml' | 'forbidden_xml' | 'schema_violation',
  message: string,
  place: ErrorPlace & { line: number },
): PedigreeError {
  return new PedigreeError(code, `line ${place.line}: ${message}`, place);
}

/**
 * Reads UTF-8 XML without a tree. Refuses with PedigreeError: `body_too_large`; `malformed_xml`; `forbidden_xml` for
 * all that these documents never need and that has been used against readers: document type declarations, entities,
 * processing instructions, namespaces, other encodings, deep nesting; `schema_violation` for text between elements and
 * for overlong values.
 */
export function walkXml(bytes: Uint8Array, listener: XmlListener): void {
  const text = decode(bytes);
  refuseDeclarations(text);
  const parser: Parser = new SaxesParser({ position: false, xmlns: false });
  const walk = new Walk(parser, listener);
  // With more than seven handlers the parser's object loses its fast form, and reading takes seven times as long: so
  // what is forbidden is searched for beforehand, and attributes and the XML declaration are looked at when an element
  // opens.
  parser.on('opentag', (tag) => walk.open(tag.name, tag.attributes));
  parser.on('closetag', (tag) => walk.close(tag.name));
  parser.on('text', (part) => walk.text(part));
  parser.on('cdata', (part) => walk.broken(part));
  parser.on('comment', () => walk.broken(''));
  parser.on('error', ({ message }) => {
    const { line } = parser;
    if (message.startsWith('undefined entity'))
      throw xmlError('forbidden_xml', 'an entity is used that XML does not define by itself', { line });
    throw xmlError('malformed_xml', message.replace(/\.$/, ''), { line });
  });
  parser.write(text);
  parser.close();
}

/** The state of one walk: how deep it is, and the text since the last tag. */
class Walk {
  private depth = -1;
  private deepest = -1;
  private value = '';
  private plain = true;

  constructor(
    private readonly parser: Parser,
    private readonly listener: XmlListener,
  ) {}

  open(name: string, attributes: Record<string, string>): void {
    this.refuseStrayText(name);
    if (this.depth === -1) refuseXmlDeclaration(this.parser.xmlDecl);
    this.depth += 1;
    this.deepest = this.depth;
    this.plain = true;
    const { line } = this.parser;
    if (this.depth >= MAX_DEPTH)
      throw xmlError('forbidden_xml', `elements are nested more than ${MAX_DEPTH} deep`, { line, element: name });
    if (name.includes(':'))
      throw xmlError('forbidden_xml', `<${name}> has a namespace prefix; these documents have no namespaces`, {
        line,
        element: name,
      });
    for (const attribute in attributes) refuseAttribute(attribute, attributes[attribute] as string, line);
    this.listener.open(name, attributes, { depth: this.depth, line });
  }

  close(name: string): void {
    if (this.deepest === this.depth) {
      this.listener.leaf({ name, depth: this.depth, text: this.value, plain: this.plain, line: this.parser.line });
      this.value = '';
    } else {
      this.refuseStrayText(name);
      this.listener.close(name, this.depth);
    }
    this.depth -= 1;
  }

  text(part: string): void {
    if (this.value.length + part.length > MAX_VALUE_CHARACTERS) {
      throw xmlError('schema_violation', `a text is longer than ${MAX_VALUE_CHARACTERS} characters`, {
        line: this.parser.line,
      });
    }
    this.value += part;
  }

  broken(part: string): void {
    this.plain = false;
    this.text(part);
  }

  private refuseStrayText(name: string): void {
    if (this.value === '') return;
    if (this.value.trim() !== '')
      throw xmlError('schema_violation', `text stands between elements, near <${name}>`, {
        line: this.parser.line,
        element: name,
      });
    this.value = '';
  }
}

function refuseAttribute(name: string, value: string, line: number): void {
  if (name === 'xmlns' || name.includes(':'))
    throw xmlError('forbidden_xml', `attribute ${name}: these documents have no namespaces`, { line });
  if (value.length > MAX_VALUE_CHARACTERS)
    throw xmlError('schema_violation', `attribute ${name} is longer than ${MAX_VALUE_CHARACTERS} characters`, { line });
}

/**
 * Refuses document type declarations and processing instructions before anything is parsed, also where they stand in a
 * comment or a CDATA section: no document needs them there, and a reader that saw the borders differently would obey
 * them.
 */
function refuseDeclarations(text: string): void {
  const afterXmlDeclaration = /^<\?xml\s/.test(text) ? 2 : 0;
  for (const [sign, what] of [
    ['<!DOCTYPE', 'a document type declaration'],
    ['<!ENTITY', 'an entity declaration'],
    ['<?', 'a processing instruction'],
  ] as const) {
    const at = text.indexOf(sign, afterXmlDeclaration);
    if (at >= 0) throw xmlError('forbidden_xml', `${what} (${sign}) is not allowed`, { line: lineAt(text, at) });
  }
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

function refuseXmlDeclaration({ version, encoding }: XMLDecl): void {
  const refuse = (what: string) => xmlError('forbidden_xml', what, { line: 1 });
  if (version !== undefined && version !== '1.0') throw refuse(`XML version ${version} is not allowed, only 1.0`);
  if (encoding !== undefined && !UTF_8.test(encoding)) throw refuse(`encoding ${encoding} is not allowed, only UTF-8`);
}

const UTF_8 = /^utf-?8$/i;

/** UTF-16 or UTF-32: a byte order mark of theirs, or a zero byte beside the first character. */
const isWide = ([first, second]: Uint8Array): boolean =>
  (first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe) || first === 0 || second === 0;

/**
 * The text of `bytes`, without a byte order mark. Refuses other encodings than UTF-8, which would let two readers see
 * two documents.
 */
function decode(bytes: Uint8Array): string {
  if (bytes.length > MAX_DOCUMENT_BYTES) {
    throw new PedigreeError(
      'body_too_large',
      `the document has ${bytes.length} bytes; at most ${MAX_DOCUMENT_BYTES} are read`,
      { field: 'document' },
    );
  }
  if (isWide(bytes)) {
    throw xmlError('forbidden_xml', 'the text is UTF-16 or UTF-32; only UTF-8 is allowed', { line: 1 });
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  if (!isUtf8(bytes)) {
    const declared = /^\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)/.exec(buffer.toString('latin1', 0, 200))?.[1];
    if (declared !== undefined && !UTF_8.test(declared))
      throw xmlError('forbidden_xml', `encoding ${declared} is not allowed, only UTF-8`, { line: 1 });
    throw xmlError('malformed_xml', 'the bytes are not valid UTF-8', { line: lineAt(text, text.indexOf('\uFFFD')) });
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
