import { documentStream, groupStream, inboundStream } from '#domain';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { accountHolds, accountStanding } from './accounts/standing.js';
import { foldDocumentOutcome } from './document-outcomes/fold.js';
import {
  countOutcomes,
  listDocuments,
  registered,
  summaryOf,
  waitedFor,
  type Received,
} from './document-outcomes/query.js';
import type { DocumentOutcomeRow } from './document-outcomes/row.js';
import { foldInbound } from './inbound-documents/fold.js';
import { inboundSummary, listInbound, notificationsOf } from './inbound-documents/query.js';
import type { InboundDocumentRow } from './inbound-documents/row.js';
import { sentenceOfInboundEvent } from './inbound-documents/sentences.js';
import { timelineOf } from './document-timeline/timeline.js';
import { wholeStream } from './document-timeline/whole-stream.js';
import type {
  DocumentDetail,
  DocumentListQuery,
  DocumentSummary,
  GroupDetail,
  GroupListQuery,
  GroupSummary,
  HistoryQuery,
  InboundDetail,
  InboundListQuery,
  InboundSummary,
  OutcomeCounts,
  Page,
  ReadModels,
  SgtinHistory,
} from './port.js';
import { groupDetail, listGroups } from './groups/query.js';
import type { DocumentReading } from './sgtin-history/movements.js';
import { historyOf } from './sgtin-history/query.js';

export interface ReadModelsOptions {
  pool: Pool;
  store: EventStore;
  evidence: EvidenceStore;
  documents: Pick<DocumentReading, 'readReceipt'>;
  /** The plain name of a document type, for example `Shipment`. */
  titleOf(docType: number): string;
  /**
   * Which of these request_ids belong to commands that were received, run or not. Default: those whose documents are
   * registered.
   */
  received?: Received;
}

/**
 * Answers from the tables that the projections keep, and for one document's timeline from the log itself. Changes
 * nothing.
 */
export class PostgresReadModels implements ReadModels {
  private readonly received: Received;

  constructor(private readonly options: ReadModelsOptions) {
    this.received = options.received ?? ((requestIds) => registered(options.pool, requestIds));
  }

  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>> {
    return listDocuments(this.options.pool, query, this.received);
  }

  /** Folded from the document's own stream, so that it is never behind the log, nor its summary behind its timeline. */
  async document(requestId: string): Promise<DocumentDetail | undefined> {
    const events = await wholeStream(this.options.store, documentStream(requestId));
    const row = events.reduce<DocumentOutcomeRow | undefined>(foldDocumentOutcome, undefined);
    if (row === undefined) return undefined;
    const errors = row.receiptSha256 === null ? [] : await this.errorsOf(row.receiptSha256);
    const waitingFor = (await waitedFor([row], this.received))(row);
    const notifications = await notificationsOf(this.options.pool, requestId, this.options.titleOf);
    const summary = summaryOf(row, { waitingFor, errors });
    const ofAccount =
      row.phase === 'concluded' ? [] : accountHolds(row.phase, await accountStanding(this.options.store, row.account));
    return { ...summary, timeline: timelineOf(events), notifications, errors, holds: [...summary.holds, ...ofAccount] };
  }

  inboundDocuments(query: InboundListQuery): Promise<Page<InboundSummary>> {
    return listInbound(this.options.pool, query, this.options.titleOf);
  }

  /** Folded from its own stream, like a document of ours. */
  async inboundDocument(documentId: string): Promise<InboundDetail | undefined> {
    const events = await wholeStream(this.options.store, inboundStream(documentId));
    const row = events.reduce<InboundDocumentRow | undefined>(foldInbound, undefined);
    if (row === undefined) return undefined;
    const errors = row.receiptSha256 === null || row.errorCount === 0 ? [] : await this.errorsOf(row.receiptSha256);
    return {
      ...inboundSummary(row, this.options.titleOf),
      timeline: timelineOf(events, sentenceOfInboundEvent),
      errors,
    };
  }

  groups(query: GroupListQuery): Promise<Page<GroupSummary>> {
    return listGroups(this.options.pool, query);
  }

  async group(groupId: string): Promise<GroupDetail | undefined> {
    return groupDetail(this.options.pool, await wholeStream(this.options.store, groupStream(groupId)));
  }

  outcomeCounts(): Promise<OutcomeCounts> {
    return countOutcomes(this.options.pool);
  }

  sgtinHistory(sgtin: string, query: HistoryQuery = {}): Promise<SgtinHistory | undefined> {
    return historyOf(this.options.pool, sgtin, { ...query, titleOf: this.options.titleOf });
  }

  private async errorsOf(receiptSha256: string): Promise<DocumentDetail['errors']> {
    const receipt = await this.options.evidence.get(receiptSha256);
    if (receipt === undefined) throw new Error(`receipt ${receiptSha256} is missing from the evidence store`);
    return this.options.documents.readReceipt(receipt.bytes).errors;
  }
}
