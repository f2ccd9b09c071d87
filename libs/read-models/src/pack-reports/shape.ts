import { z } from 'zod';
import { accessEntry } from '../access-log/shape.js';
import { instant, pageShape, position, sha256, whole } from '../shapes.js';
import { affectedPacks } from '../suspensions/shape.js';
import { tellingDocument } from '../sgtin-history/shape.js';

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** What the lines of a report on packs may be told apart by. */
export const SHELF_PARTS = ['place', 'gtin', 'series', 'expires_on', 'status', 'sgtin'] as const;
export const TRANSFER_DIRECTIONS = ['sent', 'received'] as const;

const asOf = instant.describe('All ages count from here.');
const knownAt = position.describe('Up to here the log is in these figures.');
const pin = {
  as_of: asOf,
  known_at: knownAt,
  newest_accepted_at: instant.optional().describe('What the registry accepted after this is not in these figures.'),
  days: whole.describe('As asked for.'),
};

const shelfLine = z.strictObject({
  place: z.string().optional(),
  gtin: z.string().optional(),
  series: z.string().optional().describe('Absent: unknown, or not asked for.'),
  expires_on: day.optional(),
  status: z.string().optional(),
  sgtin: z.string().optional(),
  packs: whole,
  first_moved_at: instant.describe(
    'When the registry accepted the last movement of that pack of the line which rests longest.',
  ),
  last_moved_at: instant.describe('The same of the pack that was moved last.'),
  as_of: asOf,
  known_at: knownAt,
});

export const unmovedPacksShape = z.strictObject({
  ...pin,
  moved_before: instant,
  packs: whole.describe('In all lines.'),
  items: z.array(shelfLine),
});

export const expiringPacksShape = z.strictObject({
  ...pin,
  expires_by: day,
  packs: whole.describe('In all lines.'),
  expired: whole.describe('Of these, packs whose last day of use is over.'),
  expiry_unknown: whole.describe('Packs on our shelves whose expiry no document has told: they are in no line.'),
  items: z.array(shelfLine.extend({ expired: z.boolean() })),
});

export const overdueTransfersShape = z.strictObject({
  ...pin,
  sent_before: instant,
  packs: whole.describe('In all lines.'),
  items: z.array(
    z.strictObject({
      direction: z.enum(TRANSFER_DIRECTIONS).describe('sent: a partner is awaited; received: we are.'),
      from: z.string().optional().describe('Where the goods come from.'),
      to: z.string().optional().describe('Where they go.'),
      awaits: z.string().optional().describe('Whose acceptance is missing.'),
      packs: whole,
      containers: whole.describe('Containers that wait themselves: what is in them may be unknown.'),
      since: instant.describe('When the registry accepted the document by which they wait.'),
      days: whole.describe('Full days since then.'),
      told_by: tellingDocument,
      as_of: asOf,
      known_at: knownAt,
    }),
  ),
});

const recallPacks = z.strictObject({
  in_stock: whole,
  in_transit: whole.describe('On their way to us or from us, and not confirmed yet.'),
  shipped: whole,
  gone: whole.describe('Sold, used, written off, or out of all places that are known.'),
  unknown: whole.describe('Our record cannot say where they are.'),
});

const recallLine = affectedPacks.shape.branches.unwrap().omit({ recent: true });

/** Where every pack of a series is. */
export const tracedSeriesShape = z.strictObject({
  gtin: z.string(),
  series: z.string(),
  as_of: instant,
  known_at: knownAt,
  packs: recallPacks,
  series_unknown: whole.describe('Packs of the product whose series no document has told: some may be of this one.'),
  containers_unknown: whole.describe('Containers of which nobody ever told what is in them: it may be of this one.'),
  places: whole.describe('Our branches and places of others that hold packs of it.'),
  lines: z.array(recallLine),
});

/** A mock recall, and how long it took. */
export const mockRecallShape = z.strictObject({
  recall_id: z.uuid(),
  gtin: z.string(),
  series: z.string(),
  state: z.enum(['begun', 'traced']),
  actor: accessEntry.shape.actor,
  reason: z.string().optional(),
  begun_at: instant.describe('Recorded in the log.'),
  traced_at: instant.optional().describe('When the answer was recorded in the log.'),
  took_ms: whole.optional().describe('From the one to the other: the time that the mock recall took.'),
  waited_ms: whole
    .optional()
    .describe('Of it, until the record of packs held all that was in the log at the beginning.'),
  counted_ms: whole.optional().describe('Of it, for finding and counting the packs.'),
  is_complete: z
    .boolean()
    .optional()
    .describe('Nothing is unknown: no pack without a place or a series, no container without a content.'),
  known_at: knownAt.optional(),
  packs: recallPacks.optional(),
  series_unknown: whole.optional(),
  containers_unknown: whole.optional().describe('Absent from answers of before: they were not counted.'),
  places: whole.optional(),
  content_sha256: sha256.optional().describe('The whole answer: evidence.'),
});
export const mockRecallPage = pageShape(mockRecallShape);
export const mockRecallDetail = mockRecallShape.extend({ lines: z.array(recallLine).optional() });
