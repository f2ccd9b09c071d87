import type { z } from 'zod';
import { firstFault, parseStrictJson, PedigreeError, PLAIN_WORDS, pointer } from '#kernel';

/**
 * A body of JSON, read by its schema. Throws PedigreeError `invalid_json`, or `invalid_command` that names the first
 * field at fault (RFC 6901).
 */
export function jsonBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(parseStrictJson((body as Buffer | undefined) ?? Buffer.alloc(0)), PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message, isUnknown } = firstFault(parsed.error);
  const field = pointer(path);
  const why = isUnknown ? 'is not a field of this body' : message;
  throw new PedigreeError('invalid_command', `${field === '' ? 'the body' : field}: ${why}`, { field });
}
