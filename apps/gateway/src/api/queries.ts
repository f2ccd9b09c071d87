import { Inject, type Type } from '@nestjs/common';
import { Query, QueryHandler, type QueryResult } from '@nestjs/cqrs';
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

export class FindCommand extends Query<AcknowledgedCommand | undefined> {
  constructor(readonly by: { commandId: string } | { requestId: string }) {
    super();
  }
}

@QueryHandler(FindCommand)
class FindCommandHandler {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  execute({ by }: FindCommand): Promise<AcknowledgedCommand | undefined> {
    return findCommand(this.pool, by);
  }
}

/** Asks for one thing, by its id. */
abstract class ById<Answer> extends Query<Answer | undefined> {
  constructor(readonly id: string) {
    super();
  }
}

/** Asks for what is known of a pack or a container, as of a moment. */
abstract class OfItem<Answer> extends Query<Answer | undefined> {
  constructor(
    readonly item: string,
    readonly asked: HistoryQuery,
  ) {
    super();
  }
}

abstract class Listing<Asked, Answer> extends Query<Answer> {
  constructor(readonly asked: Asked) {
    super();
  }
}

export class CountOutcomes extends Query<OutcomeCounts> {}
export class DocumentByRequestId extends ById<DocumentDetail> {}
export class EpcisOfDocument extends ById<EpcisDocument> {}
export class GroupById extends ById<GroupDetail> {}
export class InboundByDocumentId extends ById<InboundDetail> {}
export class HistoryOfSgtin extends OfItem<SgtinHistory> {}
export class StateOfPack extends OfItem<PackState> {}
export class EpcisOfSgtin extends OfItem<EpcisDocument> {}
export class HistoryOfContainer extends OfItem<ContainerHistory> {}
export class ContentOfContainer extends OfItem<ContainerContent> {}
export class EpcisOfContainer extends OfItem<EpcisDocument> {}
export class ListDocuments extends Listing<DocumentListQuery, Page<DocumentSummary>> {}
export class ListGroups extends Listing<GroupListQuery, Page<GroupSummary>> {}
export class ListInbound extends Listing<InboundListQuery, Page<InboundSummary>> {}
export class ListTimeliness extends Query<Timeliness> {
  constructor(
    readonly asked: TimelinessQuery,
    /** At which moment deadlines are judged: one for all pages of a file. */
    readonly now: Date,
  ) {
    super();
  }
}

/** The handler of a query that the read models answer. */
function answered<Asked extends Query<unknown>>(
  query: new (...args: never[]) => Asked,
  answer: (models: ReadModels, asked: Asked) => Promise<QueryResult<Asked>>,
): Type {
  @QueryHandler(query)
  class ReadModelHandler {
    constructor(@Inject(READ_MODELS) private readonly models: ReadModels) {}

    execute(asked: Asked): Promise<QueryResult<Asked>> {
      return answer(this.models, asked);
    }
  }
  return ReadModelHandler;
}

export const QUERY_HANDLERS: Type[] = [
  FindCommandHandler,
  answered(CountOutcomes, (models) => models.outcomeCounts()),
  answered(DocumentByRequestId, (models, { id }) => models.document(id)),
  answered(EpcisOfDocument, (models, { id }) => models.documentEpcis(id, new Date())),
  answered(GroupById, (models, { id }) => models.group(id)),
  answered(InboundByDocumentId, (models, { id }) => models.inboundDocument(id)),
  answered(HistoryOfSgtin, (models, { item, asked }) => models.sgtinHistory(item, asked)),
  answered(StateOfPack, (models, { item, asked }) => models.packState(item, asked)),
  answered(EpcisOfSgtin, (models, { item, asked }) => models.packEpcis(item, asked, new Date())),
  answered(HistoryOfContainer, (models, { item, asked }) => models.containerHistory(item, asked)),
  answered(ContentOfContainer, (models, { item, asked }) => models.containerContent(item, asked)),
  answered(EpcisOfContainer, (models, { item, asked }) => models.containerEpcis(item, asked, new Date())),
  answered(ListDocuments, (models, { asked }) => models.documents(asked)),
  answered(ListGroups, (models, { asked }) => models.groups(asked)),
  answered(ListInbound, (models, { asked }) => models.inboundDocuments(asked)),
  answered(ListTimeliness, (models, { asked, now }) => models.timeliness(asked, now)),
];
