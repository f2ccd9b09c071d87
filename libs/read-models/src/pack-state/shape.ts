import { z } from 'zod';
import { tellingDocument } from '../sgtin-history/shape.js';
import { instant, nextCursor, pageShape, position, whole } from '../shapes.js';

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** One pack as it stands now. */
export const packSummary = z.strictObject({
  sgtin: z.string(),
  gtin: z.string(),
  serial: z.string(),
  status: z.string().optional(),
  place: z.string().optional(),
  container: z.string().optional().describe('The SSCC that holds it directly.'),
  series: z.string().optional().describe('Absent: no document has told it.'),
  expires_on: day.optional(),
  uncertain: z
    .literal(true)
    .optional()
    .describe('A later document left something of its state open; uncertain_by names the last one.'),
  told_by: tellingDocument.describe('The last document that moved it, or a container that held it.'),
  series_told_by: tellingDocument.optional(),
  uncertain_by: tellingDocument.optional(),
});
export const packPage = pageShape(packSummary).extend({
  known_at: position.describe('Up to here the log is in this page.'),
});

/** Packs that stand alike. */
export const stockLine = z.strictObject({
  place: z.string().optional(),
  gtin: z.string().optional(),
  series: z.string().optional().describe('Absent: unknown, or not asked for.'),
  expires_on: day.optional(),
  status: z.string().optional(),
  packs: whole,
  known_at: position,
});
export const stockPage = z.strictObject({
  known_at: position.describe('Up to here the log is in these figures.'),
  packs: whole.describe('In all lines.'),
  series_unknown: whole.describe('Of these, packs whose series no document has told.'),
  items: z.array(stockLine),
});

export const CHECK_PURPOSES = ['receive', 'pick', 'ship', 'return', 'sell'] as const;
const CHECK_REASONS = [
  'not_readable',
  'is_container',
  'not_in_record',
  'not_shipped_to_place',
  'already_here',
  'not_at_place',
  'in_container',
  'suspended',
  'series_suspended',
  'series_unknown',
  'in_arbitration',
  'not_in_trade',
  'awaits_other_side',
  'expired',
  'uncertain',
  'content_unknown',
] as const;

export const packCheck = z.strictObject({
  code: z.string().describe('As it was given.'),
  sgtin: z.string().optional(),
  answer: z.enum(['yes', 'no', 'unknown']),
  reasons: z
    .array(z.strictObject({ code: z.enum(CHECK_REASONS), sentence: z.string() }))
    .describe('All that hold. With `yes`: it may be received although it, or its series, is suspended.'),
  pack: packSummary.optional().describe('What we know of it.'),
});
export const packChecks = z.strictObject({
  purpose: z.enum(CHECK_PURPOSES),
  place: z.string(),
  day: day.describe('What may be used until an earlier day has expired.'),
  advice_only: z
    .boolean()
    .describe('true for a sale: the till asks the registry itself, and that answer counts. Ours is advice.'),
  known_at: position.describe('The log position up to which our record was asked.'),
  newest_accepted_at: instant.optional().describe('What the registry accepted after this we did not know yet.'),
  items: z.array(packCheck).describe('In the order of the codes.'),
});

/** What became of the packs of a series. */
export const SERIES_FATES = [
  'incoming',
  'returning',
  'not_received',
  'on_hand',
  'shipped',
  'sold',
  'dispensed',
  'written_off',
  'returned',
  'left_otherwise',
  'unknown',
] as const;

const seriesFigure = z.strictObject({
  fate: z
    .enum(SERIES_FATES)
    .describe(
      'incoming: on their way to us, and never ours before; returning: on their way to us, and ours before; ' +
        'not_received: refused or recalled on their way to us, and never ours.',
    ),
  status: z.string().optional(),
  place: z.string().optional().describe('Where they are, or went to.'),
  packs: whole,
  branches: z
    .array(z.strictObject({ branch: z.string(), packs: whole, document_types: z.array(whole) }))
    .describe('Our places that the documents speak for which told it last, and the types of these documents.'),
  packs_at: z.string().describe('The packs of this figure, each with its document and receipt.'),
});

const seriesSource = z.strictObject({ packs: whole, by: tellingDocument });

/** A page of the documents by which packs of a series came. */
export const seriesSourcePage = z.strictObject({
  known_at: position.describe('Of the first page: what is known since is not in the list.'),
  items: z.array(seriesSource).describe('The largest first.'),
  next_cursor: nextCursor,
});

export const seriesFile = z.strictObject({
  gtin: z.string(),
  series: z.string(),
  expires_on: z.array(day).describe('As documents tell; more than one is a contradiction.'),
  known_at: position,
  packs: whole.describe('Every pack of the series that a document has moved.'),
  received_packs: whole.describe('All that were ever ours: all but incoming and not_received.'),
  totals: z.record(z.enum(SERIES_FATES), whole).describe('Packs by fate: together they are `packs`.'),
  sources: whole.describe('Documents by which packs came.'),
  received: z
    .array(seriesSource)
    .describe('By the first document that moved them, the largest first: the first page, of 1,000.'),
  received_in_more: whole.describe('Packs whose first document is on a later page.'),
  received_more_at: z.string().optional().describe('The next page of the sources.'),
  fates: z.array(seriesFigure).describe('Every pack stands in one of them: together they are `packs`.'),
  suspension: z
    .strictObject({
      by: z
        .array(z.string())
        .describe('Suspensions of the series that are in force: look at /v1/suspensions/{suspensionId}.'),
      packs: whole.describe('Of which documents say that they are suspended.'),
      known_at: position.optional().describe('The first document that told of a suspension among these packs.'),
      known_from: tellingDocument.optional(),
      on_hand: whole,
      customers: z
        .array(z.strictObject({ place: z.string(), packs: whole }))
        .describe('Whom packs of the series were shipped to, whatever their status: to be notified.'),
    })
    .optional(),
});
