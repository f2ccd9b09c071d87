import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { findCommand, type AcknowledgedCommand } from '../intake/command-table.js';
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
} from '#read-models';
import type { Pool } from '#postgres';

/** Injection tokens of what has no class of its own. */
export const READ_MODELS = Symbol('ReadModels');
export const POOL = Symbol('Pool');
export const EVIDENCE = Symbol('EvidenceStore');
export const LOG = Symbol('Logger');
export const INSTALLATION_ID = Symbol('InstallationId');
export const BODY_LIMITS = Symbol('BodyLimits');

export class FindCommand {
  constructor(readonly by: { commandId: string } | { requestId: string }) {}
}

@QueryHandler(FindCommand)
export class FindCommandHandler implements IQueryHandler<FindCommand, AcknowledgedCommand | undefined> {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  execute({ by }: FindCommand): Promise<AcknowledgedCommand | undefined> {
    return findCommand(this.pool, by);
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

export class ListGroups {
  constructor(readonly query: GroupListQuery) {}
}

@QueryHandler(ListGroups)
export class ListGroupsHandler implements IQueryHandler<ListGroups, Page<GroupSummary>> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ query }: ListGroups): Promise<Page<GroupSummary>> {
    return this.readModels.groups(query);
  }
}

export class GroupById {
  constructor(readonly groupId: string) {}
}

@QueryHandler(GroupById)
export class GroupByIdHandler implements IQueryHandler<GroupById, GroupDetail | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ groupId }: GroupById): Promise<GroupDetail | undefined> {
    return this.readModels.group(groupId);
  }
}

export class ListInbound {
  constructor(readonly query: InboundListQuery) {}
}

@QueryHandler(ListInbound)
export class ListInboundHandler implements IQueryHandler<ListInbound, Page<InboundSummary>> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ query }: ListInbound): Promise<Page<InboundSummary>> {
    return this.readModels.inboundDocuments(query);
  }
}

export class InboundByDocumentId {
  constructor(readonly documentId: string) {}
}

@QueryHandler(InboundByDocumentId)
export class InboundByDocumentIdHandler implements IQueryHandler<InboundByDocumentId, InboundDetail | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ documentId }: InboundByDocumentId): Promise<InboundDetail | undefined> {
    return this.readModels.inboundDocument(documentId);
  }
}

export const QUERY_HANDLERS = [
  ListGroupsHandler,
  GroupByIdHandler,
  FindCommandHandler,
  DocumentByRequestIdHandler,
  ListDocumentsHandler,
  CountOutcomesHandler,
  HistoryOfSgtinHandler,
  ListInboundHandler,
  InboundByDocumentIdHandler,
];
