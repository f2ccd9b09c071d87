import { canonicalJson } from './canonical-json.js';

/**
 * The RFC 8785 text of what this JSON text says. Text that is in that form already, as all that was written by
 * `canonicalJson`, is looked through and given back; other text is read and written anew, which takes many times as
 * long. Throws SyntaxError for text that is not JSON.
 */
export const canonicalText = (text: string): string =>
  isPlain(text) ? text : canonicalJson(JSON.parse(text) as unknown);

/** What stands escaped in JSON, or would have to: such text is not judged here. */
const ESCAPED = /[\\\u0000-\u001f\ud800-\udfff]/;
/** Whole numbers that have no other form. */
const INTEGER = /0|-?[1-9]\d{0,14}/y;
const MOST_LEVELS = 64;

/** False also for some text that is in the form: a fraction, a backslash, deep nesting. */
function isPlain(text: string): boolean {
  if (ESCAPED.test(text)) return false;
  const end = valueEnd(text, 0, MOST_LEVELS);
  return end === text.length;
}

/** Nothing that could be read stands here. */
const NOWHERE = -1;

/** Where the value that begins here ends. */
function valueEnd(text: string, at: number, levels: number): number {
  switch (text.charAt(at)) {
    case '"':
      return stringEnd(text, at);
    case '{':
      return levels === 0 ? NOWHERE : objectEnd(text, at, levels - 1);
    case '[':
      return levels === 0 ? NOWHERE : arrayEnd(text, at, levels - 1);
    case 't':
      return text.startsWith('true', at) ? at + 4 : NOWHERE;
    case 'f':
      return text.startsWith('false', at) ? at + 5 : NOWHERE;
    case 'n':
      return text.startsWith('null', at) ? at + 4 : NOWHERE;
    default:
      INTEGER.lastIndex = at;
      return INTEGER.test(text) ? INTEGER.lastIndex : NOWHERE;
  }
}

/** Without a backslash the next quote ends it. `indexOf` gives -1 where there is none, and so does this. */
const stringEnd = (text: string, at: number): number => text.indexOf('"', at + 1) + 1 || NOWHERE;

function arrayEnd(text: string, from: number, levels: number): number {
  if (text[from + 1] === ']') return from + 2;
  let at = from;
  do {
    at = valueEnd(text, at + 1, levels);
    if (at === NOWHERE) return NOWHERE;
  } while (text[at] === ',');
  return text[at] === ']' ? at + 1 : NOWHERE;
}

/** Its names ascend, by UTF-16 code units as strings compare, and none comes twice. */
function objectEnd(text: string, from: number, levels: number): number {
  if (text[from + 1] === '}') return from + 2;
  let before: string | undefined;
  let at = from;
  do {
    if (text[at + 1] !== '"') return NOWHERE;
    const colon = stringEnd(text, at + 1);
    const name = text.slice(at + 2, colon - 1);
    if (text[colon] !== ':' || (before !== undefined && before >= name)) return NOWHERE;
    before = name;
    at = valueEnd(text, colon + 1, levels);
    if (at === NOWHERE) return NOWHERE;
  } while (text[at] === ',');
  return text[at] === '}' ? at + 1 : NOWHERE;
}
