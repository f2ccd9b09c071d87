import { z } from 'zod';
import { GATE_REASONS } from '#domain';
import { timeline } from '../document-timeline/shape.js';
import { notification } from '../inbound-documents/shape.js';
import { itemWarnings } from '../outbox/item-warnings.js';
import { DOCUMENT_PHASES } from '../phases.js';
import {
  documentOutcome,
  failureCause,
  instant,
  position,
  receiptErrors,
  reference,
  registryStatus,
  requestId,
  sha256,
  whole,
  words,
} from '../shapes.js';
import { dueFields } from '../timeliness/shape.js';

/** What keeps a document or a group from being sent: kinds of one thing. */
export const afterHold = z.strictObject({
  kind: z.literal('after').describe('after: it comes after others.'),
  since: instant,
  for: z.array(reference.extend({ outcome: documentOutcome.optional().describe('Of one that ended badly.') })),
  waivable_by: z.enum(['operator', 'nobody']).describe('Who may release it all the same.'),
});

/** What keeps a document or a group from being sent because earlier ones name the same items. */
export const itemHold = z.strictObject({
  kind: z.literal('items').describe('items: earlier documents name the same packs, or containers around them.'),
  since: instant,
  for: z.array(
    reference.extend({
      outcome: documentOutcome.optional().describe('Of one that ended badly.'),
      items: z.array(z.string()).describe('The first of the packs, containers and places in which the two meet.'),
      item_count: whole.describe('All of them.'),
    }),
  ),
  waivable_by: z.enum(['operator', 'nobody']).describe('Who may release it all the same.'),
});

/** A pack whose known state forbids a document. */
const gatePack = z.strictObject({
  item: z.string().describe('SGTIN or SSCC.'),
  reasons: z.array(z.enum(GATE_REASONS)),
  status: z.string().optional(),
  place: z.string().optional(),
  container: z.string().optional(),
  told_by: z
    .strictObject({
      doc_type: whole,
      request_id: requestId.optional(),
      document_id: z.string().optional(),
      known_at: z.string().describe('Log position.'),
    })
    .optional()
    .describe('The last document that moved it.'),
});

/** What was found at the sequence gate. */
export const gateFinding = z.strictObject({
  packs: z.array(gatePack).describe('The first of them.'),
  pack_count: whole.describe('All of them.'),
  known_at: z.string().describe('The log position up to which their states were known.'),
});

/** What keeps a document from being sent because of its packs. */
export const gateHold = z.strictObject({
  kind: z.literal('gate').describe('gate: the known state of its packs forbids it.'),
  since: instant,
  for: gateFinding,
  waivable_by: z.literal('operator'),
});

/** Packs of a document, and suspensions of their series. */
export const suspensionFinding = z.strictObject({
  series: z
    .array(
      z.strictObject({
        gtin: z.string(),
        series: z.string(),
        suspensions: z.array(z.string()).describe('In force for it: /v1/suspensions/{id}.'),
        packs: z.array(z.string()).describe('The first of its packs, also of those that lie in a named container.'),
        pack_count: whole,
      }),
    )
    .describe('Suspended series that it has packs of; the first of them.'),
  pack_count: whole.describe('Packs of all suspended series.'),
  unknown: z
    .strictObject({ items: z.array(z.string()), item_count: whole })
    .optional()
    .describe('Packs and containers of which nobody told what series they are of; the first of them.'),
  known_at: z.string().describe('The log position up to which suspensions were known.'),
});

/** What keeps a document from being sent because series of its packs are suspended. */
export const suspensionHold = z.strictObject({
  kind: z.literal('suspension').describe('suspension: packs of it are of a suspended series.'),
  since: instant,
  for: suspensionFinding,
  waivable_by: z.literal('operator'),
});

/** What a person keeps from being sent. */
export const personHold = z.strictObject({
  kind: z.literal('person').describe('person: a person holds it.'),
  since: instant,
  for: z.strictObject({ by: z.string(), reason: z.string() }),
  waivable_by: z.literal('operator'),
});

/** What keeps a member of a group from being sent. */
const groupHold = z.strictObject({
  kind: z.literal('group').describe('group: its turn in its group has not come.'),
  since: instant,
  for: requestId.describe('The group: /v1/groups/{groupId}.'),
  waivable_by: z.literal('nobody'),
});

/** What keeps a document from being sent on its account's side. */
export const accountHold = z.strictObject({
  kind: z.literal('account'),
  since: instant,
  for: z.string().describe('Cause and text.'),
  waivable_by: z.literal('operator').describe('By POST /v1/accounts/{name}/resumptions.'),
});

const documentSummaryFields = {
  request_id: requestId,
  command_id: z.string(),
  reference: z.string().optional(),
  account: z.string(),
  doc_type: whole,
  doc_num: z.string().optional(),
  subject_id: z.string(),
  counterparty_id: z.string().optional(),
  operation_date: z.string().describe('As the document claims it.'),
  ...dueFields,
  item_count: whole,
  phase: z.enum(DOCUMENT_PHASES),
  waiting_for: z
    .array(
      reference.extend({
        known: z.boolean().describe('False when no such command was received yet.'),
        items: z.array(z.string()).optional().describe('Set where it waits because both name these; the first ones.'),
        item_count: whole.optional(),
      }),
    )
    .describe('For phase waiting: the commands that it is held for.'),
  holds: z
    .array(z.discriminatedUnion('kind', [afterHold, itemHold, gateHold, suspensionHold, personHold, groupHold]))
    .describe('What keeps it from being sent. A pause of its account is told with the single document alone.'),
  attempts: whole,
  document_id: z.string().optional().describe("The registry's id."),
  status: registryStatus.optional(),
  outcome: documentOutcome.optional(),
  cause: failureCause.optional(),
  ...words,
  error_count: whole,
  document_sha256: sha256,
  receipt_sha256: sha256.optional(),
  duplicate: z.boolean().describe('Alarm: the registry holds one document too many under the request_id.'),
  group_id: requestId.optional().describe('The group that it is a member of: /v1/groups/{groupId}.'),
  group_index: whole.optional().describe('Its place there, from 0.'),
  group_size: whole.optional(),
  superseded_by: requestId.optional().describe('The document that stands in its place in a resumption of its group.'),
  resend_of: requestId.optional().describe('The rejected or failed document that an operator sent again by this one.'),
  resent_as: requestId.optional().describe('The document by which an operator sent this one again.'),
  registered_at: instant,
  accepted_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

export const documentSummary = z.strictObject(documentSummaryFields);

export const documentDetail = z.strictObject({
  ...documentSummaryFields,
  timeline,
  notifications: z.array(notification).describe('What others told about it, the oldest first; at most 1,000.'),
  errors: receiptErrors,
  holds: z
    .array(
      z.discriminatedUnion('kind', [afterHold, itemHold, gateHold, suspensionHold, personHold, groupHold, accountHold]),
    )
    .describe('Everything that keeps it from being sent.'),
  warnings: itemWarnings.optional(),
});

export const outcomeCounts = z.strictObject({
  documents: whole,
  accepted: whole,
  partial: whole,
  rejected: whole,
  failed: whole,
  unfinished: whole,
});
