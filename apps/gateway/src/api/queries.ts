import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { findCommand, type AcknowledgedCommand } from '../intake/command-table.js';
import type { EpcisDocument } from '#documents';
import type {
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
  OutcomeCounts,
  PackState,
  Page,
  ReadModels,
  SgtinHistory,
  Timeliness,
  TimelinessQuery,
} from '#read-models';
import type { Pool } from '#postgres';

/** Injection tokens of what has no class of its own. */
export const READ_MODELS = Symbol('ReadModels');
export const POOL = Symbol('Pool');
export const STORE = Symbol('EventStore');
export const EVIDENCE = Symbol('EvidenceStore');
export const LOG = Symbol('Logger');
export const INSTALLATION_ID = Symbol('InstallationId');
export const BODY_LIMITS = Symbol('BodyLimits');
export const SCHEMAS = Symbol('SchemaSets');

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

export class StateOfPack {
  constructor(
    readonly sgtin: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(StateOfPack)
export class StateOfPackHandler implements IQueryHandler<StateOfPack, PackState | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sgtin, query }: StateOfPack): Promise<PackState | undefined> {
    return this.readModels.packState(sgtin, query);
  }
}

export class HistoryOfContainer {
  constructor(
    readonly sscc: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(HistoryOfContainer)
export class HistoryOfContainerHandler implements IQueryHandler<HistoryOfContainer, ContainerHistory | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sscc, query }: HistoryOfContainer): Promise<ContainerHistory | undefined> {
    return this.readModels.containerHistory(sscc, query);
  }
}

export class ContentOfContainer {
  constructor(
    readonly sscc: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(ContentOfContainer)
export class ContentOfContainerHandler implements IQueryHandler<ContentOfContainer, ContainerContent | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sscc, query }: ContentOfContainer): Promise<ContainerContent | undefined> {
    return this.readModels.containerContent(sscc, query);
  }
}

export class EpcisOfSgtin {
  constructor(
    readonly sgtin: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(EpcisOfSgtin)
export class EpcisOfSgtinHandler implements IQueryHandler<EpcisOfSgtin, EpcisDocument | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sgtin, query }: EpcisOfSgtin): Promise<EpcisDocument | undefined> {
    return this.readModels.packEpcis(sgtin, query, new Date());
  }
}

export class EpcisOfContainer {
  constructor(
    readonly sscc: string,
    readonly query: HistoryQuery,
  ) {}
}

@QueryHandler(EpcisOfContainer)
export class EpcisOfContainerHandler implements IQueryHandler<EpcisOfContainer, EpcisDocument | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ sscc, query }: EpcisOfContainer): Promise<EpcisDocument | undefined> {
    return this.readModels.containerEpcis(sscc, query, new Date());
  }
}

export class EpcisOfDocument {
  constructor(readonly requestId: string) {}
}

@QueryHandler(EpcisOfDocument)
export class EpcisOfDocumentHandler implements IQueryHandler<EpcisOfDocument, EpcisDocument | undefined> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ requestId }: EpcisOfDocument): Promise<EpcisDocument | undefined> {
    return this.readModels.documentEpcis(requestId, new Date());
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

export class ListTimeliness {
  constructor(
    readonly query: TimelinessQuery,
    /** At which moment deadlines are judged: one for all pages of a file. */
    readonly now: Date,
  ) {}
}

@QueryHandler(ListTimeliness)
export class ListTimelinessHandler implements IQueryHandler<ListTimeliness, Timeliness> {
  constructor(@Inject(READ_MODELS) private readonly readModels: ReadModels) {}

  execute({ query, now }: ListTimeliness): Promise<Timeliness> {
    return this.readModels.timeliness(query, now);
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
  StateOfPackHandler,
  HistoryOfContainerHandler,
  ContentOfContainerHandler,
  EpcisOfSgtinHandler,
  EpcisOfContainerHandler,
  EpcisOfDocumentHandler,
  ListInboundHandler,
  InboundByDocumentIdHandler,
  ListTimelinessHandler,
];
