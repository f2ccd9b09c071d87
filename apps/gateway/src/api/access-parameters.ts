import { z } from 'zod';
import { ACCESS_KINDS } from '#read-models';
import { instant, page, reason } from './parameters.js';

/** Query parameters of a piece of evidence. */
export const evidenceParameters = z.strictObject({
  document: z
    .uuid()
    .transform((text) => text.toLowerCase())
    .optional()
    .describe('The request_id of the document for which it is opened, which must name it: kept in the log.'),
  reason: reason.optional(),
});

const text = z.string().min(1).max(200);

/** In the path of one entry. */
export const accessEntryParameters = z.strictObject({
  position: z.string().regex(/^(?:0|[1-9]\d{0,17})$/, 'must be a log position, as the list names it'),
});

/** Query parameters of the log of access; names as in the API. */
export const accessLogParameters = z.strictObject({
  actor: text.optional().describe('Only what this person, program or API key did.'),
  actor_kind: z.enum(['person', 'system', 'registry']).optional().describe('Only what such actors did.'),
  kind: z.enum(ACCESS_KINDS).optional().describe('Only entries of this kind.'),
  object: text
    .optional()
    .describe('Only what was done to this: a request_id (with the evidence of its document), digest, key, route, …'),
  from: instant.optional().describe('Only what was recorded at this moment or later.'),
  to: instant.optional().describe('Only what was recorded before this moment.'),
  ...page,
});
