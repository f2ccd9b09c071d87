import { z } from 'zod';
import { PedigreeError } from '#kernel';

const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** Query parameters of the document list; names as in the API. */
export const documentListParameters = z.strictObject({
  phase: z.enum(['waiting', 'ready', 'sending', 'unconfirmed', 'sent', 'received', 'concluded']).optional(),
  outcome: z.enum(['accepted', 'partial', 'rejected', 'failed']).optional(),
  account: z.string().min(1).max(100).optional(),
  doc_type: z.coerce.number().int().positive().optional(),
  reference: z.string().min(1).max(200).optional(),
  registered_from: instant.optional(),
  registered_to: instant.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.string().min(1).max(500).optional(),
});

export const historyParameters = z.strictObject({
  /** Only movements accepted by the registry up to this instant. */
  as_of: instant.optional(),
  /** As it was known at this log position. */
  known_at: z
    .string()
    .regex(/^\d{1,18}$/, 'must be a log position')
    .transform((text) => BigInt(text))
    .optional(),
});

/** Parses query parameters; the error names the first that is wrong. */
export function parameters<T extends z.ZodType>(schema: T, query: unknown): z.output<T> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const field = unknown ?? String(issue?.path[0] ?? '');
  throw new PedigreeError('invalid_parameter', `${field}: ${unknown === undefined ? (issue?.message ?? 'invalid') : 'no such parameter'}`, { field });
}
