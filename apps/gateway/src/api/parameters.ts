import { z } from 'zod';
import { PedigreeError } from '#kernel';
import { accountName, commandId, reference } from '../intake/command-body.js';
import { documentOutcome, documentPhase } from './answers.js';

const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most));

/** Query parameters of the document list; names as in the API. */
export const documentListParameters = z.strictObject({
  phase: documentPhase.optional(),
  outcome: documentOutcome.optional(),
  account: accountName.optional(),
  doc_type: wholeNumber(1, 999_999).optional(),
  command_id: commandId.optional(),
  reference: reference.optional(),
  duplicate: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  registered_from: instant.optional(),
  registered_to: instant.optional(),
  limit: wholeNumber(1, 1_000).default(100),
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

export const commandParameters = z.strictObject({ account: accountName.optional().describe('Account of the commands that name none.') });
export const commandPath = z.strictObject({ commandId });

/** Parses parameters; the error names the first that is wrong. */
export function parameters<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const field = unknown ?? String(issue?.path[0] ?? '');
  throw new PedigreeError('invalid_parameter', `${field}: ${unknown === undefined ? (issue?.message ?? 'invalid') : 'no such parameter'}`, { field });
}

/** A failed task that is to be tried again, and why. */
export const retryBody = z.strictObject({ key: z.string().min(1).max(400), reason: z.string().trim().min(3).max(1_000) });
