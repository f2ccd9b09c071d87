import { canonicalJson, defined, sha256Hex, type JsonValue, type Sha256 } from '#kernel';

/** Settings laid flat: an RFC 6901 pointer to each value, and the value. */
export type Fields = Record<string, JsonValue>;

export type FieldChange = {
  /** RFC 6901 pointer, for example `/rules/failedGraceMs`. */
  field: string;
  /** Absent for a field that is new. */
  from?: JsonValue;
  /** Absent for a field that is gone. */
  to?: JsonValue;
};

/** A longer value stands as its digest: settings are compared and shown, not stored here. */
const LONGEST_VALUE = 1_000;
const MOST_FIELDS = 10_000;
const LOOPBACK_ADDRESS = /^([a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?(?:localhost|127\.0\.0\.1|\[::1\])):\d+/;

/**
 * Lays described settings flat. Lists of plain values are one value; lists of objects count from 0. Throws on more
 * fields than settings can have.
 */
export function fieldsOf(described: object): Fields {
  const fields: Fields = {};
  lay(described, '', fields);
  if (Object.keys(fields).length > MOST_FIELDS) throw new Error(`a configuration has more than ${MOST_FIELDS} fields`);
  return fields;
}

function lay(value: unknown, path: string, into: Fields): void {
  const members = membersOf(value);
  if (members === undefined || members.length === 0) into[path] = shortened(value);
  else
    for (const [name, member] of members)
      lay(member, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, into);
}

function membersOf(value: unknown): [string, unknown][] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const isPlainList = Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
  return isPlainList ? undefined : Object.entries(value);
}

function shortened(value: unknown): JsonValue {
  const compared = typeof value === 'string' ? withoutLocalPort(value) : (value as JsonValue);
  const text = canonicalJson(compared);
  return text.length <= LONGEST_VALUE ? compared : `sha256:${sha256Hex(text)}`;
}

/**
 * What listens on the machine itself gets its port from that machine, at each start another where it is embedded: the
 * port says nothing about the settings.
 */
const withoutLocalPort = (address: string): string => address.replace(LOOPBACK_ADDRESS, '$1');

export const digestOfFields = (fields: Fields): Sha256 => sha256Hex(canonicalJson(fields));

/** What differs between two states, by field in the order of the pointers. */
export function changesBetween(from: Fields, to: Fields): FieldChange[] {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return names.flatMap((field) => {
    const [before, now] = [from[field], to[field]];
    if (before !== undefined && now !== undefined && canonicalJson(before) === canonicalJson(now)) return [];
    return [{ field, ...defined({ from: before, to: now }) }];
  });
}
