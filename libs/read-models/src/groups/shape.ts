import { z } from 'zod';
import { GROUP_KINDS } from '#domain';
import { afterHold, itemHold } from '../document-outcomes/shape.js';
import { timeline } from '../document-timeline/shape.js';
import { DOCUMENT_PHASES, GROUP_PHASES } from '../phases.js';
import {
  documentOutcome,
  failureCause,
  haltCause,
  instant,
  position,
  reference,
  requestId,
  sha256,
  whole,
  words,
} from '../shapes.js';

const groupSummaryFields = {
  group_id: requestId,
  command_id: z.string(),
  reference: z.string().optional(),
  account: z.string(),
  kind: z
    .enum(GROUP_KINDS)
    .describe('given: by the ERP; split: the parts of one document; resumption: what was left of a group that halted.'),
  phase: z.enum(GROUP_PHASES),
  waiting_for: z.array(reference).describe('For phase waiting: what it is held for.'),
  holds: z
    .array(z.discriminatedUnion('kind', [afterHold, itemHold]))
    .describe('What it comes after, by its command or by its items, while that keeps it from being sent.'),
  member_count: whole,
  sent_count: whole.describe('Members that the registry has.'),
  ended_count: whole.describe('Members that have ended.'),
  item_count: whole,
  outcome: documentOutcome
    .optional()
    .describe('Of the whole: accepted when every member is; partial when some of it was taken.'),
  halt: haltCause.optional().describe('Why it stopped. The documents after it are not processed, and can be resumed.'),
  ...words,
  document_sha256: sha256.optional().describe('For kind split: the document as it was given.'),
  resumes: requestId.optional().describe('The group that halted, which this one carries on.'),
  resumed_by: requestId.optional().describe('The group that carries on what was left of this one.'),
  registered_at: instant,
  started_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

export const groupSummary = z.strictObject(groupSummaryFields);

export const groupMember = z.strictObject({
  index: whole.describe('Its place, from 0.'),
  request_id: requestId,
  command_id: z.string(),
  reference: z.string().optional(),
  doc_type: whole,
  item_count: whole,
  document_sha256: sha256,
  phase: z.enum(DOCUMENT_PHASES).describe('As of its document: /v1/documents/{requestId}.'),
  document_id: z.string().optional(),
  outcome: documentOutcome.optional(),
  cause: failureCause.optional(),
  supersedes: requestId.optional().describe('The member of the halted group in whose place it stands.'),
  superseded_by: requestId.optional().describe('The member of a resumption that stands in its place.'),
});

export const groupDetail = z.strictObject({
  ...groupSummaryFields,
  members: z.array(groupMember),
  timeline,
});
