import { z } from 'zod';
import { LIST_DOUBTS, REGISTRY_LISTS, SUSPENSION_ACTIONS, SUSPENSION_PHASES, SUSPENSION_SOURCES } from '#domain';
import { accessEntry } from '../access-log/shape.js';
import { timeline } from '../document-timeline/shape.js';
import { instant, pageShape, position, sha256, whole } from '../shapes.js';

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const productSeries = z.strictObject({ gtin: z.string(), series: z.string() });
const placeReply = z.strictObject({
  place: z.string(),
  found: whole,
  quarantined: whole,
  shipped: whole,
  returned: whole,
});

const summaryFields = {
  suspension_id: z.uuid(),
  source: z
    .enum(SUSPENSION_SOURCES)
    .describe(
      'list: the registry’s list names the series; letter: a person entered it; decision: one in the registry.',
    ),
  state: z
    .enum(SUSPENSION_PHASES)
    .describe('unmatched: nobody has said which products it means; open: a reply is owed.'),
  action: z.enum(SUSPENSION_ACTIONS).describe('As its newest version says.'),
  in_force: z.boolean().describe('Its packs must not be sold or sent on.'),
  product: z.string().describe('As the letter writes it; of a series of the list its GTIN.'),
  series: z.string().describe('As the letter or the list writes it.'),
  matches: z.array(productSeries).describe('Which packs are meant: letter by letter.'),
  look_alikes: z
    .array(z.string())
    .describe('Series among the matches that differ from the one above only by letters that look the same.'),
  versions: whole,
  number: z.string().optional().describe('Of the newest letter or decision, as is date.'),
  date: day.optional(),
  from: z.string().optional(),
  decision_id: z.string().optional().describe('The decision in the registry that last changed it.'),
  letter_sha256: sha256.optional(),
  list_sha256: sha256.optional().describe('The version of the list that last changed it.'),
  changed_at: instant,
  position,
};
export const suspensionSummary = z.strictObject(summaryFields);
export const suspensionPage = pageShape(suspensionSummary);

const affectedBranches = z.array(
  z.strictObject({
    branch: z.string().optional().describe('Our place that the documents speak for which told it last.'),
    standing: z
      .enum(['in_stock', 'in_transit', 'shipped', 'unknown'])
      .describe('in_transit: on its way to us or from us, and not confirmed yet.'),
    place: z.string().optional().describe('Where they are, or went to.'),
    packs: whole,
    newest_at: instant.optional().describe('When the registry accepted the newest of these documents.'),
    recent: z.boolean().describe('Within the days that were asked for.'),
  }),
);

export const affectedPacks = z.strictObject({
  gtin: z.string(),
  series: z.string(),
  known_at: position.describe('Up to here the log is in these figures.'),
  branches: affectedBranches.describe(
    'Packs that still concern somebody: what was sold, used or written off is left out.',
  ),
});

export const packsOfUnknownSeries = z.strictObject({
  gtin: z.string(),
  known_at: affectedPacks.shape.known_at,
  packs: whole,
  packs_at: z.string().describe('Which packs: a path of the API.'),
  branches: affectedBranches,
});

/** What our record holds of a suspension. */
const affected = z.array(affectedPacks).describe('What our record holds of it now, by match.');
const seriesUnknown = z
  .array(packsOfUnknownSeries)
  .describe(
    'Packs whose series no document has told, by product: each product once. Some may be of a series that is meant.',
  );

export const suspensionDetail = z.strictObject({
  ...summaryFields,
  reply: z.strictObject({ version: whole, places: z.array(placeReply) }).optional(),
  affected,
  series_unknown: seriesUnknown,
  timeline,
});

const COUNTED_LATER =
  'Left out where our packs could not be counted just now. What was asked is recorded: ask for the suspension then.';
/** A suspension right after a letter was entered, or something was done about it. */
export const suspensionAfterAction = suspensionDetail.extend({
  affected: affected.optional().describe(COUNTED_LATER),
  series_unknown: seriesUnknown.optional().describe(COUNTED_LATER),
});

/** The newest reply of a suspension, as a document. */
const {
  in_force: _inForce,
  state: _state,
  changed_at: _changedAt,
  versions: _versions,
  ...letterFields
} = summaryFields;
export const suspensionReply = z.strictObject({
  ...letterFields,
  as_of: instant.describe('When it was asked: our record is as of then.'),
  version: whole.describe('Of the suspension, that it answers.'),
  is_newest: z.boolean().describe('False: a reply is owed again, to a newer version or to another match.'),
  replied_at: instant,
  replied_by: accessEntry.shape.actor,
  reason: z.string().optional(),
  position: position.describe('Log position of the reply.'),
  stream: z.string().describe('pedigree audit prove --stream STREAM proves it.'),
  stream_version: whole,
  places: z.array(placeReply).describe('Each place that was looked at, also where nothing was found.'),
  totals: placeReply.omit({ place: true }),
  nothing_found: z.boolean(),
  record: affected,
  series_unknown: seriesUnknown,
});

export const suspendedListVersion = z.strictObject({
  position,
  source: z.enum(REGISTRY_LISTS).describe('list: of suspended packs; decisions: about circulation.'),
  held_at: instant.describe('Since when we held it.'),
  fetched_at: instant.describe('When its first page was read: it is as old as that.'),
  account: z.string(),
  list_sha256: sha256.describe(
    'Its content: the series, or the decisions, in one order, and digests of entries without an id. ' +
      'Fetch it at /v1/evidence/{sha256}.',
  ),
  in_force_sha256: sha256.describe('What counted with us from here on.'),
  series: whole,
  packs: whole,
  packs_without_series: whole,
  decisions: whole.optional().describe('How many decisions it names. `series` are those that they suspend.'),
  not_understood: whole
    .optional()
    .describe('Entries without an id, and decisions that say neither that they suspend nor that they end.'),
  appeared: whole.describe('Series that were not in force before.'),
  vanished: whole.describe('Series, or decisions, of the believed list that it does not name.'),
  calls: whole,
  doubt: z.enum(LIST_DOUBTS).optional().describe('It released nothing by itself.'),
  confirmed_at: instant.optional().describe('When a person said that it is right.'),
});
export const suspendedListPage = pageShape(suspendedListVersion);

export const suspensionAnswer = z.strictObject({
  gtin: z.string(),
  series: z.string(),
  at: instant.describe('The moment that the answer is about.'),
  request_id: z.uuid().optional().describe('The document that was sent then.'),
  suspended: z.boolean().describe('In the newest lists that we held then, or by a letter that was entered by then.'),
  listed: z.boolean().optional().describe('In that list. Absent: we held none.'),
  list: z
    .strictObject({
      ...suspendedListVersion.shape,
      age_seconds: z.number().describe('From its reading to the moment.'),
    })
    .optional(),
  decided: z
    .boolean()
    .optional()
    .describe('By a decision in the newest list of decisions of then. Absent: none was held.'),
  decisions: z
    .strictObject({ ...suspendedListVersion.shape, age_seconds: z.number() })
    .optional()
    .describe('That list of decisions.'),
  in_force: z.array(z.uuid()).describe('Suspensions that counted with us then, by lists, decisions or letters.'),
  look_alikes: z
    .array(z.string())
    .describe(
      'Series of the product that were suspended then, by lists, decisions or letters, and only look the same.',
    ),
  known_at: position.describe('Up to here the log is in this answer.'),
  suspended_now: z.boolean(),
});

/** The routing keys under which the ERP is told. */
export const SUSPENSION_TOPICS = SUSPENSION_ACTIONS.map((action) => `suspension.${action}`);

/** What the ERP is told of a suspension. */
export const suspensionChanged = z
  .strictObject({
    suspension_id: z.uuid(),
    action: z.enum(SUSPENSION_ACTIONS).describe('What its newest version says.'),
    in_force: z.boolean().describe('Its packs must not be sold or sent on.'),
    source: z.enum(SUSPENSION_SOURCES),
    product: z.string().describe('As the letter writes it; of a series of the list its GTIN.'),
    series: z.string().describe('As the letter or the list writes it, letter by letter.'),
    matches: z.array(productSeries).describe('Which packs are meant; empty while nobody has said so of a letter.'),
    number: z.string().optional().describe('Of the letter or the decision, as is date; from: of the letter.'),
    date: z.string().optional(),
    from: z.string().optional(),
    decision_id: z.string().optional().describe('The decision in the registry that says so.'),
    letter_sha256: sha256.optional(),
    list_sha256: sha256.optional().describe('The version of the registry’s list that says so.'),
    sentence: z.string().describe('What it means, in one plain sentence.'),
    known_at: z.string().regex(/^\d+$/).describe('The log position at which it was known.'),
    href: z.string().describe('Where it stands now, with our packs by branch: a path of the API.'),
  })
  .describe('A series was suspended, terminated, recalled or released, or a letter was matched to products.');
