import { isUtf8 } from 'node:buffer';
import { PedigreeError, type ErrorPlace } from '#kernel';

/** Largest document that is read, in bytes: 150,000 items with their rows fit four times over. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

/** Bad XML with its line in the message and in the place. */
export function xmlError(
  code: 'malformed_xml' | 'forbidden_xml' | 'schema_violation',
  message: string,
  place: ErrorPlace & { line: number },
): PedigreeError {
  return new PedigreeError(code, `line ${place.line}: ${message}`, place);
}

/**
 * The text of a document: without a byte order mark, and with each end of line as one line feed (XML 1.0, 2.11).
 * Refuses what no parser is to see: too many bytes, other encodings than UTF-8, which would let two readers see two
 * documents, document type declarations and processing instructions.
 */
export function textOf(bytes: Uint8Array): string {
  const text = decode(bytes);
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  refuseDeclarations(lines);
  return lines;
}

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
    if (declared !== undefined) refuseXmlDeclaration({ encoding: declared });
    throw xmlError('malformed_xml', 'the bytes are not valid UTF-8', { line: lineAt(text, text.indexOf('\uFFFD')) });
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** UTF-16 or UTF-32: a byte order mark of theirs, or a zero byte beside the first character. */
const isWide = ([first, second]: Uint8Array): boolean =>
  (first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe) || first === 0 || second === 0;

/** Throws `forbidden_xml` for another version of XML than 1.0, and for another encoding than UTF-8. */
export function refuseXmlDeclaration({ version, encoding }: { version?: string; encoding?: string }): void {
  const refuse = (what: string) => xmlError('forbidden_xml', what, { line: 1 });
  if (version !== undefined && version !== '1.0') throw refuse(`XML version ${version} is not allowed, only 1.0`);
  if (encoding !== undefined && !UTF_8.test(encoding)) throw refuse(`encoding ${encoding} is not allowed, only UTF-8`);
}

const UTF_8 = /^utf-?8$/i;

/**
 * Refuses document type declarations and processing instructions before anything is parsed, also where they stand in a
 * comment or a CDATA section: no document needs them there, and a reader that saw the borders differently would obey
 * them.
 */
function refuseDeclarations(text: string): void {
  FORBIDDEN.lastIndex = /^<\?xml\s/.test(text) ? 2 : 0;
  const found = FORBIDDEN.exec(text);
  if (found === null) return;
  const [sign] = found;
  throw xmlError('forbidden_xml', `${DECLARATIONS[sign]} (${sign}) is not allowed`, {
    line: lineAt(text, found.index),
  });
}

const FORBIDDEN = /<(?:\?|!DOCTYPE|!ENTITY)/g;
const DECLARATIONS: Record<string, string> = {
  '<!DOCTYPE': 'a document type declaration',
  '<!ENTITY': 'an entity declaration',
  '<?': 'a processing instruction',
};

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;
