import { z } from 'zod';

/** The shapes of the API's answers: for its documentation, and for a test that holds real answers against them. Names as in the API. */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();
const position = z.string().regex(/^\d+$/).describe('Log position');
const requestId = z.uuid();
const outcome = z.enum(['accepted', 'partial', 'rejected', 'failed']);
const phases = ['waiting', 'ready', 'sending', 'unconfirmed', 'sent', 'received', 'concluded'] as const;

export const documentPhase = z.enum(phases);
export const documentOutcome = outcome;

export const acknowledgement = z.strictObject({
  command_id: z.string(),
  request_id: requestId,
  repeated: z.boolean().describe('True when this very command had been acknowledged before.'),
  document: z.string().describe('Where the document can be looked at, from now on.'),
});

const documentSummaryFields = {
  request_id: requestId,
  command_id: z.string(),
  reference: z.string().optional(),
  account: z.string(),
  doc_type: z.number().int(),
  doc_num: z.string().optional(),
  subject_id: z.string(),
  counterparty_id: z.string().optional(),
  operation_date: z.string().describe('As the document claims it.'),
  item_count: z.number().int(),
  phase: documentPhase,
  waiting_for: z
    .array(z.strictObject({ command_id: z.string(), request_id: requestId, known: z.boolean().describe('False when no such command was received yet.') }))
    .describe('For phase waiting: the commands that it is held for.'),
  attempts: z.number().int(),
  document_id: z.string().optional().describe("The registry's id."),
  status: z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed']).optional(),
  outcome: outcome.optional(),
  cause: z.enum(['registry_failed', 'send_refused', 'predecessor_failed']).optional(),
  sentence: z.string().describe('What the state means.'),
  remedy: z.string().optional().describe('What to do.'),
  error_count: z.number().int(),
  document_sha256: sha256,
  receipt_sha256: sha256.optional(),
  duplicate: z.boolean().describe('Alarm: the registry holds more than one document under the request_id.'),
  registered_at: instant,
  accepted_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

export const documentSummary = z.strictObject(documentSummaryFields);
export const documentPage = z.strictObject({ items: z.array(documentSummary), next_cursor: z.string().optional().describe('Absent on the last page.') });

export const documentDetail = z.strictObject({
  ...documentSummaryFields,
  timeline: z.array(
    z.strictObject({
      position,
      version: z.number().int(),
      type: z.string(),
      at: instant,
      actor: z.string(),
      sentence: z.string(),
      data: z.record(z.string(), z.unknown()),
      evidence: z.array(sha256).describe('Fetch them at /v1/evidence/{sha256}.'),
    }),
  ),
  errors: z.array(z.strictObject({ code: z.string(), text: z.string(), object_id: z.string().optional() })).describe("The receipt's errors, per item where it names one."),
});

/** A command that nobody has run yet: durable, and not in the log. */
export const acknowledgedDocument = z.strictObject({
  request_id: requestId,
  command_id: z.string(),
  account: z.string(),
  phase: z.literal('acknowledged'),
  sentence: z.string(),
  document_sha256: sha256,
  acknowledged_at: instant,
});

export const document = z.union([documentDetail, acknowledgedDocument]);
export const commandAnswer = z.strictObject({ command_id: z.string(), request_id: requestId, document });

export const outcomeCounts = z.strictObject({
  documents: z.number().int(),
  accepted: z.number().int(),
  partial: z.number().int(),
  rejected: z.number().int(),
  failed: z.number().int(),
  unfinished: z.number().int(),
});

export const packHistory = z.strictObject({
  sgtin: z.string(),
  gtin: z.string(),
  serial: z.string(),
  status: z.string().optional(),
  place: z.string().optional(),
  container: z.string().optional(),
  movements: z.array(
    z.strictObject({
      item: z.string().describe('The pack itself, or the container that held it then.'),
      through: z.literal('container').optional(),
      doc_type: z.number().int(),
      title: z.string(),
      request_id: requestId,
      document_id: z.string().optional(),
      result: z.enum(['applied', 'refused', 'undetermined']),
      error_code: z.string().optional(),
      error_text: z.string().optional(),
      status: z.string().optional(),
      subject_id: z.string(),
      counterparty_id: z.string().optional(),
      operation_date: z.string(),
      accepted_at: instant.optional(),
      known_at: position,
      document_sha256: sha256,
      receipt_sha256: sha256.optional(),
    }),
  ),
});

/** By the names under which the API's description lists them. */
export const operationsStatus = z.strictObject({
  tasks: z.strictObject({
    ready: z.number().int(),
    leased: z.number().int(),
    failed: z.number().int().describe('Given up: somebody must look.'),
    overdue: z.number().int(),
    oldest_due_at: instant.optional(),
  }),
  subscriptions: z.array(
    z.strictObject({ name: z.string(), position, lag: z.string().regex(/^\d+$/).describe('Positions behind the log.'), updated_at: instant, running: z.boolean() }),
  ),
});

export const failedTasks = z.strictObject({
  items: z.array(z.strictObject({ key: z.string(), kind: z.string(), lane: z.string(), attempts: z.number().int(), failed_at: instant, error: z.string() })),
});

export const ANSWERS = {
  Acknowledgement: acknowledgement,
  CommandAnswer: commandAnswer,
  Document: document,
  DocumentPage: documentPage,
  DocumentSummary: documentSummary,
  FailedTasks: failedTasks,
  OperationsStatus: operationsStatus,
  OutcomeCounts: outcomeCounts,
  PackHistory: packHistory,
} as const;
