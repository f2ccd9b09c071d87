import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalBytes, canonicalJson, type JsonValue } from './canonical-json.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

describe('canonical JSON (RFC 8785)', () => {
  it('orders names by UTF-16 code units and writes numbers as ECMAScript does', () => {
    expect(
      canonicalJson({ '\u20ac': 1, '\r': 2, '1': 3, '\u{1F600}': 4, '\ufb33': 5, a: [1e21, 0.000001, 1e-7, -0] }),
    ).toBe('{"\\r":2,"1":3,"a":[1e+21,0.000001,1e-7,0],"€":1,"😀":4,"\ufb33":5}');
  });

  it('refuses what JSON cannot carry', () => {
    expect(() => canonicalJson(undefined)).toThrow();
    expect(() => canonicalJson({ a: Number.NaN })).toThrow();
    expect(() => canonicalJson({ a: 1n })).toThrow();
  });

  it('writes what is in order already as it writes the rest', () => {
    const values = fc.jsonValue().map((value) => JSON.parse(canonicalize(value) as string) as JsonValue);
    const names = fc.dictionary(fc.constantFrom('9', '10', 'a', 'b', '\u20ac', '\u{1F600}', '\ufb33'), values);
    fc.assert(
      fc.property(fc.oneof(values, names), (value) => expect(canonicalJson(value)).toBe(canonicalize(value))),
      { seed: SEED },
    );
    expect(canonicalJson({ a: new Date(0), b: [undefined], c: undefined })).toBe(
      '{"a":"1970-01-01T00:00:00.000Z","b":[null]}',
    );
    expect(() => canonicalJson({ a: [Number.POSITIVE_INFINITY] })).toThrow();
  });

  it('gives the same bytes whatever the order of names, and the same value back', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const shuffled = reversed(value as JsonValue);
        expect(canonicalBytes(shuffled)).toEqual(canonicalBytes(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed: SEED },
    );
  });
});

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, one]) => [name, reversed(one)]),
  );
}
