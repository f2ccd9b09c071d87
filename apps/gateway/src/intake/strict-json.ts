import { PedigreeError } from '#kernel';

/** Deepest nesting; a document as JSON needs a third of it. */
const MAX_DEPTH = 32;
/** Names that readers of JSON drop, or take for something else than a field. */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses JSON that every reader understands alike. JSON.parse silently keeps the last of two members of one name and turns broken UTF-8 into
 * replacement characters: what was stored would not be what was sent. Throws PedigreeError `invalid_json` with the place.
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new PedigreeError('invalid_json', `the body is not JSON: ${(error as Error).message}`, { field: '' });
  }
  refuseAmbiguousNames(text);
  return value;
}

/** An object or list that is open at this point of the text, and the name or index at which it stands. */
interface Open {
  names: Set<string> | undefined;
  at: string | number;
}

/** Walks over the marks of a text that is known to be JSON. Long texts are skipped by a search for their end, so this costs next to nothing. */
function refuseAmbiguousNames(text: string): void {
  const marks = /["{}[\],]/g;
  const open: Open[] = [];
  let nameComes = false;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const inner = open.at(-1);
    switch (mark[0]) {
      case '{':
      case '[':
        nameComes = mark[0] === '{';
        open.push(nameComes ? { names: new Set(), at: '' } : { names: undefined, at: 0 });
        if (open.length > MAX_DEPTH) throw refusal(open.slice(0, -1), `is nested more than ${MAX_DEPTH} deep`);
        break;
      case '"': {
        const end = endOfString(text, mark.index);
        if (nameComes && inner !== undefined) takeName(open, inner, JSON.parse(text.slice(mark.index, end + 1)) as string);
        nameComes = false;
        marks.lastIndex = end + 1;
        break;
      }
      case ',':
        if (inner !== undefined && inner.names === undefined) inner.at = Number(inner.at) + 1;
        else nameComes = true;
        break;
      default:
        open.pop();
        nameComes = false;
    }
  }
}

function takeName(open: Open[], inner: Open, name: string): void {
  inner.at = name;
  if (FORBIDDEN_NAMES.has(name)) throw refusal(open, 'is a name that is not allowed');
  if (inner.names?.has(name) === true) throw refusal(open, 'stands here twice');
  inner.names?.add(name);
}

/** Index of the quotation mark that ends the string which begins at `from`: the first that no odd number of backslashes stands before. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

function refusal(open: Open[], why: string): PedigreeError {
  const field = pointer(open.map((one) => one.at));
  return new PedigreeError('invalid_json', `${field}: ${why}`, { field });
}

/** The RFC 6901 pointer of a path; empty for the whole. */
export const pointer = (path: readonly PropertyKey[]): string => path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
