import { z } from 'zod';
import { instant, nextCursor, position, whole } from '../shapes.js';
import { OVERRIDE_KINDS } from './override-kinds.js';
import { ACCESS_KINDS } from './row.js';

export const accessEntry = z.strictObject({
  position,
  at: instant.describe('When it was recorded.'),
  kind: z.enum(ACCESS_KINDS),
  type: z.string().describe('Of the event.'),
  actor: z.strictObject({
    kind: z.enum(['person', 'system', 'registry']).describe('An API key belongs to a program: it is a system.'),
    name: z.string().describe('Of an API key its name, which is used once for ever.'),
    authenticated_by: z.string().describe('For example api-key, loopback, database, operating-system, amqp user_id.'),
  }),
  reason: z.string().optional().describe('Why, where somebody said so.'),
  objects: z.array(z.string()).describe('What it was done to: a document, digest, key, route, setting or stream.'),
  details: z.record(z.string(), z.unknown()).describe('By type of event; names as in the event.'),
  stream: z.string().describe('pedigree audit prove --stream STREAM proves it.'),
  version: whole.describe('Of the event in its stream.'),
});

/** What persons overrode. */
export const overridesShape = z.strictObject({
  as_of: instant.describe('When it was asked.'),
  known_at: position.describe('Up to here the log is in this page.'),
  items: z.array(
    accessEntry.extend({
      kind: z.enum(OVERRIDE_KINDS).describe('What the person went against; see the page on reports.'),
      as_of: instant,
      known_at: position,
    }),
  ),
  next_cursor: nextCursor,
});
