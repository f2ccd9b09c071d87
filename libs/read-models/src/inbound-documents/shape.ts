import { z } from 'zod';
import {
  INBOUND_DIRECTIONS,
  INBOUND_OUTCOMES,
  LINKS,
  type InboundChannel,
  type InboundDirection,
  type InboundOutcome,
} from '#domain';
import { timeline } from '../document-timeline/shape.js';
import { INBOUND_PHASES, type InboundPhase } from '../phases.js';
import {
  inboundChannel,
  instant,
  position,
  receiptErrors,
  registryStatus,
  requestId,
  sha256,
  whole,
} from '../shapes.js';
import { dueFields } from '../timeliness/shape.js';

export const inboundDirection = z.enum(INBOUND_DIRECTIONS);
export const inboundPhase = z.enum(INBOUND_PHASES);
export const inboundOutcome = z.enum(INBOUND_OUTCOMES);
const linkedBy = z
  .enum(LINKS)
  .describe('How it was found: by the id that it carries, the id that its envelope names, or counterparty and items.');
const sharedItems = whole.optional().describe('Packs and units that both name.');
export const notification = z.strictObject({
  document_id: z.string().describe('Look at /v1/inbound/{documentId}.'),
  doc_type: whole.optional(),
  title: z.string(),
  sender: z.string().optional(),
  by: linkedBy,
  shared_items: sharedItems,
  outcome: inboundOutcome.optional(),
  accepted_at: instant.optional(),
  seen_at: instant,
});

const inboundSummaryFields = {
  document_id: z.string().describe("The registry's id."),
  direction: inboundDirection,
  channel: inboundChannel,
  account: z.string().describe('In whose list it stood first.'),
  title: z.string(),
  phase: inboundPhase.describe('ours: it turned out to be a document of ours.'),
  status: registryStatus,
  sentence: z.string().describe('What the state means.'),
  not_understood: z
    .literal(true)
    .optional()
    .describe('Nobody here knows the type: what it did to its packs is not known.'),
  request_id: z.string().optional().describe("Its sender's own id."),
  doc_type: whole.optional(),
  doc_num: z.string().optional(),
  sender: z.string().optional(),
  receiver: z.string().optional(),
  subject_id: z.string().optional(),
  counterparty_id: z.string().optional(),
  operation_date: z.string().optional().describe('As the document claims it.'),
  ...dueFields,
  item_count: whole.optional(),
  outcome: inboundOutcome
    .optional()
    .describe('undetermined: the registry is done with it, and its receipt cannot be had or read.'),
  problem: z.string().optional().describe('Why its bytes or its receipt cannot be had or read.'),
  error_count: whole,
  document_sha256: sha256.optional(),
  receipt_sha256: sha256.optional(),
  belongs_to: z
    .strictObject({ request_id: requestId, by: linkedBy, shared_items: sharedItems })
    .optional()
    .describe('The document of ours that it tells of: /v1/documents/{requestId}.'),
  seen_at: instant,
  received_at: instant.optional(),
  accepted_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

/** Which documents of others a list shows. */
export interface InboundListQuery {
  direction?: InboundDirection;
  channel?: InboundChannel;
  phase?: InboundPhase;
  outcome?: InboundOutcome;
  account?: string;
  docType?: number;
  /** Only what belongs to this document of ours. */
  requestId?: string;
  /** True: only what belongs to a document of ours; false: only what does not. */
  linked?: boolean;
  /** True: only those whose bytes or receipt were given up; false: only the others. */
  givenUp?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export const inboundSummary = z.strictObject(inboundSummaryFields);
export const inboundDetail = z.strictObject({ ...inboundSummaryFields, timeline, errors: receiptErrors });
