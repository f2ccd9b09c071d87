import type { JsonValue } from '#kernel';
import { parse } from 'lossless-json';

const MOST_EXACT_DIGITS = 15;

/**
 * JSON.parse, but for numbers that a double does not give back as they were written: these stay the text that came. So
 * no amount loses a digit or a trailing zero, and no long identifier its end. Of a name that comes twice the last value
 * counts, as with JSON.parse. Undoes the escaping of JSON answers (registry-interface 7.3), once. @throws SyntaxError,
 * and RangeError for JSON that is nested thousands of levels deep.
 */
export const parseExactly = (text: string): JsonValue =>
  parse(text, undefined, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue }) as JsonValue;

function exactNumber(token: string): number | string {
  const value = Number(token);
  if (String(value) === token) return value;
  const [mantissa = '', exponent] = token.split(/e/i);
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '').length;
  return exponent !== undefined && Number.isFinite(value) && digits <= MOST_EXACT_DIGITS ? value : token;
}
