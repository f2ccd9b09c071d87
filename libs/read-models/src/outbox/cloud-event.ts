import { z } from 'zod';
import { BAD_OUTCOMES, CASE_RUN_KINDS, CASE_SEVERITIES, GROUP_KINDS } from '#domain';
import { uuid5 } from '#kernel';
import { caseCauseKind, caseResolution, caseSeverity } from '../cases/shape.js';
import { gateFinding, suspensionFinding } from '../document-outcomes/shape.js';
import { itemWarnings } from './item-warnings.js';
import { SUSPENSION_TOPICS, suspensionChanged } from '../suspensions/shape.js';
import { documentOutcome, failureCause, haltCause, instant, reference, sha256 } from '../shapes.js';

/**
 * The shapes of what the ERP is told: for the outbox, for the documentation of bus, feed and webhooks, and for the
 * tests. One source.
 */

const count = z.number().int().min(0);

/**
 * Items of one result are listed when there are at most so many of them; above it they are counted, and read at `href`.
 */
export const MOST_ITEMS_INLINE = 500;

const reason = {
  code: z.string().optional().describe("The registry's code, or the cause of a failure."),
  text: z.string().optional(),
};
const itemsOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    count,
    items: z
      .array(item)
      .max(MOST_ITEMS_INLINE)
      .optional()
      .describe(`Absent when there are more than ${MOST_ITEMS_INLINE}: read them at href.`),
  });

const outcomeItems = z.strictObject({
  count,
  accepted: itemsOf(z.strictObject({ id: z.string() })),
  refused: itemsOf(z.strictObject({ id: z.string(), ...reason })),
  undetermined: itemsOf(z.strictObject({ id: z.string(), ...reason })).describe(
    'What became of these cannot be told from the receipt alone.',
  ),
  href: z.string().describe('Where all of them can be read, page by page: a path of the API.'),
});

const resent = {
  resend_of: z
    .uuid()
    .optional()
    .describe(
      'Set for what was sent again: id of the document, or group, that it replaces. `command_id` and `reference` ' +
        'are those of the very first.',
    ),
  resend_command_id: z
    .string()
    .optional()
    .describe('The command by which it was sent again, where that has an id of its own.'),
};
const asked = { ...resent, warnings: itemWarnings.optional() };

const documentFields = {
  request_id: z.uuid(),
  command_id: z.string().describe("The ERP's id of the command."),
  reference: z.string().optional().describe("The ERP's own reference, as the command gave it."),
  ...asked,
  group: z
    .strictObject({ group_id: z.uuid(), index: count, of: count })
    .optional()
    .describe(
      'Set for a member of a group: what became of all of it is read at /v1/groups/{group_id}. `index` counts from 0.',
    ),
  account: z.string(),
  doc_type: z.number().int(),
  doc_num: z.string().optional(),
  document_id: z
    .string()
    .optional()
    .describe("The registry's id; absent while the registry has not taken the document."),
  item_count: count,
  sentence: z.string().describe('What it means, in one plain sentence.'),
  remedy: z.string().optional().describe('What to do, where there is something to do.'),
  duplicate: z.boolean().describe('Alarm: the registry holds one document too many under the request_id.'),
  document_sha256: sha256,
  operation_date: z.string().describe('First time: when it happened, as the document claims it.'),
  known_at: z.string().regex(/^\d+$/).describe('Third time: the log position at which it was known.'),
  href: z.string().describe('Where the document stands now: a path of the API.'),
};

const cause = failureCause.optional().describe('Why it failed.');

const part = z.strictObject({
  request_id: z.uuid(),
  outcome: documentOutcome,
  cause,
  document_id: z.string().optional(),
  receipt_sha256: sha256.optional(),
});

const conclusionFields = {
  ...documentFields,
  outcome: documentOutcome,
  cause,
  receipt_sha256: sha256.optional(),
  accepted_at: instant.optional().describe('Second time: when the registry took it, as its receipt says.'),
  items: outcomeItems,
  parts: z
    .array(part)
    .optional()
    .describe(
      'Of a document that was sent in parts because it was too large: how each ended. `items` are those of all ' +
        'parts; `request_id` is the group of the parts.',
    ),
};

const groupFields = {
  group_id: z.uuid(),
  command_id: z.string().describe("The ERP's id of the command that gave the group."),
  reference: z.string().optional().describe("The ERP's own reference, as the command gave it."),
  ...asked,
  account: z.string(),
  kind: z.enum(GROUP_KINDS).exclude(['split']).describe('`resumption`: what was left of a group that halted.'),
  resumes: z
    .strictObject({ group_id: z.uuid(), command_id: z.string() })
    .optional()
    .describe('The group that had halted.'),
  members: z
    .array(
      z.strictObject({
        request_id: z.uuid(),
        command_id: z.string(),
        reference: z.string().optional(),
        ...resent,
        doc_type: z.number().int(),
        document_id: z.string().optional(),
        outcome: documentOutcome.optional(),
        cause,
      }),
    )
    .describe(
      'In the order of processing. One without an outcome has not ended; what became of its items is told by its ' +
        'own document event.',
    ),
  sentence: documentFields.sentence,
  remedy: documentFields.remedy,
  known_at: documentFields.known_at,
  href: z.string().describe('Where the group stands now: a path of the API.'),
};

const halt = haltCause.describe('Why it stopped before its end.');
const haltDetails = {
  stopped_by: z
    .strictObject({ command_id: z.string(), request_id: z.uuid(), outcome: documentOutcome })
    .optional()
    .describe('The member, or what the group was to come after.'),
  text: z.string().optional().describe("The registry's words where it would not begin."),
};
const groupConclusionFields = { ...groupFields, outcome: documentOutcome, halt: halt.optional(), ...haltDetails };

const metReference = reference.extend({
  items: z
    .array(z.string())
    .optional()
    .describe('Set where it waits because both concern these packs or containers; the first ones.'),
  item_count: z.number().int().optional().describe('All of them.'),
});

const heldFor = z
  .array(metReference.extend({ outcome: z.enum(BAD_OUTCOMES) }))
  .describe('What it comes after, and how that ended.');

const refusalFields = {
  command_id: z.string().optional().describe("The ERP's id of the command; absent where it could not be read."),
  reference: documentFields.reference,
  message_id: z.string().optional().describe('What the publisher called the message (AMQP property message_id).'),
  code: z
    .string()
    .describe(
      'The code with which HTTP would refuse the same command; `delivery_limit`: our own code failed on it each time.',
    ),
  sentence: documentFields.sentence,
  remedy: z.string(),
  place: z
    .strictObject({
      field: z.string().optional().describe('RFC 6901 pointer.'),
      line: z.number().int().optional(),
      item: z.string().optional(),
      element: z.string().optional(),
    })
    .optional()
    .describe('Where in the message the fault lies.'),
  dead_letter_id: z.string().describe('The message itself, as it came, lies among the dead letters under this id.'),
  silent_until: instant
    .optional()
    .describe(
      'Set on the last refusal of a flood: what is refused until then is found among the dead letters, and not told.',
    ),
  known_at: documentFields.known_at,
  href: z.string().describe('The dead letter: a path of the API for operators.'),
};

const caseFields = {
  case_id: z.uuid(),
  code: z.string().describe('Reason code of what was found.'),
  severity: caseSeverity,
  cause: caseCauseKind.describe('What the findings have in common: the fields below say it.'),
  document: z.string().optional(),
  container: z.string().optional(),
  gtin: z.string().optional(),
  series: z.string().optional(),
  place: z.string().optional(),
  part_of: z.uuid().optional().describe('The case out of which a person took these items.'),
  item_count: count.describe('As of the last run of packs that told it; 1 where only runs of documents have.'),
  sentence: documentFields.sentence,
  remedy: documentFields.remedy,
  run: z
    .strictObject({ kind: z.enum(CASE_RUN_KINDS), id: z.string(), moment: instant })
    .describe('The last run that found it.'),
  known_at: documentFields.known_at,
  href: z.string().describe('Where the case stands now: a path of the API.'),
};

const stockFields = {
  upload_id: z.uuid().describe('The same file under the same name has the same id for ever.'),
  name: z.string().describe('As you call it.'),
  file: z.string().describe('Its name in the folder from which the reconciler takes stock files.'),
  bytes: count,
  sha256,
  lines: count.optional().describe('Ends of lines, where the name says that it is text.'),
  moment: instant.optional().describe('When the stock was true, where you said it.'),
  sentence: documentFields.sentence,
  known_at: documentFields.known_at,
  href: z.string().describe('The upload: a path of the API.'),
};

/** The data of each type of event. A new type is a new line here and one in outcome-table.ts. */
export const OUTCOME_DATA = {
  'pedigree.document.waiting.v1': z
    .strictObject({
      ...documentFields,
      waiting_for: z.array(metReference),
    })
    .describe('Waits until other documents have concluded.'),
  'pedigree.document.held.v1': z
    .strictObject({
      ...documentFields,
      held_for: heldFor,
      held_at_gate: gateFinding.optional().describe('Set where the known state of its packs forbids it.'),
      held_for_suspension: suspensionFinding.optional().describe('Set where packs of it are of a suspended series.'),
      held_by_person: z
        .strictObject({ by: z.string(), reason: z.string() })
        .optional()
        .describe('Set where a person holds it.'),
    })
    .describe(
      'A document that it comes after ended badly, the known state of its packs forbids it, packs of it are of a ' +
        'suspended series, or a person holds it: nothing is sent until that changes, or a person releases or ends ' +
        'this one. It is no end. What holds it now, all of it: `held_for` and the fields beside it.',
    ),
  'pedigree.document.concluded.v1': z
    .strictObject(conclusionFields)
    .describe('Ended: accepted, partial, rejected or failed.'),
  'pedigree.document.revised.v1': z
    .strictObject({ ...conclusionFields, previous_outcome: documentOutcome })
    .describe('What counted as ended turned out otherwise; this replaces what was told before.'),
  'pedigree.document.duplicate.v1': z
    .strictObject({
      ...documentFields,
      document_ids: z.array(z.string()).describe("The registry's documents under this request_id."),
    })
    .describe('Alarm: the registry holds one document too many under one request_id.'),
  'pedigree.group.held.v1': z
    .strictObject({ ...groupFields, held_for: heldFor })
    .describe('The same for a group: none of its members is sent meanwhile.'),
  'pedigree.group.halted.v1': z
    .strictObject({ ...groupFields, halt, ...haltDetails })
    .describe(
      'A group stopped before its end: the documents after it are not processed, and can be resumed once it has ' +
        'concluded.',
    ),
  'pedigree.group.concluded.v1': z.strictObject(groupConclusionFields).describe('Every member of a group has ended.'),
  'pedigree.command.refused.v1': z
    .strictObject(refusalFields)
    .describe(
      'A message of the bus was refused, and nothing of it is carried out. What HTTP refuses is said in its ' +
        'answer, and not here.',
    ),
  'pedigree.case.opened.v1': z
    .strictObject({
      ...caseFields,
      due_at: instant,
      reopened: z.boolean().describe('It was resolved before, and is back.'),
    })
    .describe('A reconciliation found a difference, or a document that needs somebody. One event a case, not an item.'),
  'pedigree.case.resolved.v1': z
    .strictObject({
      ...caseFields,
      resolved_at: instant,
      resolved_by: z.enum(['person', 'run', 'receipt']),
      resolution: caseResolution.optional(),
      note: z.string().optional().describe('What the person noted.'),
      resolved_by_run: z.string().optional().describe('The run that no longer found it.'),
      request_id: z.string().optional().describe('The document whose receipt resolved it.'),
      receipt_sha256: sha256.optional(),
    })
    .describe('A case is over: a person says so, a later run no longer found it, or the receipt of its remedy came.'),
  'pedigree.suspension.changed.v1': suspensionChanged,
  'pedigree.stock.uploaded.v1': z
    .strictObject(stockFields)
    .describe('A stock file came whole, over HTTP or the bus, and its digest is right: the reconciler takes it.'),
  'pedigree.group.revised.v1': z
    .strictObject({ ...groupConclusionFields, previous_outcome: documentOutcome })
    .describe('A member turned out otherwise, and with it the whole; this replaces what was told before.'),
} as const;

export type OutcomeType = keyof typeof OUTCOME_DATA;

const withOutcome = (word: string): string[] => documentOutcome.options.map((one) => `${word}.${one}`);

/** The routing keys under which each type comes. */
export const OUTCOME_TOPICS: Record<OutcomeType, string[]> = {
  'pedigree.document.waiting.v1': ['document.waiting'],
  'pedigree.document.held.v1': ['document.held'],
  'pedigree.document.concluded.v1': withOutcome('document.concluded'),
  'pedigree.document.revised.v1': withOutcome('document.revised'),
  'pedigree.document.duplicate.v1': ['document.duplicate'],
  'pedigree.group.held.v1': ['group.held'],
  'pedigree.group.halted.v1': ['group.halted'],
  'pedigree.group.concluded.v1': withOutcome('group.concluded'),
  'pedigree.group.revised.v1': withOutcome('group.revised'),
  'pedigree.command.refused.v1': ['command.refused'],
  'pedigree.case.opened.v1': CASE_SEVERITIES.map((severity) => `case.opened.${severity}`),
  'pedigree.case.resolved.v1': ['case.resolved'],
  'pedigree.suspension.changed.v1': SUSPENSION_TOPICS,
  'pedigree.stock.uploaded.v1': ['stock.uploaded'],
};

export type OutcomeData<Type extends OutcomeType = OutcomeType> = z.infer<(typeof OUTCOME_DATA)[Type]>;
export type ConclusionData = OutcomeData<'pedigree.document.concluded.v1'>;
export type GroupConclusionData = OutcomeData<'pedigree.group.concluded.v1'>;
export type OutcomeItems = z.infer<typeof outcomeItems>;

/** One event of a type, in the structured JSON form of CloudEvents 1.0. */
export const cloudEventOf = (type: OutcomeType) =>
  z
    .strictObject({
      specversion: z.literal('1.0'),
      id: z.uuid().describe('The same event again has the same id: take it once.'),
      source: z.string().describe('urn:uuid of the installation.'),
      type: z.literal(type),
      subject: z
        .string()
        .describe(
          'request_id of the document, id of the group, case, suspension or upload, or id of the dead letter. ' +
            'Events of one subject come in their order.',
        ),
      time: instant.describe('When it was recorded.'),
      sequence: z
        .string()
        .regex(/^\d{20}$/)
        .describe(
          'Log position with leading zeros: orders events as text (extension `sequence`). Also the cursor of the feed.',
        ),
      datacontenttype: z.literal('application/json'),
      data: OUTCOME_DATA[type],
    })
    .meta({ title: type, description: OUTCOME_DATA[type].description });

export interface OutcomeEvent<Type extends OutcomeType = OutcomeType> {
  specversion: '1.0';
  id: string;
  source: string;
  type: Type;
  subject: string;
  time: string;
  sequence: string;
  datacontenttype: 'application/json';
  data: OutcomeData<Type>;
}

const SEQUENCE_DIGITS = 20;
export const sequenceOf = (position: bigint): string => position.toString().padStart(SEQUENCE_DIGITS, '0');
export const sourceOf = (installation: string): string => `urn:uuid:${installation}`;
/** Stable: UUIDv5 of the event's id in the installation's namespace. The prefix keeps it apart from a request_id. */
export const outcomeIdOf = (eventId: string, installation: string): string => uuid5(`outcome/${eventId}`, installation);
