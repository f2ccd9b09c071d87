import type { JsonValue } from '#kernel';

/**
 * A number that may not come back as it was written: with a fraction, an exponent or more digits than a double has. It
 * may also lie in a text.
 */
const SUSPECT = /\d[.eE]|\d{16}/;
const MOST_EXACT_DIGITS = 15;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/**
 * JSON.parse, but for numbers that a double does not give back as they were written: these stay the text that came. So
 * no amount loses a digit or a trailing zero, and no long identifier its end. Undoes the escaping of JSON answers
 * (registry-interface 7.3), once. @throws SyntaxError.
 */
export function parseExactly(text: string): JsonValue {
  const parsed = JSON.parse(text) as JsonValue;
  return SUSPECT.test(text) ? (JSON.parse(withInexactQuoted(text)) as JsonValue) : parsed;
}

/** @param text Valid JSON. */
function withInexactQuoted(text: string): string {
  const parts: string[] = [];
  let taken = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (isOfNumber(code)) {
      const from = at;
      while (isOfNumber(text.charCodeAt(at))) at += 1;
      const token = text.slice(from, at);
      if (isExact(token)) continue;
      parts.push(text.slice(taken, from), `"${token}"`);
      taken = at;
    } else at += 1;
  }
  return parts.join('') + text.slice(taken);
}

/** Behind the quote that ends the text which begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/**
 * Digits, the signs, the dot. The exponent's letter as well: outside of texts it stands else in true, false and null
 * alone, whose first letters are others.
 */
const isOfNumber = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45;

function isExact(token: string): boolean {
  const value = Number(token);
  // The "e" of true and false.
  if (Number.isNaN(value) || String(value) === token) return true;
  const [mantissa = '', exponent] = token.split(/e/i);
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '').length;
  return exponent !== undefined && Number.isFinite(value) && digits <= MOST_EXACT_DIGITS;
}
