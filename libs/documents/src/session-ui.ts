const ATTRIBUTE = 'session_ui';
const BLANKS = /[ \t\r\n]*/y;
const NAME = /[^ \t\r\n=/>]+/y;
const EQUALS = /[ \t\r\n]*=[ \t\r\n]*/y;

/**
 * The document with this `session_ui` on its root, and everything else byte for byte. The registry refuses content that
 * it had before (public-facts 2), so a document that is sent again is told apart by it. `bytes` is a document that
 * `checkDocument` has passed; `sessionUi` needs no escape in XML. Pure.
 */
export function withSessionUi(bytes: Uint8Array, sessionUi: string): Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // A character is a byte here: every mark of XML is ASCII, and no byte of another letter looks like one.
  const text = buffer.toString('latin1');
  const { from, to, written } = placeIn(text, rootIn(text), sessionUi);
  return Buffer.concat([buffer.subarray(0, from), Buffer.from(written, 'utf8'), buffer.subarray(to)]);
}

/** Index of the root's `<`: behind a byte order mark, an XML declaration, comments and blanks. */
function rootIn(text: string): number {
  let at = text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0;
  for (;;) {
    at = endOf(BLANKS, text, at);
    if (text.startsWith('<?', at)) at = behind(text, '?>', at + 2);
    else if (text.startsWith('<!--', at)) at = behind(text, '-->', at + 4);
    else if (text.charAt(at) === '<') return at;
    else throw noDocument();
  }
}

/** What is written from where to where: the value of the attribute, or all of it behind the root's name. */
function placeIn(text: string, root: number, sessionUi: string): { from: number; to: number; written: string } {
  const name = endOf(NAME, text, root + 1);
  let at = endOf(BLANKS, text, name);
  while (text.charAt(at) !== '>' && text.charAt(at) !== '/') {
    const attribute = text.slice(at, endOf(NAME, text, at));
    const quote = endOf(EQUALS, text, at + attribute.length);
    const end = behind(text, text.charAt(quote), quote + 1);
    if (attribute === ATTRIBUTE) return { from: quote + 1, to: end - 1, written: sessionUi };
    at = endOf(BLANKS, text, end);
  }
  return { from: name, to: name, written: ` ${ATTRIBUTE}="${sessionUi}"` };
}

/** Where a match at this place ends. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  if (!pattern.test(text)) throw noDocument();
  return pattern.lastIndex;
}

function behind(text: string, mark: string, from: number): number {
  const at = mark === '' ? -1 : text.indexOf(mark, from);
  if (at < 0) throw noDocument();
  return at + mark.length;
}

const noDocument = (): Error => new Error('a document without a root cannot be given a session_ui');
