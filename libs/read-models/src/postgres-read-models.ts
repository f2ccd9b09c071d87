import { documentStream } from '#domain';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { DataSource } from 'typeorm';
import { countOutcomes, findDocument, listDocuments, summaryOf } from './document-outcomes/query.js';
import { timelineOf } from './document-timeline/timeline.js';
import type { DocumentDetail, DocumentListQuery, DocumentSummary, HistoryQuery, OutcomeCounts, Page, ReadModels, SgtinHistory } from './port.js';
import type { DocumentReading } from './sgtin-history/movements.js';
import { historyOf } from './sgtin-history/query.js';

export interface ReadModelsOptions {
  /** Opened by `readModelDataSource`, closed by whoever opened it. */
  dataSource: DataSource;
  store: EventStore;
  evidence: EvidenceStore;
  documents: Pick<DocumentReading, 'readReceipt'>;
  /** The plain name of a document type, for example `Shipment`. */
  titleOf(docType: number): string;
}

/** Answers from the tables that the projections keep, and for one document's timeline from the log itself. Changes nothing. */
export class PostgresReadModels implements ReadModels {
  constructor(private readonly options: ReadModelsOptions) {}

  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>> {
    return listDocuments(this.options.dataSource, query);
  }

  async document(requestId: string): Promise<DocumentDetail | undefined> {
    const { dataSource, store } = this.options;
    const [row, events] = await Promise.all([findDocument(dataSource, requestId), store.readStream(documentStream(requestId))]);
    if (row === undefined) return undefined;
    const errors = row.receiptSha256 === null ? [] : await this.errorsOf(row.receiptSha256);
    return { ...summaryOf(row, errors), timeline: timelineOf(events), errors };
  }

  outcomeCounts(): Promise<OutcomeCounts> {
    return countOutcomes(this.options.dataSource);
  }

  sgtinHistory(sgtin: string, query: HistoryQuery = {}): Promise<SgtinHistory | undefined> {
    return historyOf(this.options.dataSource, sgtin, { ...query, titleOf: this.options.titleOf });
  }

  private async errorsOf(receiptSha256: string): Promise<DocumentDetail['errors']> {
    const receipt = await this.options.evidence.get(receiptSha256);
    if (receipt === undefined) throw new Error(`receipt ${receiptSha256} is missing from the evidence store`);
    return this.options.documents.readReceipt(receipt.bytes).errors;
  }
}
