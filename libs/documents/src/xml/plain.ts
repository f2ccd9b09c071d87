import type { XmlPlace, XmlTokens } from './tokens.js';

/**
 * Reads a text of `textOf` as long as it is plain: tags and texts of the forms below, which can be understood in one
 * way only. Tells where it stopped, for a parser of the whole of XML to go on: before a comment, a CDATA section, a
 * reference, a name that is not ASCII, and all that is wrong; undefined at the end of the text. So long as it reads, it
 * tells what that parser would tell (plain.prop.spec.ts).
 */
export function readPlain(text: string, heard: XmlTokens): XmlPlace | undefined {
  return new PlainReader(text, heard).read();
}

/** An XML declaration without surprises, and blanks. */
const PROLOG =
  /^(?:<\?xml version=(["'])1\.0\1(?: encoding=(["'])[Uu][Tt][Ff]-8\2)?(?: standalone=(["'])(?:yes|no)\3)? ?\?>)?[ \t\n]{0,99}/;
const ATTRIBUTE = /[ \t\n]+([:A-Z_a-z][-.:\w]*)=(?:"([^"<&\0-\x1f\ufffe\uffff]*)"|'([^'<&\0-\x1f\ufffe\uffff]*)')/y;
const TAG_END = /[ \t\n]*\/?>/y;
const BLANK = /^[ \t\n]*$/;

const [LINE_FEED, SLASH, LESS, GREATER] = [0x0a, 0x2f, 0x3c, 0x3e] as const;

/** What an ASCII character may stand in. */
const [NAME_START, NAME, TEXT] = [1, 2, 4] as const;
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  const mayStand = (where: RegExp, kind: number): number => (where.test(character) ? kind : 0);
  return mayStand(/[:A-Z_a-z]/, NAME_START) + mayStand(/[-.:\w]/, NAME) + mayStand(/[^\0-\x08\x0b-\x1f&<\]]/, TEXT);
});

const isAscii = (code: number, kind: number): boolean => ((ASCII[code] as number) & kind) !== 0;
/** Above ASCII only the last two are no characters of XML: the text was UTF-8, so that no surrogate stands alone. */
const isText = (code: number): boolean => (code < 128 ? isAscii(code, TEXT) : code < 0xfffe);

const NO_ATTRIBUTES: Readonly<Record<string, string>> = Object.freeze(Object.create(null) as Record<string, string>);

/** A power of two; a document has some twenty names. */
const NAMES_REMEMBERED = 256;

class PlainReader {
  private at = 0;
  private line = 1;
  private readonly open: string[] = [];
  private readonly names: string[] = new Array<string>(NAMES_REMEMBERED).fill('');

  constructor(
    private readonly text: string,
    private readonly heard: XmlTokens,
  ) {}

  read(): XmlPlace | undefined {
    const { text } = this;
    this.at = PROLOG.exec(text)?.[0].length ?? 0;
    this.line += lineFeeds(text, 0, this.at);
    if (!this.readOpenTag()) return { at: 0, line: 1, open: [], isBehindRoot: false };
    while (this.readText() && this.at < text.length) if (!this.readTag()) break;
    const isBehindRoot = this.open.length === 0;
    if (isBehindRoot && this.at === text.length) return undefined;
    return { at: this.at, line: this.line, open: this.open, isBehindRoot };
  }

  /** Reads up to the next tag, or behind the root to the end; nothing but blanks there. */
  private readText(): boolean {
    const { text, at: from } = this;
    const isBehindRoot = this.open.length === 0;
    let { line } = this;
    let at = from;
    let code = text.charCodeAt(at);
    while (isText(code)) {
      if (code === LINE_FEED) line += 1;
      at += 1;
      code = text.charCodeAt(at);
    }
    if (code !== LESS && !(isBehindRoot && at === text.length)) return false;
    if (at === from) return true;
    const part = text.slice(from, at);
    if (isBehindRoot && !BLANK.test(part)) return false;
    this.at = at;
    this.line = line;
    this.heard.text(part, line);
    return true;
  }

  private readTag(): boolean {
    if (this.open.length === 0) return false;
    return this.text.charCodeAt(this.at + 1) === SLASH ? this.readCloseTag() : this.readOpenTag();
  }

  private readCloseTag(): boolean {
    const { text } = this;
    const name = this.open[this.open.length - 1] as string;
    const from = this.at + 2;
    const end = from + name.length;
    if (!text.startsWith(name, from) || text.charCodeAt(end) !== GREATER) return false;
    this.at = end + 1;
    this.open.pop();
    this.heard.close(name, this.line);
    return true;
  }

  private readOpenTag(): boolean {
    const { text } = this;
    const from = this.at + 1;
    if (text.charCodeAt(this.at) !== LESS || !isAscii(text.charCodeAt(from), NAME_START)) return false;
    const name = this.nameAt(from);
    const end = from + name.length;
    if (text.charCodeAt(end) !== GREATER) return this.readRestOfTag(name, end);
    this.at = end + 1;
    this.open.push(name);
    this.heard.open(name, NO_ATTRIBUTES, this.line);
    return true;
  }

  /** The same string for the same name, as far as there is room: one that is new each time makes a slow key. */
  private nameAt(from: number): string {
    const { text, names } = this;
    let end = from;
    let slot = 0;
    for (let code = text.charCodeAt(end); isAscii(code, NAME); code = text.charCodeAt(end)) {
      slot = (slot * 31 + code) % NAMES_REMEMBERED;
      end += 1;
    }
    const name = names[slot] as string;
    if (name.length === end - from && text.startsWith(name, from)) return name;
    return (names[slot] = text.slice(from, end));
  }

  /** Behind the name: attributes, and the end of a tag. */
  private readRestOfTag(name: string, from: number): boolean {
    const { text } = this;
    const attributes = Object.create(null) as Record<string, string>;
    let at = from;
    for (let found = matchAt(ATTRIBUTE, text, at); found !== null; found = matchAt(ATTRIBUTE, text, at)) {
      const [whole, attribute = '', inDouble, inSingle = ''] = found;
      if (attribute in attributes) return false;
      attributes[attribute] = inDouble ?? inSingle;
      at += whole.length;
    }
    const end = matchAt(TAG_END, text, at)?.[0];
    if (end === undefined) return false;
    this.at = at + end.length;
    this.line += lineFeeds(text, from, this.at);
    this.heard.open(name, attributes, this.line);
    if (end.endsWith('/>')) this.heard.close(name, this.line);
    else this.open.push(name);
    return true;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const lineFeeds = (text: string, from: number, to: number): number => text.slice(from, to).split('\n').length - 1;
