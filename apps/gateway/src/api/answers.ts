import { z } from 'zod';
import { reconciliation, reconciliationDetail, reconciliationPage } from './reconciliation-answers.js';
import { account, accountHold, accountList } from './account-answers.js';
import { afterHold, group, groupPage, holdDecision, holds } from './group-answers.js';
import { cloudEventOf, OUTCOME_DATA, type OutcomeType } from '#read-models';

/**
 * The shapes of the API's answers: for its documentation, and for a test that holds real answers against them. Names as
 * in the API.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();
const position = z.string().regex(/^\d+$/).describe('Log position');
const requestId = z.uuid();
const outcome = z.enum(['accepted', 'partial', 'rejected', 'failed']);
const phases = [
  'waiting',
  'held',
  'ready',
  'sending',
  'uploading',
  'unconfirmed',
  'sent',
  'received',
  'concluded',
] as const;

export const documentPhase = z.enum(phases);
export const documentOutcome = outcome;
export const failureCause = z.enum(['registry_failed', 'send_refused', 'predecessor_failed', 'not_processed']);

export const acknowledgement = z
  .strictObject({
    command_id: z.string(),
    request_id: requestId,
    repeated: z.boolean().describe('True when this very command had been acknowledged before.'),
    document: z.string().optional().describe('Where the document can be looked at, from now on.'),
    group: z
      .string()
      .optional()
      .describe('Instead of it, where the command asked for a group, or its document was split into one.'),
  })
  .meta({
    examples: [
      {
        command_id: 'erp-1',
        request_id: '1e3b7f0a-5b54-5bd2-8cf1-7d8a6d1f4a11',
        repeated: false,
        document: '/v1/documents/1e3b7f0a-5b54-5bd2-8cf1-7d8a6d1f4a11',
      },
    ],
  });

/** A document that goes again as another one. */
export const resent = acknowledgement.extend({ resend_of: requestId });

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
    .array(
      z.strictObject({
        command_id: z.string(),
        request_id: requestId,
        known: z.boolean().describe('False when no such command was received yet.'),
      }),
    )
    .describe('For phase waiting: the commands that it is held for.'),
  holds,
  attempts: z.number().int(),
  document_id: z.string().optional().describe("The registry's id."),
  status: z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed']).optional(),
  outcome: outcome.optional(),
  cause: failureCause.optional(),
  sentence: z.string().describe('What the state means.'),
  remedy: z.string().optional().describe('What to do.'),
  error_count: z.number().int(),
  document_sha256: sha256,
  receipt_sha256: sha256.optional(),
  duplicate: z.boolean().describe('Alarm: the registry holds more than one document under the request_id.'),
  group_id: requestId.optional().describe('The group that it is a member of: /v1/groups/{groupId}.'),
  group_index: z.number().int().optional().describe('Its place there, from 0.'),
  group_size: z.number().int().optional(),
  superseded_by: requestId.optional().describe('The document that stands in its place in a resumption of its group.'),
  resend_of: requestId.optional().describe('The rejected or failed document that an operator sent again by this one.'),
  resent_as: requestId.optional().describe('The document by which an operator sent this one again.'),
  registered_at: instant,
  accepted_at: instant.optional(),
  concluded_at: instant.optional(),
  position,
};

const documentSummary = z.strictObject(documentSummaryFields);
export const documentPage = z.strictObject({
  items: z.array(documentSummary),
  next_cursor: z.string().optional().describe('Absent on the last page.'),
});

export const inboundChannel = z.enum([
  'counterparty',
  'emission_registrar',
  'disposal_registrar',
  'fiscal_operator',
  'cabinet',
  'other_system',
]);
export const inboundDirection = z.enum(['incoming', 'outgoing']);
export const inboundPhase = z.enum(['followed', 'concluded', 'ours']);
export const inboundOutcome = z.enum(['accepted', 'partial', 'rejected', 'failed', 'undetermined']);
const linkedBy = z
  .enum(['request_id', 'original_id', 'items'])
  .describe('How it was found: by the id that it carries, the id that its envelope names, or counterparty and items.');
const sharedItems = z.number().int().optional().describe('Packs and units that both name.');
const errors = z
  .array(z.strictObject({ code: z.string(), text: z.string(), object_id: z.string().optional() }))
  .describe("The receipt's errors, per item where it names one.");

const timeline = z.array(
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
);

const notification = z.strictObject({
  document_id: z.string().describe('Look at /v1/inbound/{documentId}.'),
  doc_type: z.number().int().optional(),
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
  status: z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed']),
  sentence: z.string().describe('What the state means.'),
  request_id: z.string().optional().describe("Its sender's own id."),
  doc_type: z.number().int().optional(),
  doc_num: z.string().optional(),
  sender: z.string().optional(),
  receiver: z.string().optional(),
  subject_id: z.string().optional(),
  counterparty_id: z.string().optional(),
  operation_date: z.string().optional().describe('As the document claims it.'),
  item_count: z.number().int().optional(),
  outcome: inboundOutcome
    .optional()
    .describe('undetermined: the registry is done with it, and its receipt cannot be had or read.'),
  problem: z.string().optional().describe('Why its bytes or its receipt cannot be had or read.'),
  error_count: z.number().int(),
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

export const inboundSummary = z.strictObject(inboundSummaryFields);
export const inboundPage = z.strictObject({
  items: z.array(inboundSummary),
  next_cursor: z.string().optional().describe('Absent on the last page.'),
});
export const inboundDocument = z.strictObject({ ...inboundSummaryFields, timeline, errors });

const documentDetail = z.strictObject({
  ...documentSummaryFields,
  timeline,
  notifications: z.array(notification).describe('What others told about it, the oldest first; at most 1,000.'),
  errors,
  holds: z
    .array(z.discriminatedUnion('kind', [afterHold, accountHold]))
    .describe('Everything that keeps it from being sent.'),
});

/** A command that nobody has run yet: durable, and not in the log. */
const acknowledgedDocument = z.strictObject({
  request_id: requestId,
  command_id: z.string(),
  account: z.string(),
  phase: z.literal('acknowledged'),
  sentence: z.string(),
  document_sha256: sha256,
  acknowledged_at: instant,
});

export const document = z.union([documentDetail, acknowledgedDocument]);
export const commandAnswer = z.union([
  z.strictObject({ command_id: z.string(), request_id: requestId, document }),
  z.strictObject({ command_id: z.string(), request_id: requestId.describe('The id of the group.'), group }),
]);

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
      request_id: z
        .string()
        .optional()
        .describe(
          "Ours is a UUID; for a document that we did not send it is its sender's own id, where that is known.",
        ),
      document_id: z.string().optional(),
      channel: inboundChannel
        .optional()
        .describe('For a document that we did not send: by which way it came. Look at /v1/inbound/{documentId}.'),
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

const resultOfItem = z.enum(['accepted', 'refused', 'undetermined']);

export const documentItems = z.strictObject({
  items: z.array(
    z.strictObject({ id: z.string(), result: resultOfItem, code: z.string().optional(), text: z.string().optional() }),
  ),
  next_cursor: z.string().optional().describe('Absent on the last page.'),
});

const outcomePage = z.strictObject({
  items: z.array(z.union((Object.keys(OUTCOME_DATA) as OutcomeType[]).map(cloudEventOf))),
  next_after: z
    .string()
    .regex(/^\d{20}$/)
    .describe('Give it as `after` for what comes next.'),
});

const webhookFields = {
  id: z.uuid(),
  url: z.string(),
  description: z.string().optional(),
  created_by: z.string(),
  created_at: instant,
  state: z
    .enum(['active', 'retrying', 'halted'])
    .describe('retrying: the newest attempt failed. halted: given up, until it is resumed.'),
  position: position.describe('Log position up to which everything was delivered.'),
  behind: z.number().int().describe('Outcomes that it lacks, counted up to 10,000.'),
  failures: z.number().int().describe('Failures in a row.'),
  last_error: z.string().optional(),
  next_attempt_at: instant.optional(),
  halted_at: instant.optional(),
};

export const webhook = z.strictObject(webhookFields);
export const newWebhook = z.strictObject({
  ...webhookFields,
  secret: z.string().describe('For the check of signatures (Standard Webhooks). Shown this once.'),
});
export const webhookList = z.strictObject({ items: z.array(webhook) });

/** By the names under which the API's description lists them. */
export const operationsStatus = z.strictObject({
  tasks: z.strictObject({
    ready: z.number().int(),
    leased: z.number().int(),
    failed: z.number().int().describe('Given up: somebody must look.'),
    overdue: z.number().int(),
    oldest_due_at: instant.optional(),
  }),
  programs: z.array(
    z.strictObject({
      name: z.string().describe('`worker`, `auditor`, `reconciler`, `gateway`.'),
      state: z
        .enum(['running', 'missing', 'not_running'])
        .describe('`missing`: it should run (`PEDIGREE_EXPECTED_PROGRAMS`) and does not.'),
      processes: z
        .array(
          z.strictObject({
            process: z.string().describe('Host and number.'),
            state: z.enum(['running', 'silent', 'stopped']),
            started_at: instant,
            seen_at: instant,
          }),
        )
        .describe('Those that run; when none does, the one that was there last.'),
    }),
  ),
  subscriptions: z.array(
    z.strictObject({
      name: z.string(),
      position,
      lag: z.string().regex(/^\d+$/).describe('How far behind the log.'),
      lag_unit: z.enum(['event', 'byte']).describe('What lag counts: bytes where the log is in EventStoreDB.'),
      updated_at: instant.describe('When it moved last.'),
      state: z
        .enum(['running', 'standing_by', 'halted', 'nobody'])
        .describe(
          '`halted`: it stands at an event and a person must look. `nobody`: no process runs it. `standing_by`: ' +
            'processes wait for another to let go of it.',
        ),
      processes: z.array(z.string()).describe('Host and number of the processes that run it, or stand by.'),
      since: instant.optional().describe('Since when it is halted.'),
      reason: z.string().optional().describe('Why it is halted, and at which event.'),
    }),
  ),
  restoration: z
    .strictObject({
      state: z
        .enum(['loading', 'comparing', 'released'])
        .describe('`comparing`: nothing leaves for the registry before its document lists were read.'),
      backup_taken_at: instant,
      restored_by: z.string(),
      released_at: instant.optional(),
      found: z
        .strictObject({ incoming: z.number().int(), outgoing: z.number().int() })
        .describe('Documents that the registry has and this database did not know.'),
      unread: z
        .array(z.strictObject({ account: z.string(), list: z.string(), problem: z.string().optional() }))
        .describe('Lists that are still to be read.'),
    })
    .optional()
    .describe('Where this database is a restored backup.'),
});

export const failedTasks = z.strictObject({
  items: z.array(
    z.strictObject({
      key: z.string(),
      kind: z.string(),
      lane: z.string(),
      attempts: z.number().int(),
      failed_at: instant,
      error: z.string(),
    }),
  ),
});

export const orphanList = z.strictObject({
  items: z.array(
    z.strictObject({
      kind: z.enum(['document', 'group']),
      id: z.string().describe('The request_id, or the id of the group.'),
      account: z.string(),
      phase: z.string(),
      since: instant.describe('When its newest event was recorded.'),
    }),
  ),
});

export const parkedInstances = z.strictObject({
  items: z.array(
    z.strictObject({
      key: z.string().describe('By which it is tried again.'),
      saga: z.string(),
      stream: z.string().describe('Stream and version of the event at which it stands.'),
      version: z.number().int(),
      position,
      held: z.number().int().describe('Events that wait, the one at which it stands included.'),
      error: z.string(),
      attempts: z.number().int(),
      parked_at: instant,
      tried_at: instant,
    }),
  ),
});

export const configurationPart = z.enum(['configuration', 'profile', 'accounts', 'schemas', 'software']);
const setting = z.unknown().describe('Without secrets; a long value stands as its SHA-256.');

export const configurationChanges = z.strictObject({
  items: z
    .array(
      z.strictObject({
        version: z.number().int().describe('Its place in the stream `configuration`, from 0.'),
        position,
        at: instant,
        program: z.string(),
        part: configurationPart,
        actor: z
          .strictObject({ kind: z.string(), name: z.string(), authenticated_by: z.string() })
          .describe('Who: PEDIGREE_CHANGED_BY, else the user of the operating system.'),
        reason: z.string().describe('PEDIGREE_CHANGE_REASON, else `not given`.'),
        software_version: z.string(),
        from_digest: sha256.optional().describe('Absent for the first that was recorded of this part.'),
        to_digest: sha256.describe('SHA-256 over the canonical JSON of the whole part.'),
        fields: z.number().int().describe('Fields that the part has.'),
        changes: z.array(
          z.strictObject({
            field: z.string().describe('RFC 6901 pointer.'),
            from: setting.optional(),
            to: setting.optional(),
          }),
        ),
        changes_left_out: z
          .number()
          .int()
          .optional()
          .describe('Further fields that differ; the event in the log has the whole part.'),
        local: z
          .array(z.strictObject({ field: z.string(), value: setting }))
          .describe('What was of the one process that started, and is not compared.'),
      }),
    )
    .describe('Newest first.'),
  next_before: z.number().int().optional().describe('Give it as `before` for older ones. Absent on the last page.'),
});

export const deadLetterSummary = z.strictObject({
  id: z.string().describe('Names it while it lies there.'),
  message_id: z.string().optional().describe("The publisher's id of the message."),
  publisher: z
    .string()
    .optional()
    .describe('The user who published it, where the broker (property user_id) or the database vouches for him.'),
  content_type: z.string(),
  body_bytes: z.number().int(),
  code: z.string().describe('An error code as in a Problem, or `delivery_limit`.'),
  reason: z.string().describe('What is wrong, and where.'),
  dead_at: instant,
  deliveries: z.number().int(),
  discarded: z
    .strictObject({ at: instant, by: z.string(), reason: z.string() })
    .optional()
    .describe('Set for one that was discarded: it waits for nobody any more.'),
});

export const deadLetterList = z.strictObject({
  items: z.array(deadLetterSummary).describe('Oldest first; of those that were discarded the newest.'),
});

export const deadLetter = deadLetterSummary.extend({
  headers: z.record(z.string(), z.string()),
  body: z.string().optional().describe('The message as it came, where it is text in UTF-8.'),
  body_base64: z.string().optional().describe('The message as it came, where it is not.'),
});

export const ANSWERS = {
  Account: account,
  AccountList: accountList,
  Acknowledgement: acknowledgement,
  CommandAnswer: commandAnswer,
  ConfigurationChanges: configurationChanges,
  DeadLetter: deadLetter,
  DeadLetterList: deadLetterList,
  Document: document,
  DocumentItems: documentItems,
  DocumentPage: documentPage,
  DocumentSummary: documentSummary,
  FailedTasks: failedTasks,
  Group: group,
  GroupPage: groupPage,
  HoldDecision: holdDecision,
  InboundDocument: inboundDocument,
  InboundPage: inboundPage,
  InboundSummary: inboundSummary,
  NewWebhook: newWebhook,
  OperationsStatus: operationsStatus,
  OrphanList: orphanList,
  OutcomeCounts: outcomeCounts,
  OutcomePage: outcomePage,
  PackHistory: packHistory,
  ParkedInstances: parkedInstances,
  Reconciliation: reconciliation,
  ReconciliationDetail: reconciliationDetail,
  ReconciliationPage: reconciliationPage,
  Webhook: webhook,
  WebhookList: webhookList,
  Resent: resent,
} as const;
