import type { EpcisDocument } from '#documents';
import type {
  CasePhase,
  CaseSeverity,
  DeadlineRole,
  DocumentOutcome,
  FailureCause,
  GroupKind,
  RegistryList,
  SuspensionAction,
  SuspensionPhase,
  SuspensionSource,
} from '#domain';
import type {
  ExpiringPacks,
  Overrides,
  OverridesQuery,
  OverdueTransfers,
  ShelfQuery,
  SuspensionReply,
  TracedSeries,
  TransferQuery,
  UnmovedPacks,
} from './report-port.js';
import type { AccessKind } from './access-log/row.js';
import type { accessEntry } from './access-log/shape.js';
import type { caseDetail, caseSummary } from './cases/shape.js';
import type {
  affectedPacks,
  packsOfUnknownSeries,
  suspendedListVersion,
  suspensionAnswer,
  suspensionDetail,
  suspensionSummary,
} from './suspensions/shape.js';
import type {
  accountHold,
  afterHold,
  gateHold,
  personHold,
  suspensionHold,
  itemHold,
  documentDetail,
  documentSummary,
  outcomeCounts,
} from './document-outcomes/shape.js';
import type { groupDetail, groupMember, groupSummary } from './groups/shape.js';
import type { inboundDetail, InboundListQuery, inboundSummary, notification } from './inbound-documents/shape.js';
import type { DocumentPhase, GroupPhase } from './phases.js';
import type {
  containerContent,
  containerHistory,
  movement,
  packHistory,
  packState,
  tellingDocument,
  toldBy,
} from './sgtin-history/shape.js';
import type {
  CHECK_PURPOSES,
  packCheck,
  packChecks,
  packSummary,
  seriesFile,
  seriesSourcePage,
  stockLine,
  stockPage,
} from './pack-state/shape.js';
import type { Shown } from './shapes.js';
import type { dutyRow, timeliness } from './timeliness/shape.js';

export type { InboundListQuery };

/** One row of the document list (read model `document-outcomes`). */
export type DocumentSummary = Shown<typeof documentSummary>;
export type DocumentDetail = Shown<typeof documentDetail>;
/** An earlier document that a waiting one is held for, as the ERP named it in `after`. */
export type WaitedFor = DocumentSummary['waitingFor'][number];
/** What keeps a document or a group from being sent because it comes after others. */
export type AfterHoldShown = Shown<typeof afterHold>;
/** What keeps a document or a group from being sent because earlier ones name the same items. */
export type ItemHoldShown = Shown<typeof itemHold>;
/** What keeps a document from being sent, but for a pause of its account. */
export type OwnHoldShown = Shown<typeof gateHold> | Shown<typeof suspensionHold> | Shown<typeof personHold>;

export type HoldShown = DocumentSummary['holds'][number];
/** What keeps a document from being sent while its account is paused. */
export type AccountHold = Shown<typeof accountHold>;
/** One line of a document's life; what the registry or a person claims about the moment is in `data`. */
export type TimelineEntry = DocumentDetail['timeline'][number];
/** One row of the list of groups (read model `groups`). */
export type GroupSummary = Shown<typeof groupSummary>;
export type GroupMember = Shown<typeof groupMember>;
export type GroupDetail = Shown<typeof groupDetail>;
/** One row of the list of documents of others (read model `inbound-documents`). */
export type InboundSummary = Shown<typeof inboundSummary>;
export type InboundDetail = Shown<typeof inboundDetail>;
/** A document of another participant that belongs to one of ours. */
export type Notification = Shown<typeof notification>;
/** One movement in a pack's life (read model `sgtin-history`). */
export type Movement = Shown<typeof movement>;
export type SgtinHistory = Shown<typeof packHistory>;
export type ContainerHistory = Shown<typeof containerHistory>;
/** What a container held. */
export type ContainerContent = Shown<typeof containerContent>;
/** What is known of one pack. */
export type PackState = Shown<typeof packState>;
/** The movement that told a fact. */
export type ToldBy = Shown<typeof toldBy>;
export type OutcomeCounts = Shown<typeof outcomeCounts>;
/** A page of the report on deadlines (read model `timeliness`), and one line of it. */
export type Timeliness = Shown<typeof timeliness>;
export type DutyRow = Shown<typeof dutyRow>;

/** A difference that a person follows (read model `cases`). */
export type CaseSummary = Shown<typeof caseSummary>;
export type CaseDetail = Shown<typeof caseDetail>;

/** Who did what (read model `access-log`). */
export type AccessEntry = Shown<typeof accessEntry>;
/** A suspension, the packs that it concerns, and the list by which it stands (read model `suspensions`). */
export type SuspensionSummary = Shown<typeof suspensionSummary>;
export type SuspensionDetail = Shown<typeof suspensionDetail>;
export type AffectedPacks = Shown<typeof affectedPacks>;
export type PacksOfUnknownSeries = Shown<typeof packsOfUnknownSeries>;
export type SuspendedListVersion = Shown<typeof suspendedListVersion>;
export type SuspensionAnswer = Shown<typeof suspensionAnswer>;

/** A pack as it stands now, and how many stand alike (read model `pack-state`). */
export type PackSummary = Shown<typeof packSummary>;
/** `knownAt`: up to there the log is in a page. */
type PackPage = Page<PackSummary> & { knownAt: string };
export type StockLine = Shown<typeof stockLine>;
export type Stock = Shown<typeof stockPage>;
/** The document that told something. */
export type TellingDocument = Shown<typeof tellingDocument>;
export type CheckPurpose = (typeof CHECK_PURPOSES)[number];
export type PackCheck = Shown<typeof packCheck>;
export type PackChecks = Shown<typeof packChecks>;
export type SeriesFile = Shown<typeof seriesFile>;
export type SeriesSources = Shown<typeof seriesSourcePage>;

/** A page of the sources of a series. */
export interface SeriesPage {
  /** 1 to 10,000, default 1,000. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

/** Which packs are asked for. */
export interface PackFilter {
  gtin?: string;
  series?: string;
  seriesUnknown?: boolean;
  place?: string;
  status?: string;
  /** YYYY-MM-DD: they may be used until then, and no longer. */
  expiresBy?: string;
  /** For so many days more at most, by the day of now in the registry's zone. */
  expiresWithin?: number;
}

export interface PackListQuery extends PackFilter, Pick<DocumentListQuery, 'limit' | 'cursor'> {
  /** No document has told it; `placeLeft`: it has left all places that are known. */
  statusUnknown?: boolean;
  placeUnknown?: boolean;
  placeLeft?: boolean;
  /** Whether they were ever ours, as in the file of a series. */
  received?: boolean;
  /** What became of them, as in the file of a series: one of these. */
  fates?: readonly SeriesFile['fates'][number]['fate'][];
  container?: string;
  /** A request_id of ours, or the registry's id: what the document names, and what is in containers that it names. */
  document?: string;
}

export const STOCK_PARTS = ['place', 'gtin', 'series', 'expires_on', 'status'] as const;
export type StockPart = (typeof STOCK_PARTS)[number];

export interface StockQuery extends PackFilter {
  /** What the figures are told apart by. */
  by: readonly StockPart[];
}

export interface CheckQuery {
  purpose: CheckPurpose;
  /** The branch that asks. */
  place: string;
  /** 1 to 500, as typed or scanned. */
  codes: readonly string[];
  /** YYYY-MM-DD: what may be used until an earlier day has expired. Default: the day of now in the registry's zone. */
  day?: string;
}

/** Questions about many packs as they stand now. */
export interface Packs {
  /** On our shelves, and moved by nothing for so long. */
  unmoved(query: ShelfQuery, asOf: Date): Promise<UnmovedPacks>;
  /** On our shelves, and to be used for so long at most. */
  expiring(query: ShelfQuery, asOf: Date): Promise<ExpiringPacks>;
  /** Sent or received, and not accepted for so long. */
  overdueTransfers(query: TransferQuery, asOf: Date): Promise<OverdueTransfers>;
  /** Where every pack of a series is, as a recall needs it. */
  trace(gtin: string, series: string, asOf: Date): Promise<TracedSeries>;
  /** `now`: from when days count; one moment for all pages of a list. */
  list(query: PackListQuery, now?: Date): Promise<PackPage>;
  stock(query: StockQuery, now?: Date): Promise<Stock>;
  check(query: CheckQuery): Promise<PackChecks>;
  /** With the first page of its sources. */
  series(gtin: string, series: string, first?: Pick<SeriesPage, 'limit'>): Promise<SeriesFile | undefined>;
  /** The documents by which packs of a series came; no items when no document has moved a pack of it. */
  seriesSources(gtin: string, series: string, page?: SeriesPage): Promise<SeriesSources>;
}

export interface DocumentListQuery {
  phase?: DocumentPhase;
  outcome?: DocumentOutcome;
  cause?: FailureCause;
  account?: string;
  docType?: number;
  reference?: string;
  requestId?: string;
  /** True: only those of which the registry holds more than one. */
  duplicate?: boolean;
  registeredFrom?: Date;
  registeredTo?: Date;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface Page<T> {
  items: T[];
  /** Absent on the last page. */
  nextCursor?: string;
}

export interface GroupListQuery {
  phase?: GroupPhase;
  outcome?: DocumentOutcome;
  account?: string;
  kind?: GroupKind;
  /** True: only those that stopped. */
  halted?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface CaseListQuery {
  state?: CasePhase;
  /** True: all but those that are resolved; false: all. */
  unresolved?: boolean;
  severity?: CaseSeverity;
  code?: string;
  place?: string;
  document?: string;
  container?: string;
  gtin?: string;
  series?: string;
  assignee?: string;
  partOf?: string;
  /** True: open or acknowledged, and due before now; false: all others. */
  overdue?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface AccessLogQuery {
  /** Name of the person, program or key. */
  actor?: string;
  actorKind?: AccessEntry['actor']['kind'];
  kind?: AccessKind;
  /** What it was done to; a request_id stands for the evidence of its document too. */
  object?: string;
  from?: Date;
  /** Exclusive. */
  to?: Date;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface SuspensionListQuery {
  state?: SuspensionPhase;
  source?: SuspensionSource;
  action?: SuspensionAction;
  inForce?: boolean;
  /** Among the matches. */
  gtin?: string;
  series?: string;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

/** Was this series suspended at this moment, or when this document was first sent? Neither: now. */
export interface SuspensionQuestion {
  gtin: string;
  series: string;
  at?: Date;
  requestId?: string;
}

/** Series that must not be sold or sent on, by the registry's list and by letters (read model `suspensions`). */
export interface Suspensions {
  list(query: SuspensionListQuery): Promise<Page<SuspensionSummary>>;
  /** `recentDays`: what was shipped in these is recent. `undefined` when it never began. */
  one(suspensionId: string, recentDays: number): Promise<SuspensionDetail | undefined>;
  /** The same without our packs, which takes no turn. */
  uncounted(suspensionId: string): Promise<Omit<SuspensionDetail, 'affected' | 'seriesUnknown'> | undefined>;
  /** Its newest reply, as a document; `undefined` while there is none. */
  reply(suspensionId: string): Promise<SuspensionReply | undefined>;
  /** Versions of the registry's lists that we held, the newest first. */
  lists(query: { limit?: number; cursor?: string; source?: RegistryList }): Promise<Page<SuspendedListVersion>>;
  /** By what we held then. @throws PedigreeError `not_found` for a document that the registry cannot have. */
  answer(question: SuspensionQuestion): Promise<SuspensionAnswer>;
}

export interface TimelinessQuery {
  role?: DeadlineRole;
  account?: string;
  docType?: number;
  /** By the day that a document claims; by the moment at which it was known, where it claims none. */
  operationFrom?: Date;
  operationTo?: Date;
  /** True: only what is late, met or not, or was due while nobody can tell whether it was answered; false: all. */
  late?: boolean;
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** Opaque; from the page before. */
  cursor?: string;
}

export interface HistoryQuery {
  /** As known at this log position, or at this moment (default: now). */
  knownAt?: bigint | Date;
  /** As of this moment of acceptance (default: all). */
  asOf?: Date;
}

/**
 * What the API, the console and the command line ask. Everything answers from read models and the log; nothing is
 * changed.
 */
export interface ReadModels {
  documents(query: DocumentListQuery): Promise<Page<DocumentSummary>>;
  document(requestId: string): Promise<DocumentDetail | undefined>;
  outcomeCounts(): Promise<OutcomeCounts>;
  groups(query: GroupListQuery): Promise<Page<GroupSummary>>;
  group(groupId: string): Promise<GroupDetail | undefined>;
  /** Documents that we did not send: what others told us, and what went out in our name past this system. */
  inboundDocuments(query: InboundListQuery): Promise<Page<InboundSummary>>;
  /** Ids of those of an account that were given up, at most `limit`: those first that were longest ago. */
  inboundGivenUp(account: string, limit: number): Promise<{ documentIds: string[]; more: boolean }>;
  inboundDocument(documentId: string): Promise<InboundDetail | undefined>;
  /**
   * History of one pack, its containers' movements included while they held it; `undefined` when we never heard of it.
   */
  sgtinHistory(sgtin: string, query?: HistoryQuery): Promise<SgtinHistory | undefined>;
  /** The same of one container. */
  containerHistory(sscc: string, query?: HistoryQuery): Promise<ContainerHistory | undefined>;
  /** What a container held, as a tree; `undefined` when we never heard of it. */
  containerContent(sscc: string, query?: HistoryQuery): Promise<ContainerContent | undefined>;
  /** What is known of one pack, each fact with who told us; `undefined` when we never heard of it. */
  packState(sgtin: string, query?: HistoryQuery): Promise<PackState | undefined>;
  /** When documents were due, and whether that was kept; what is not done is judged at this moment. */
  timeliness(query: TimelinessQuery, now: Date): Promise<Timeliness>;
  /** Differences that a person follows. */
  cases(query: CaseListQuery): Promise<Page<CaseSummary>>;
  case(caseId: string): Promise<CaseDetail | undefined>;
  /** Who did what, was given what, and was refused. */
  accessLog(query: AccessLogQuery): Promise<Page<AccessEntry>>;
  /** One entry, from the log itself; undefined where the event there tells nothing of the kind. */
  access(position: bigint): Promise<AccessEntry | undefined>;
  /** What persons overrode, and why. */
  overrides(query: OverridesQuery, asOf: Date): Promise<Overrides>;
  /** What is suspended, was, and when we knew. */
  readonly suspensions: Suspensions;
  /** Many packs at once. */
  readonly packs: Packs;
  /** The same history in EPCIS 2.0, from the documents themselves; `at`: when it is asked for. */
  packEpcis(sgtin: string, query: HistoryQuery, at: Date): Promise<EpcisDocument | undefined>;
  /** The life of a container in EPCIS 2.0, with what was packed into it. */
  containerEpcis(sscc: string, query: HistoryQuery, at: Date): Promise<EpcisDocument | undefined>;
  /** What a document of ours did, in EPCIS 2.0. */
  documentEpcis(requestId: string, at: Date): Promise<EpcisDocument | undefined>;
}
