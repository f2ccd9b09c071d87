import canonicalize from 'canonicalize';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
export type JsonObject = { [name: string]: JsonValue };

/**
 * The RFC 8785 (JSON Canonicalization Scheme) text of `value`. Throws on what JSON cannot carry (undefined, NaN,
 * bigint): a value that reached this point without a JSON form is a broken invariant, not bad input.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('value has no JSON form');
  return text;
}

/** The same as UTF-8 bytes: the form in which events are stored and hashed. */
export const canonicalBytes = (value: unknown): Buffer => Buffer.from(canonicalJson(value), 'utf8');
