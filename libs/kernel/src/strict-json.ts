import { PedigreeError } from './errors.js';

/** Deepest nesting; a document as JSON needs a third of it. */
const MAX_DEPTH = 32;
/**
 * Most names in one object: far above what any element of a document has. A million in one object would hold the
 * process for seconds.
 */
export const MAX_JSON_NAMES = 1_000;
/**
 * Most objects, lists and names in all: the largest document that is taken has fewer, item by item. Millions of empty
 * lists are as dear as names.
 */
export const MAX_JSON_PARTS = 2_000_000;
/** Names that readers of JSON drop, or take for something else than a field. */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses JSON that every reader understands alike. JSON.parse silently keeps the last of two members of one name, and
 * turns broken UTF-8 into replacement characters, 0.99999999999999999999 into 1 and 1e400 into infinity: what was
 * stored would not be what was sent. NUL, which no database keeps as text, is refused too, and so is what costs too
 * much to read. Throws PedigreeError `invalid_json` with the place. `what` names the text in the error.
 */
export function parseStrictJson(bytes: Uint8Array, what = 'the body'): unknown {
  return read(what, () => {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // First, since what it refuses can be dear to parse.
    refuseUnfit(text);
    return JSON.parse(text) as unknown;
  });
}

function read<T>(what: string, reading: () => T): T {
  try {
    return reading();
  } catch (error) {
    if (error instanceof PedigreeError) throw error;
    throw new PedigreeError('invalid_json', `${what} is not JSON: ${(error as Error).message}`, { field: '' });
  }
}

/** An object or list that is open at this point of the text, and the name or index at which it stands. */
interface Open {
  names: Set<string> | undefined;
  at: string | number;
}

/**
 * Walks over the marks of a text; what is not JSON at all is left to the parser. Long texts are skipped by a search for
 * their end, so this costs next to nothing.
 */
function refuseUnfit(text: string): void {
  const walk = new Walk(text.includes('\\u0000'));
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charAt(index)) {
      case '{':
        walk.open(new Set());
        break;
      case '[':
        walk.open(undefined);
        break;
      case '"': {
        const end = endOfString(text, index);
        walk.take(text.slice(index, end + 1));
        index = end;
        break;
      }
      case ',':
        walk.next();
        break;
      case '}':
      case ']':
        walk.close();
        break;
      default:
        index = walk.passNumber(text, index);
    }
  }
}

/** What a number is written with. */
const NUMBER = /-?\d[-+.\deE]*/y;
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Whether it is read as a whole number, and is none as it is written: no reader keeps so many digits. */
function losesItsFraction(written: string): boolean {
  if (!/[.eE]/.test(written) || !Number.isSafeInteger(Number(written))) return false;
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(written) ?? [];
  return /[1-9]/.test(`${whole}${fraction}`.slice(Math.max(0, whole.length + Number(exponent))));
}

/** More digits than the largest number has. */
const MANY_DIGITS = 300;
/** Whether it is read as infinite, which JSON cannot say again. */
const isEndless = (written: string): boolean =>
  (written.length > MANY_DIGITS || /[eE]/.test(written)) && Math.abs(Number(written)) === Infinity;

/** Where a walk stands, and how much it has met. */
class Walk {
  private readonly path: Open[] = [];
  private inner: Open | undefined;
  private nameComes = false;
  private parts = 0;

  constructor(private readonly mayHoldNul: boolean) {}

  open(names: Set<string> | undefined): void {
    this.count();
    if (this.path.length === MAX_DEPTH) throw refusal(this.path, `is nested more than ${MAX_DEPTH} deep`);
    this.inner = { names, at: names === undefined ? 0 : '' };
    this.path.push(this.inner);
    this.nameComes = names !== undefined;
  }

  close(): void {
    this.path.pop();
    this.inner = this.path.at(-1);
    this.nameComes = false;
  }

  next(): void {
    if (this.inner === undefined) return;
    if (this.inner.names === undefined) this.inner.at = Number(this.inner.at) + 1;
    else this.nameComes = true;
  }

  /** A string as it is written: a name, or a value. */
  take(written: string): void {
    const { inner, path } = this;
    if (this.nameComes && inner?.names !== undefined) this.takeName(stringOf(written), inner, inner.names);
    if (this.mayHoldNul && stringOf(written).includes('\0')) throw refusal(path, 'holds a NUL');
    this.nameComes = false;
  }

  /** Index of the last mark of the number that begins at `index`; the same where none does. */
  passNumber(text: string, index: number): number {
    const mark = text.charAt(index);
    // Blanks are many, and an expression costs more than a look.
    if (mark !== '-' && (mark < '0' || mark > '9')) return index;
    NUMBER.lastIndex = index;
    const [written] = NUMBER.exec(text) ?? [];
    if (written === undefined) return index;
    if (losesItsFraction(written))
      throw refusal(this.path, 'is a number of more digits than are kept: write it as a string');
    if (isEndless(written)) throw refusal(this.path, 'is a larger number than is kept: write it as a string');
    return index + written.length - 1;
  }

  private takeName(name: string, inner: Open, names: Set<string>): void {
    this.count();
    inner.at = name;
    if (FORBIDDEN_NAMES.has(name)) throw refusal(this.path, 'is a name that is not allowed');
    if (names.has(name)) throw refusal(this.path, 'stands here twice');
    if (names.size === MAX_JSON_NAMES) throw refusal(this.path.slice(0, -1), `has more than ${MAX_JSON_NAMES} names`);
    names.add(name);
  }

  private count(): void {
    this.parts += 1;
    if (this.parts > MAX_JSON_PARTS) throw refusal([], `has more than ${MAX_JSON_PARTS} objects, lists and names`);
  }
}

/** What a string of JSON says. */
const stringOf = (written: string): string =>
  written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);

/**
 * Index of the quotation mark that ends the string which begins at `from`: the first that no odd number of backslashes
 * stands before. The text's end where none does.
 */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

function refusal(path: Open[], why: string): PedigreeError {
  const field = pointer(path.map((one) => one.at));
  return new PedigreeError('invalid_json', `${field === '' ? 'the body' : field}: ${why}`, { field });
}

/** The RFC 6901 pointer of a path; empty for the whole. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
