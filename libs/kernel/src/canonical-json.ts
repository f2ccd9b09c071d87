import canonicalize from 'canonicalize';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
export type JsonObject = { [name: string]: JsonValue };

/** Whether a value that JSON has brought is an object: no list, and not null. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The RFC 8785 (JSON Canonicalization Scheme) text of `value`. Throws on what JSON cannot carry (undefined, NaN,
 * bigint): a value that reached this point without a JSON form is a broken invariant, not bad input.
 */
export function canonicalJson(value: unknown): string {
  if (isInOrder(value)) return JSON.stringify(value);
  const text = canonicalize(value);
  if (text === undefined) throw new Error('value has no JSON form');
  return text;
}

/**
 * Whether JSON.stringify writes it as RFC 8785 does: strings and numbers it always does, so the order of names decides.
 * Most of what is written was read from such text before.
 */
function isInOrder(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  return isPlain(value) && hasNamesInOrder(value as Record<string, unknown>);
}

/** JSON.stringify asks other objects for a form of their own. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value);
}

function hasNamesInOrder(value: Record<string, unknown>): boolean {
  let before: string | undefined;
  for (const name of Object.keys(value)) {
    if ((before !== undefined && before > name) || !isInOrder(value[name])) return false;
    before = name;
  }
  return true;
}

/** The same as UTF-8 bytes: the form in which events are stored and hashed. */
export const canonicalBytes = (value: unknown): Buffer => Buffer.from(canonicalJson(value), 'utf8');
