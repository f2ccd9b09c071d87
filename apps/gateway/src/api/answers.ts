import { z } from 'zod';
import {
  caseDetail,
  caseSummary,
  suspendedListPage,
  suspensionAnswer,
  suspensionAfterAction,
  suspensionDetail,
  suspensionPage,
  documentDetail,
  documentSummary,
  dutyRow,
  inboundDetail,
  inboundSummary,
  itemWarnings,
  outcomeCounts,
  packChecks,
  packPage,
  packSummary,
  seriesFile,
  seriesSourcePage,
  shapes,
  stockPage,
  timeliness,
  expiringPacksShape,
  mockRecallDetail,
  mockRecallPage,
  overdueTransfersShape,
  overridesShape,
  suspensionReply,
  unmovedPacksShape,
} from '#read-models';
import { INBOUND_PARTS } from '#domain';
import { account, accountList } from './account-answers.js';
import { accessEntry, accessPage } from './access-answers.js';
import { caseActionResults, casePage } from './case-answers.js';
import { group, groupPage, holdDecision } from './group-answers.js';
import * as operations from './operations-answers.js';
import * as outcomes from './outcome-answers.js';
import { containerContentAnswer, containerHistoryAnswer, packHistoryAnswer, packStateAnswer } from './pack-answers.js';
import { findingPage, reconciliation, reconciliationDetail, reconciliationPage } from './reconciliation-answers.js';
import { stockUpload } from './stock-upload-answers.js';
import { validation } from './validation.js';

export * from './operations-answers.js';
export * from './outcome-answers.js';

/**
 * The shapes of the API's answers: for its documentation, and for a test that holds real answers against them. Names as
 * in the API. What a read model tells is shaped there.
 */

const { instant, pageShape, requestId, sha256 } = shapes;

export const documentPage = pageShape(documentSummary);
export const inboundPage = pageShape(inboundSummary);

const askedAgainThrough = z.string().describe('The account through which the registry is asked.');
export const inboundRetried = z.strictObject({
  document_id: z.string(),
  account: askedAgainThrough,
  parts: z.array(z.enum(INBOUND_PARTS)).describe('What had been given up.'),
});
export const inboundAllRetried = z.strictObject({
  account: askedAgainThrough,
  document_ids: z.array(z.string()),
  more: z.boolean().describe('Others are left: the same call again, in a moment, takes them.'),
});

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
    warnings: itemWarnings.optional(),
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

/** A document that is resent as a new one. */
export const resent = acknowledgement.extend({ resend_of: requestId });

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

export const itemResult = z.enum(['accepted', 'refused', 'undetermined']);

export const documentItems = pageShape(
  z.strictObject({ id: z.string(), result: itemResult, code: z.string().optional(), text: z.string().optional() }),
);

export const ANSWERS = {
  AccessPage: accessPage,
  AccessEntry: accessEntry,
  Account: account,
  AccountList: accountList,
  Acknowledgement: acknowledgement,
  Case: caseDetail,
  CaseActionResults: caseActionResults,
  CasePage: casePage,
  CaseSummary: caseSummary,
  CommandAnswer: commandAnswer,
  ConfigurationChanges: operations.configurationChanges,
  ContainerContent: containerContentAnswer,
  ContainerHistory: containerHistoryAnswer,
  DeadLetter: operations.deadLetter,
  DeadLetterList: operations.deadLetterList,
  Document: document,
  DocumentItems: documentItems,
  DocumentPage: documentPage,
  DocumentSummary: documentSummary,
  ExpiringPacks: expiringPacksShape,
  FailedTasks: operations.failedTasks,
  FindingPage: findingPage,
  Group: group,
  GroupPage: groupPage,
  HoldDecision: holdDecision,
  InboundDocument: inboundDetail,
  InboundAllRetried: inboundAllRetried,
  InboundPage: inboundPage,
  InboundRetried: inboundRetried,
  InboundSummary: inboundSummary,
  MockRecall: mockRecallDetail,
  MockRecallPage: mockRecallPage,
  NewWebhook: outcomes.newWebhook,
  OperationsStatus: operations.operationsStatus,
  OrphanList: operations.orphanList,
  OutcomeCounts: outcomeCounts,
  OutcomePage: outcomes.outcomePage,
  OverdueTransfers: overdueTransfersShape,
  Overrides: overridesShape,
  PackChecks: packChecks,
  PackHistory: packHistoryAnswer,
  PackPage: packPage,
  PackState: packStateAnswer,
  PackSummary: packSummary,
  ParkedInstances: operations.parkedInstances,
  Reconciliation: reconciliation,
  ReconciliationDetail: reconciliationDetail,
  ReconciliationPage: reconciliationPage,
  SeriesFile: seriesFile,
  SeriesSourcePage: seriesSourcePage,
  SuspendedListPage: suspendedListPage,
  Suspension: suspensionDetail,
  SuspensionAfterAction: suspensionAfterAction,
  SuspensionAnswer: suspensionAnswer,
  SuspensionPage: suspensionPage,
  SuspensionReply: suspensionReply,
  Stock: stockPage,
  StockUpload: stockUpload,
  Timeliness: timeliness,
  TimelinessRow: dutyRow,
  UnmovedPacks: unmovedPacksShape,
  Validation: validation,
  Webhook: outcomes.webhook,
  WebhookList: outcomes.webhookList,
  Resent: resent,
} as const;
