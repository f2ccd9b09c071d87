import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import type { DocumentDetail, DocumentListQuery, DocumentSummary, HistoryQuery, OutcomeCounts, Page, ReadModels, SgtinHistory } from '#read-models';
import type { Pool } from '#postgres';

/** Injection tokens of what has no class of its own. */
export const READ_MODELS = Symbol('ReadModels');
export const POOL = Symbol('Pool');
export const EVIDENCE = Symbol('EvidenceStore');

export class RequestIdOfCommand {
  constructor(readonly commandId: string) {}
}

@QueryHandler(RequestIdOfCommand)
export class RequestIdOfCommandHandler implements IQueryHandler<RequestIdOfCommand, string | undefined> {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  async execute({ commandId }: RequestIdOfCommand): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ request_id: string }>('SELECT request_id FROM command WHERE command_id = $1', [commandId]);
    return rows[0]?.request_id;
  }
}

export class DocumentByRequestId {
  constructor(readonly requestId: string) {}
}

@QueryHandler(DocumentByRequestId)
export class DocumentByRequestIdHandler implements IQueryHandler<DocumentByRequestId, DocumentDetail | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ requestId }: DocumentByRequestId): Promise<DocumentDetail | undefined> {
    return this.readModels.document(requestId);
  }
}

export class ListDocuments {
  constructor(readonly query: DocumentListQuery) {}
}

@QueryHandler(ListDocuments)
export class ListDocumentsHandler implements IQueryHandler<ListDocuments, Page<DocumentSummary>> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ query }: ListDocuments): Promise<Page<DocumentSummary>> {
    return this.readModels.documents(query);
  }
}

export class CountOutcomes {}

@QueryHandler(CountOutcomes)
export class CountOutcomesHandler implements IQueryHandler<CountOutcomes, OutcomeCounts> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute(): Promise<OutcomeCounts> {
    return this.readModels.outcomeCounts();
  }
}

export class HistoryOfSgtin {
  constructor(
    readonly sgtin: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(HistoryOfSgtin)
export class HistoryOfSgtinHandler implements IQueryHandler<HistoryOfSgtin, SgtinHistory | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sgtin, query }: HistoryOfSgtin): Promise<SgtinHistory | undefined> {
    return this.readModels.sgtinHistory(sgtin, query);
  }
}

export const QUERY_HANDLERS = [RequestIdOfCommandHandler, DocumentByRequestIdHandler, ListDocumentsHandler, CountOutcomesHandler, HistoryOfSgtinHandler];
