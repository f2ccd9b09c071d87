import { isJsonObject, type JsonObject, type JsonValue } from '#kernel';
import type { RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import type { Reading } from './classify.js';
import { errorCodeOf, jsonOf } from './error-body.js';

/**
 * A JSON object without an error code; with one, also beside empty lists, the answer is a refusal (public-facts 1.9,
 * shape 6).
 */
export function objectOf(raw: RawAnswer, profile: Profile): Reading<JsonObject> {
  const json = jsonOf(raw);
  if (!isJsonObject(json)) return { problem: 'the answer is not a JSON object' };
  if (errorCodeOf(json, profile.fields) !== undefined) return { problem: 'the answer carries an error code' };
  return { value: json };
}

/** A count that the registry gives as a number or as digits. */
export function countOf(value: JsonValue | undefined, name: string): Reading<number> {
  const count = typeof value === 'string' && /^\d{1,15}(\.0+)?$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0
    ? { value: count }
    : { problem: `"${name}" is not a count` };
}

/**
 * An answer that says nothing but that it is done: no body, or JSON without an error code. A web page says nothing of
 * the kind.
 */
export function doneOf(raw: RawAnswer, profile: Profile): Reading<null> {
  if (raw.body.toString('utf8').trim() === '') return { value: null };
  const json = jsonOf(raw);
  if (json === undefined) return { problem: 'the answer is neither empty nor JSON' };
  if (isJsonObject(json) && (errorCodeOf(json, profile.fields) !== undefined || json['success'] === false))
    return { problem: 'the answer carries an error' };
  return { value: null };
}
