import { caseStream, documentStream, groupStream, inboundStream, type DeadlineCalendar } from '#domain';
import type { EventStore } from '#event-store';
import { epcisDocumentOf, type EpcisDocument, type TypeKnowledge } from '#documents';
import type { EvidenceStore } from '#evidence';
import { defined, isSgtin, isUuid } from '#kernel';
import type { Pool } from '#postgres';
import { listOverrides } from './access-log/overrides.js';
import { accessEntryOf, listAccess } from './access-log/query.js';
import { caseDetailOf, listCases } from './cases/query.js';
import { accountStanding } from './accounts/standing.js';
import { documentDetailOf, documentRow, needsAccount } from './document-outcomes/detail.js';
import {
  clocksFor,
  countOutcomes,
  listDocuments,
  registered,
  waitedFor,
  type Received,
} from './document-outcomes/query.js';
import { inboundDetailOf, inboundRow, receiptWithErrors } from './inbound-documents/detail.js';
import { listInbound, longestGivenUp, notificationsOf, type InboundTypes } from './inbound-documents/query.js';
import { toldOfDocument, toldOfItem } from './epcis/told-documents.js';
import { digestsIn } from './document-timeline/timeline.js';
import { wholeStream } from './document-timeline/whole-stream.js';
import type {
  AccessEntry,
  AccessLogQuery,
  CaseDetail,
  CaseListQuery,
  CaseSummary,
  ContainerContent,
  ContainerHistory,
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
  Movement,
  OutcomeCounts,
  PackState,
  Packs,
  Page,
  ReadModels,
  SgtinHistory,
  Suspensions,
  Timeliness,
  TimelinessQuery,
} from './port.js';
import type { Overrides, OverridesQuery } from './report-port.js';
import { groupDetail, listGroups } from './groups/query.js';
import { packQuestions } from './pack-state/questions.js';
import type { DocumentReading } from './sgtin-history/movements.js';
import { contentOf } from './sgtin-history/content-query.js';
import { containerHistoryOf, containerStepsOf, historyOf } from './sgtin-history/query.js';
import { stateOf } from './sgtin-history/state-query.js';
import { suspensionQuestions } from './suspensions/questions.js';
import { listTimeliness } from './timeliness/query.js';

export interface ReadModelsOptions {
  pool: Pool;
  store: EventStore;
  evidence: EvidenceStore;
  documents: DocumentReading;
  /** What is known of document types. */
  types: TypeKnowledge;
  /**
   * Which of these request_ids belong to commands that were received, run or not. Default: those whose documents are
   * registered.
   */
  received?: Received;
  /** Offset of the registry's zone, such as `+03:00`: in it a pack's last day of use ends. Default: that of UTC. */
  zone?: string;
  /** By which due moments are told. Absent: none is known. */
  calendar?: DeadlineCalendar | undefined;
}

/**
 * Answers from the tables that the projections keep, and for one document's timeline from the log itself. Changes
 * nothing.
 */
export class PostgresReadModels implements ReadModels {
  readonly packs: Packs;
  readonly suspensions: Suspensions;
  private readonly received: Received;

  constructor(private readonly options: ReadModelsOptions) {
    this.packs = packQuestions(options.pool, options.types, defined({ zone: options.zone }));
    this.suspensions = suspensionQuestions(options);
    this.received = options.received ?? ((requestIds) => registered(options.pool, requestIds));
  }

  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>> {
    return listDocuments(this.options.pool, query, { received: this.received, calendar: this.options.calendar });
  }

  /** Folded from the document's own stream, so that it is never behind the log, nor its summary behind its timeline. */
  async document(requestId: string): Promise<DocumentDetail | undefined> {
    const { store, pool, types, calendar } = this.options;
    const events = await wholeStream(store, documentStream(requestId));
    const row = documentRow(events);
    if (row === undefined) return undefined;
    return documentDetailOf(row, events, {
      errors: row.receiptSha256 === null ? [] : await this.errorsOf(row.receiptSha256),
      waitingFor: (await waitedFor([row], this.received))(row),
      notifications: await notificationsOf(pool, requestId, types),
      account: needsAccount(row) ? await accountStanding(store, row.account) : undefined,
      calendar,
      clock: (await clocksFor(pool, [row], calendar)).get(requestId),
    });
  }

  inboundDocuments(query: InboundListQuery): Promise<Page<InboundSummary>> {
    return listInbound(this.options.pool, query, this.inboundTypes());
  }

  inboundGivenUp(account: string, limit: number): Promise<{ documentIds: string[]; more: boolean }> {
    return longestGivenUp(this.options.pool, account, limit);
  }

  /** Folded from its own stream, like a document of ours. */
  async inboundDocument(documentId: string): Promise<InboundDetail | undefined> {
    const events = await wholeStream(this.options.store, inboundStream(documentId));
    const row = inboundRow(events);
    if (row === undefined) return undefined;
    const receipt = receiptWithErrors(row);
    const errors = receipt === null ? [] : await this.errorsOf(receipt);
    return inboundDetailOf(row, events, { errors, types: this.inboundTypes() });
  }

  groups(query: GroupListQuery): Promise<Page<GroupSummary>> {
    return listGroups(this.options.pool, query);
  }

  async group(groupId: string): Promise<GroupDetail | undefined> {
    return groupDetail(this.options.pool, await wholeStream(this.options.store, groupStream(groupId)));
  }

  cases(query: CaseListQuery): Promise<Page<CaseSummary>> {
    return listCases(this.options.pool, query, new Date());
  }

  /** Folded from its own stream, like a document. */
  async case(caseId: string): Promise<CaseDetail | undefined> {
    return caseDetailOf(await wholeStream(this.options.store, caseStream(caseId)), new Date());
  }

  /** Evidence is opened by its digest: whoever asks for a document means its evidence too. */
  async accessLog(query: AccessLogQuery): Promise<Page<AccessEntry>> {
    return listAccess(this.options.pool, query, await this.digestsOf(query.object));
  }

  async access(position: bigint): Promise<AccessEntry | undefined> {
    const event = await this.options.store.eventAt(position);
    return event && accessEntryOf(event);
  }

  overrides(query: OverridesQuery, asOf: Date): Promise<Overrides> {
    return listOverrides(this.options.pool, query, asOf);
  }

  private async digestsOf(object: string | undefined): Promise<string[]> {
    if (object === undefined || !isUuid(object)) return [];
    const events = await wholeStream(this.options.store, documentStream(object));
    return [...new Set(events.flatMap(({ data }) => digestsIn(data)))];
  }

  outcomeCounts(): Promise<OutcomeCounts> {
    return countOutcomes(this.options.pool);
  }

  sgtinHistory(sgtin: string, query: HistoryQuery = {}): Promise<SgtinHistory | undefined> {
    return historyOf(this.options.pool, sgtin, { ...query, types: this.options.types });
  }

  async packEpcis(sgtin: string, query: HistoryQuery, at: Date): Promise<EpcisDocument | undefined> {
    const history = await this.sgtinHistory(sgtin, query);
    return history && epcisDocumentOf(await toldOfItem({ item: sgtin, ...history }, this.options), at);
  }

  async containerEpcis(sscc: string, query: HistoryQuery, at: Date): Promise<EpcisDocument | undefined> {
    const { pool, types } = this.options;
    const movements = await containerStepsOf(pool, sscc, { ...query, types });
    return movements && epcisDocumentOf(await toldOfItem({ item: sscc, movements }, this.options), at);
  }

  async documentEpcis(requestId: string, at: Date): Promise<EpcisDocument | undefined> {
    const detail = await this.document(requestId);
    const movementsOf = async (item: string): Promise<Movement[]> =>
      (isSgtin(item) ? await this.sgtinHistory(item) : await this.containerHistory(item))?.movements ?? [];
    return detail && epcisDocumentOf(await toldOfDocument(detail, { ...this.options, movementsOf }), at);
  }

  containerHistory(sscc: string, query: HistoryQuery = {}): Promise<ContainerHistory | undefined> {
    return containerHistoryOf(this.options.pool, sscc, { ...query, types: this.options.types });
  }

  containerContent(sscc: string, query: HistoryQuery = {}): Promise<ContainerContent | undefined> {
    const { pool, store, types } = this.options;
    return contentOf(pool, sscc, { ...query, store, types });
  }

  packState(sgtin: string, query: HistoryQuery = {}): Promise<PackState | undefined> {
    return stateOf(this.options.pool, sgtin, { ...query, types: this.options.types });
  }

  timeliness(query: TimelinessQuery, now: Date): Promise<Timeliness> {
    return listTimeliness({ ...this.options, calendar: this.options.calendar, now }, query);
  }

  private inboundTypes(): InboundTypes {
    const { types, calendar } = this.options;
    return { ...types, calendar };
  }

  private async errorsOf(receiptSha256: string): Promise<DocumentDetail['errors']> {
    const receipt = await this.options.evidence.get(receiptSha256);
    if (receipt === undefined) throw new Error(`receipt ${receiptSha256} is missing from the evidence store`);
    return this.options.documents.readReceipt(receipt.bytes).errors;
  }
}
