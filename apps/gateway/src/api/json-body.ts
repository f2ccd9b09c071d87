import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import { parseStrictJson, pointer } from '../intake/strict-json.js';

/**
 * A body of JSON, read by its schema. Throws PedigreeError `invalid_json`, or `invalid_command` that names the first
 * field at fault (RFC 6901).
 */
export function jsonBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(parseStrictJson((body as Buffer | undefined) ?? Buffer.alloc(0)));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = pointer([...(issue?.path ?? []), ...unknown]);
  const why = unknown.length > 0 ? 'is not a field of this body' : (issue?.message ?? 'is invalid');
  throw new PedigreeError('invalid_command', `${field === '' ? 'the body' : field}: ${why}`, { field });
}
