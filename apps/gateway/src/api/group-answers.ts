import { z } from 'zod';
import { GROUP_PHASES } from '#read-models';

/** The shapes of the API's answers about groups. Names as in the API. */

const id = z.uuid();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();
const position = z.string().regex(/^\d+$/).describe('Log position');
const outcome = z.enum(['accepted', 'partial', 'rejected', 'failed']);
const count = z.number().int();

export const groupPhase = z.enum(GROUP_PHASES);
export const groupKind = z.enum(['given', 'split', 'resumption']);

/**
 * What keeps a document or a group from being sent: kinds of one thing. The list of one document has the hold of its
 * account too.
 */
export const afterHold = z.strictObject({
  kind: z.literal('after').describe('after: it comes after others.'),
  since: instant,
  for: z.array(
    z.strictObject({
      command_id: z.string(),
      request_id: id,
      outcome: outcome.optional().describe('Of one that ended badly.'),
    }),
  ),
  waivable_by: z.enum(['operator', 'nobody']).describe('Who may release it all the same.'),
});
export const holds = z.array(afterHold).describe('What it comes after, while that keeps it from being sent.');

/** A decision about what is held: acknowledged, and carried out by the worker in a moment. */
export const holdDecision = z.strictObject({
  request_id: id,
  decision: z.enum(['release', 'end']),
  held_for: z
    .array(z.strictObject({ command_id: z.string(), request_id: id, outcome }))
    .describe('What it was held for: the decision is about these, and no later ones.'),
});

const groupSummaryFields = {
  group_id: id,
  command_id: z.string(),
  reference: z.string().optional(),
  account: z.string(),
  kind: groupKind.describe(
    'given: by the ERP; split: the parts of one document; resumption: what was left of a group that halted.',
  ),
  phase: groupPhase,
  waiting_for: z
    .array(z.strictObject({ command_id: z.string(), request_id: id }))
    .describe('For phase waiting: what it is held for.'),
  holds,
  member_count: count,
  sent_count: count.describe('Members that the registry has.'),
  ended_count: count.describe('Members that have ended.'),
  item_count: count,
  outcome: outcome
    .optional()
    .describe('Of the whole: accepted when every member is; partial when some of it was taken.'),
  halt: z
    .enum([
      'member_rejected',
      'member_failed',
      'member_partial',
      'member_not_sent',
      'predecessor_failed',
      'check_denied',
      'start_refused',
    ])
    .optional()
    .describe('Why it stopped. What stands behind is not processed, and can be resumed.'),
  sentence: z.string().describe('What the state means.'),
  remedy: z.string().optional().describe('What to do.'),
  document_sha256: sha256.optional().describe('For kind split: the document as it was given.'),
  resumes: id.optional().describe('The group that halted, which this one carries on.'),
  resumed_by: id.optional().describe('The group that carries on what was left of this one.'),
  registered_at: instant,
  started_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

const groupSummary = z.strictObject(groupSummaryFields);
export const groupPage = z.strictObject({
  items: z.array(groupSummary),
  next_cursor: z.string().optional().describe('Absent on the last page.'),
});

const groupMember = z.strictObject({
  index: count.describe('Its place, from 0.'),
  request_id: id,
  command_id: z.string(),
  reference: z.string().optional(),
  doc_type: count,
  item_count: count,
  document_sha256: sha256,
  phase: z.string().describe('As of its document: /v1/documents/{requestId}.'),
  document_id: z.string().optional(),
  outcome: outcome.optional(),
  cause: z.enum(['registry_failed', 'send_refused', 'predecessor_failed', 'not_processed']).optional(),
  supersedes: id.optional().describe('The member of the halted group in whose place it stands.'),
  superseded_by: id.optional().describe('The member of a resumption that stands in its place.'),
});

export const groupDetail = z.strictObject({
  ...groupSummaryFields,
  members: z.array(groupMember),
  timeline: z.array(
    z.strictObject({
      position,
      version: count,
      type: z.string(),
      at: instant,
      actor: z.string(),
      sentence: z.string(),
      data: z.record(z.string(), z.unknown()),
      evidence: z.array(sha256),
    }),
  ),
});

/** A group whose command nobody has run yet: durable, and not in the log. */
const acknowledgedGroup = z.strictObject({
  group_id: id,
  command_id: z.string(),
  account: z.string(),
  phase: z.literal('acknowledged'),
  sentence: z.string(),
  acknowledged_at: instant,
});

export const group = z.union([groupDetail, acknowledgedGroup]);
