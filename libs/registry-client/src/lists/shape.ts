import { isJsonObject, type JsonObject, type JsonValue } from '#kernel';
import type { Reading } from '../call/classify.js';
import type { Profile } from '../profile.js';
import type { FieldName } from '../profile-names.js';
import { parseRegistryDate } from '../registry-dates.js';

/**
 * One property of a record: the registry's fields that may carry it (the first that does wins), and how its value is
 * read.
 */
interface Column<T> {
  from: readonly FieldName[];
  read: (value: JsonValue, zone: string) => T | undefined;
}
/** A record without it is not understood. */
interface KeyColumn extends Column<string> {
  key: true;
}

/** What we read of a record of the registry; everything else stays in its `fields`. */
export type Shape = Record<string, Column<unknown>>;

type Keys<S extends Shape> = { [K in keyof S]: S[K] extends KeyColumn ? K : never }[keyof S];
type Value<C> = C extends Column<infer T> ? T : never;

/** A record as it is handed on: our names, and under `fields` every field as it came. */
export type RecordOf<S extends Shape> = { [K in Keys<S>]: string } & {
  [K in Exclude<keyof S, Keys<S>>]?: Value<S[K]>;
} & { fields: JsonObject };

/** PostgreSQL keeps no NUL in a text, and no half of a surrogate pair in JSON. The answer is kept byte for byte. */
const asText = (value: JsonValue): string | undefined =>
  typeof value === 'string' && value !== ''
    ? value.replace(/\0|\p{Surrogate}/gu, '\uFFFD')
    : typeof value === 'number'
      ? String(value)
      : undefined;
const asNumber = (value: JsonValue): number | undefined => {
  const number =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)
        ? Number(value)
        : NaN;
  return Number.isFinite(number) ? number : undefined;
};
const asFlag = (value: JsonValue): boolean | undefined =>
  value === true || value === 'true' || value === 1
    ? true
    : value === false || value === 'false' || value === 0
      ? false
      : undefined;
/** Partners carry dates as {"$date": ISO text or milliseconds}. */
const asInstant = (value: JsonValue, zone: string): string | undefined => {
  if (isJsonObject(value)) return asInstant(value['$date'] ?? null, zone);
  if (typeof value === 'number')
    return Math.abs(value) <= 8.64e15 ? parseRegistryDate(new Date(value).toISOString(), zone) : undefined;
  return parseRegistryDate(value, zone);
};

/** Text that a record must have. */
export const key = (...from: FieldName[]): KeyColumn => ({ from, read: asText, key: true });
/** Text as it came; a number is written out. Statuses are read so too: one that nobody knows stays what it is. */
export const text = (...from: FieldName[]): Column<string> => ({ from, read: asText });
/** A number, also one in quotes. Never for money, which is an `amount`. */
export const number = (...from: FieldName[]): Column<number> => ({ from, read: asNumber });
export const flag = (...from: FieldName[]): Column<boolean> => ({ from, read: asFlag });
/** A day, `2018-08-21`; of a moment the day as it is written. */
export const day = (...from: FieldName[]): Column<string> => ({
  from,
  read: (value) => {
    const written = typeof value === 'string' ? /^\d{4}-\d{2}-\d{2}/.exec(value)?.[0] : undefined;
    return parseRegistryDate(written, 'Z') && written;
  },
});
/** Money as a decimal text with two places; some answers have it as a number. */
export const amount = (...from: FieldName[]): Column<string> => ({
  from,
  read: (value) => asText(value)?.replace(/^(\d+)(?:\.(\d))?$/, (_all, whole, tenth = '0') => `${whole}.${tenth}0`),
});
/** ISO 8601 in UTC; a time without a zone is meant in the profile's. */
export const instant = (...from: FieldName[]): Column<string> => ({ from, read: asInstant });

export interface ShapeOptions {
  /** The registry writes the names of this record in either case. */
  anyCase?: boolean;
}

/**
 * Reads one record. A column that is absent or of another kind stays away; a key that does makes the record a problem
 * in words.
 */
export function readRecord<S extends Shape>(
  value: JsonValue,
  shape: S,
  profile: Profile,
  options: ShapeOptions = {},
): Reading<RecordOf<S>> {
  if (!isJsonObject(value)) return { problem: 'it is not an object' };
  const source = options.anyCase === true ? lowerCased(value) : value;
  const record: Record<string, unknown> = { fields: value };
  for (const [name, column] of Object.entries(shape)) {
    const names = column.from.map((field) =>
      options.anyCase === true ? profile.fields[field].toLowerCase() : profile.fields[field],
    );
    const read = firstRead(names, source, (found) => column.read(found, profile.zone));
    if (read !== undefined) record[name] = read;
    else if ('key' in column) return { problem: `a record without "${names.join('" or "')}"` };
  }
  return { value: record as RecordOf<S> };
}

function firstRead(names: string[], source: JsonObject, read: (value: JsonValue) => unknown): unknown {
  for (const name of names) {
    const found = Object.hasOwn(source, name) ? source[name] : undefined;
    const value = found === undefined || found === null ? undefined : read(found);
    if (value !== undefined) return value;
  }
  return undefined;
}

const lowerCased = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toLowerCase(), inner]));

/**
 * A list that may come as its only entry, or as nothing at all (public-facts 4).
 */
export function asList(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Reads every record of a list, or says which one is not understood. */
export function readRecords<S extends Shape>(
  values: JsonValue[],
  shape: S,
  profile: Profile,
  options: ShapeOptions = {},
): Reading<RecordOf<S>[]> {
  const records: RecordOf<S>[] = [];
  for (const [index, value] of values.entries()) {
    const reading = readRecord(value, shape, profile, options);
    if ('problem' in reading) return { problem: `[${index}]: ${reading.problem}` };
    records.push(reading.value);
  }
  return { value: records };
}
