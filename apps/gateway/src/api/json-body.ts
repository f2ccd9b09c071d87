import type { z } from 'zod';
import { firstFault, parseStrictJson, PedigreeError, PLAIN_WORDS, pointer } from '#kernel';
import { halfPairIn } from './half-pair.js';

/**
 * A body of JSON, read by its schema. Throws PedigreeError `invalid_json`, or `invalid_command` that names the first
 * field at fault (RFC 6901).
 */
export function jsonBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const bytes = (body as Buffer | undefined) ?? Buffer.alloc(0);
  const given = parseStrictJson(bytes);
  // Bytes in UTF-8 hold no half of a pair: it can only be written as an escape.
  if (bytes.includes('\\u')) refuseHalfPairs(given, []);
  const parsed = schema.safeParse(given, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message, isUnknown } = firstFault(parsed.error);
  const field = pointer(path);
  const why = isUnknown ? 'is not a field of this body' : message;
  throw new PedigreeError('invalid_command', `${field === '' ? 'the body' : field}: ${why}`, { field });
}

function refuseHalfPairs(given: unknown, path: (string | number)[]): void {
  if (typeof given === 'string') {
    const why = halfPairIn(given);
    if (why === undefined) return;
    const field = pointer(path);
    throw new PedigreeError('invalid_command', `${field === '' ? 'the body' : field}: ${why}`, { field });
  }
  if (typeof given !== 'object' || given === null) return;
  for (const [name, value] of Object.entries(given)) refuseHalfPairs(value, [...path, name]);
}
