import {
  containerStream,
  DECISION_LIST_STREAM,
  documentStream,
  groupStream,
  inboundStream,
  refusalStream,
  stockUploadStream,
  writeToldContent,
  type CommandRefused,
  type ContainerEvent,
  type DocumentConcluded,
  type DocumentEvent,
  type DocumentReference,
  type FailureCause,
  type GroupEvent,
  type InboundEvent,
  type Registration,
  type StockUploaded,
  type SuspendedListHeld,
  type ToldItem,
} from '#domain';
import { typeKnowledge } from '#documents';
import type { DocumentFacts, DocumentItem, ItemEffect, ReceiptFacts, SeriesTold } from '#documents';
import type { RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, sha256Hex, uuid5, type JsonObject, type Sha256 } from '#kernel';
import type { DocumentReading } from '../src/sgtin-history/movements.js';

/** Evidence in memory, for tests of this library. */
export class MemoryEvidence implements EvidenceStore {
  readonly blobs = new Map<Sha256, Buffer>();

  put(bytes: Uint8Array): Promise<Sha256> {
    return Promise.resolve(this.keep(bytes));
  }

  keep(bytes: Uint8Array): Sha256 {
    const sha256 = sha256Hex(bytes);
    this.blobs.set(sha256, Buffer.from(bytes));
    return sha256;
  }

  get(sha256: Sha256): Promise<{ bytes: Buffer; mediaType: string } | undefined> {
    const bytes = this.blobs.get(sha256);
    return Promise.resolve(bytes === undefined ? undefined : { bytes, mediaType: 'application/json' });
  }

  lengths(sha256s: Sha256[]): Promise<Map<Sha256, number>> {
    return Promise.resolve(
      new Map(sha256s.flatMap((one) => (this.blobs.has(one) ? [[one, (this.blobs.get(one) as Buffer).length]] : []))),
    );
  }

  getMany(sha256s: Sha256[]): Promise<Map<Sha256, Buffer>> {
    return Promise.resolve(
      new Map(sha256s.flatMap((one) => (this.blobs.has(one) ? [[one, this.blobs.get(one) as Buffer]] : []))),
    );
  }
}

/** Stands in for #documents where a test is not about XML: documents and receipts are their facts as JSON. */
export const jsonDocuments: DocumentReading = {
  readDocument: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as DocumentFacts,
  readReceipt: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as ReceiptFacts,
  effectsOf: (facts, receipt) => facts.items.map((item) => effectOf(facts, receipt, item)),
  readForeignDocument: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as DocumentFacts,
  foreignEffectsOf: (facts, receipt) => facts.items.map((item) => effectOf(facts, receipt ?? TOLD, item)),
  statusAfter: typeKnowledge.statusAfter,
};

/** What another participant is told has happened. */
const TOLD: ReceiptFacts = {
  operation: '',
  operationId: '',
  result: 'accepted',
  acceptedAt: '',
  warnings: [],
  errors: [],
};

const STATUS: Record<number, string> = {
  701: 'in_circulation',
  251: 'in_circulation',
  252: 'in_circulation',
  415: 'in_realization',
  417: 'confirm_return_paused',
  511: 'in_sale',
  552: 'out_of_circulation',
};

function effectOf(facts: DocumentFacts, receipt: ReceiptFacts, item: DocumentItem): ItemEffect {
  const error = receipt.errors.find((one) => one.objectId === item.id);
  if (error !== undefined || receipt.result === 'rejected') {
    return {
      item,
      result: 'refused',
      ...(error === undefined ? {} : { errorCode: error.code, errorText: error.text }),
    };
  }
  const status = STATUS[facts.docType];
  const common = {
    item,
    result: 'applied' as const,
    ...defined({ status, corrects: facts.docType === 254 ? facts.fields['operation_id'] : undefined }),
    ...saidOf(facts, item),
    place: facts.counterpartyId ?? facts.subjectId,
  };
  if (facts.docType === 911)
    return item.into === undefined
      ? { item, result: 'applied' }
      : { item, result: 'applied', containment: { kind: 'packed', into: item.into } };
  if (facts.docType === 912)
    return {
      item,
      result: 'applied',
      containment: facts.fields['is_recursive'] === 'true' ? { kind: 'opened', recursive: true } : { kind: 'opened' },
    };
  return { ...common, containment: { kind: 'taken_out' } };
}

/** Series and expiry as the reader of XML gives them: beside the pack, or by product for what a container holds. */
function saidOf({ series: told = [] }: DocumentFacts, { kind, id }: DocumentItem): Partial<ItemEffect> {
  const said = told.filter(({ item }) => item === undefined || item === id);
  if (kind === 'sgtin') return defined({ series: said.at(-1)?.series, expiry: said.at(-1)?.expiresOn });
  return { lots: said.flatMap(({ gtin, series }) => (gtin && series ? [{ gtin, series }] : [])) };
}

export interface DocumentOfTest {
  docType: number;
  /** SGTINs and SSCCs, or the place of which all is moved; for 911 with `into`, of several each with its own. */
  items: string[];
  into?: string | string[];
  /** For 912: what nests within is opened too. */
  recursive?: true;
  /** The registry's acceptance. Default: a minute after the document before. */
  acceptedAt?: string;
  outcome?: DocumentConcluded['data']['outcome'];
  cause?: FailureCause;
  errors?: ReceiptFacts['errors'];
  /** Default: a place of ours. */
  subjectId?: string;
  counterpartyId?: string;
  account?: string;
  reference?: string;
  operationDate?: string;
  series?: SeriesTold[];
  fields?: Record<string, string>;
}

/** How documents and receipts become evidence: as the JSON that `jsonDocuments` reads, or as a registry's XML. */
export interface Writing {
  document(of: DocumentOfTest): Buffer;
  receipt(facts: ReceiptFacts): Buffer;
}

const jsonWriting: Writing = {
  document: (of) => Buffer.from(JSON.stringify(factsOf(of))),
  receipt: (facts) => Buffer.from(JSON.stringify(facts)),
};

/** A log in memory that grows document by document, with its evidence: given. */
export class LogOfTest {
  readonly events: RecordedEvent[] = [];
  readonly evidence = new MemoryEvidence();
  private readonly versions = new Map<string, number>();
  private minutes = 0;
  private documents = 0;

  constructor(private readonly writing: Writing = jsonWriting) {}

  get head(): bigint {
    return BigInt(this.events.length);
  }

  readStream(stream: string, { fromVersion = 0 }: { fromVersion?: number } = {}): Promise<RecordedEvent[]> {
    return Promise.resolve(this.events.filter((event) => event.stream === stream && event.version >= fromVersion));
  }

  /** Registers, and holds for these; returns the request_id. */
  hold(of: DocumentOfTest, after: DocumentReference[]): string {
    const requestId = this.register(of, after);
    if (after.length > 0) this.add(requestId, { type: 'DocumentWaiting', data: { for: after } });
    return requestId;
  }

  /** Registers and sends; returns the request_id. */
  send(of: DocumentOfTest, after: DocumentReference[] = []): string {
    const requestId = this.hold(of, after);
    if (after.length > 0) {
      for (const one of after)
        this.add(requestId, { type: 'PredecessorConcluded', data: { requestId: one.requestId, outcome: 'accepted' } });
      this.add(requestId, { type: 'DocumentReleased', data: {} });
    }
    return this.sent(requestId, of);
  }

  /** The intent, and the registry's answer. */
  sent(requestId: string, { account = 'main' }: DocumentOfTest): string {
    this.add(requestId, {
      type: 'SendAttempted',
      data: { attempt: 1, account, signatureSha256: DIGEST, certificateSha256: DIGEST },
    });
    this.add(requestId, {
      type: 'DocumentSent',
      data: { attempt: 1, documentId: documentIdOf(requestId), answerSha256: DIGEST, foundByLookUp: false },
    });
    return requestId;
  }

  register(of: DocumentOfTest, after: DocumentReference[]): string {
    const data = this.registration(of, after);
    this.add(data.requestId, { type: 'DocumentRegistered', data });
    return data.requestId;
  }

  /** What the registration of one more document holds; its bytes are evidence. */
  registration(of: DocumentOfTest, after: DocumentReference[] = []): Registration {
    this.documents += 1;
    const facts = factsOf(of);
    return {
      requestId: uuid5(`command-${this.documents}`, NAMESPACE),
      commandId: `command-${this.documents}`,
      ...defined({ reference: of.reference }),
      account: of.account ?? 'main',
      docType: of.docType,
      documentSha256: this.evidence.keep(this.writing.document(of)),
      byteLength: 1_000,
      itemCount: facts.items.length,
      subjectId: facts.subjectId,
      ...defined({ counterpartyId: of.counterpartyId }),
      docNum: `N-${this.documents}`,
      operationDate: facts.operationDate,
      after,
    };
  }

  /** Status, receipt and conclusion (or its revision); returns the position of the conclusion. */
  conclude(requestId: string, of: DocumentOfTest, revises?: DocumentConcluded['data']['outcome']): bigint {
    const outcome = of.outcome ?? 'accepted';
    const documentId = documentIdOf(requestId);
    const documentSha256 = this.evidence.keep(this.writing.document(of));
    const common = { docType: of.docType, documentSha256 };
    if (outcome === 'failed') {
      this.add(requestId, { type: 'StatusObserved', data: { documentId, status: 'failed', answerSha256: DIGEST } });
      return this.add(requestId, {
        type: 'DocumentConcluded',
        data: { ...common, outcome, cause: of.cause ?? 'registry_failed' },
      });
    }
    const receipt = {
      operation: String(of.docType),
      operationId: requestId,
      result: outcome,
      acceptedAt: of.acceptedAt ?? this.now(),
      warnings: [],
      errors: of.errors ?? [],
    };
    const receiptSha256 = this.evidence.keep(this.writing.receipt(receipt));
    const { acceptedAt } = receipt;
    this.add(requestId, { type: 'StatusObserved', data: { documentId, status: 'processed', answerSha256: DIGEST } });
    this.add(requestId, {
      type: 'ReceiptStored',
      data: { documentId, receiptSha256, result: outcome, acceptedAt, errorCount: receipt.errors.length },
    });
    const data = { ...common, outcome, receiptSha256, acceptedAt };
    return this.add(
      requestId,
      revises === undefined
        ? { type: 'DocumentConcluded', data }
        : { type: 'ConclusionRevised', data: { ...data, previousOutcome: revises } },
    );
  }

  /** Both at once; returns the position of the conclusion. */
  document(of: DocumentOfTest): bigint {
    return this.conclude(this.send(of), of);
  }

  add(requestId: string, event: DocumentEvent): bigint {
    return this.append(documentStream(requestId), event);
  }

  /** A message of the bus that is never carried out. */
  refuse(data: CommandRefused['data']): bigint {
    return this.append(refusalStream(data.deadLetterId), { type: 'CommandRefused', data });
  }

  /** A stock file that came whole. */
  upload(data: StockUploaded['data']): bigint {
    return this.append(stockUploadStream(data.uploadId), { type: 'StockUploaded', data });
  }

  /** A version of the list of decisions. */
  decisions(data: SuspendedListHeld['data']): bigint {
    return this.append(DECISION_LIST_STREAM, { type: 'SuspendedListHeld', data });
  }

  /** An event of a document of others. */
  addInbound(documentId: string, event: InboundEvent): bigint {
    return this.append(inboundStream(documentId), event);
  }

  /** An event of a container. */
  addToContainer(sscc: string, event: ContainerEvent): bigint {
    return this.append(containerStream(sscc), event);
  }

  /**
   * The registry is asked what lies in a container that a document brought, and tells: these items. Returns the
   * position of what it told.
   */
  tell(sscc: string, items: ToldItem[], came: string | { documentId: string; acceptedAt: string }): bigint {
    const by = typeof came === 'string' ? { documentId: `arrival-${sscc}-${this.head}`, acceptedAt: came } : came;
    const arrival = { ...by, docType: 601, subjectId: OTHER_PLACE };
    this.addToContainer(sscc, { type: 'ContainerContentAsked', data: { sscc, account: 'main', arrival } });
    const contentSha256 = this.evidence.keep(writeToldContent({ sscc, items }));
    const containers = items.filter(({ id }) => id.length === 18).length;
    const packs = items.length - containers;
    const told = { sscc, account: 'main', arrival, operation: 'sscc_full_hierarchy', fetchedAt: by.acceptedAt };
    return this.addToContainer(sscc, {
      type: 'ContainerContentObserved',
      data: { ...told, answerSha256: DIGEST, contentSha256, packs, containers },
    });
  }

  addToGroup(groupId: string, event: GroupEvent): bigint {
    return this.append(groupStream(groupId), event);
  }

  private append(
    stream: string,
    event:
      DocumentEvent | InboundEvent | GroupEvent | CommandRefused | ContainerEvent | StockUploaded | SuspendedListHeld,
  ): bigint {
    const version = (this.versions.get(stream) ?? -1) + 1;
    this.versions.set(stream, version);
    const position = this.head + 1n;
    const at = this.now();
    this.events.push({
      id: uuid5(`event-${position}`, NAMESPACE),
      type: event.type,
      schemaVersion: 1,
      data: event.data as unknown as JsonObject,
      metadata: {
        participant: 'test',
        actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
        softwareVersion: '0.0.0',
        profile: 'interface-v1',
        effectiveAt: at,
        correlationId: stream,
        causationId: stream,
      },
      stream,
      version,
      position,
      recordedAt: new Date(at),
    });
    return position;
  }

  /** So long after all that this was asked for before. */
  now(minutes = 1): string {
    this.minutes += minutes;
    return new Date(Date.parse('2026-03-01T08:00:00Z') + this.minutes * 60_000).toISOString();
  }
}

const OTHER_PLACE = '00000000000777';
export const NAMESPACE = '6f3f7a52-5a0c-4a53-9a3e-0d8f5b7c1a10';
export const DIGEST = sha256Hex('an answer');
export const documentIdOf = (requestId: string): string => uuid5(requestId, NAMESPACE);

function factsOf(of: DocumentOfTest): DocumentFacts {
  const items = of.items.map((id, n) => ({
    kind: id.length === 18 ? ('sscc' as const) : ('sgtin' as const),
    id,
    ...defined({ into: typeof of.into === 'string' ? of.into : of.into?.[n] }),
  }));
  return {
    docType: of.docType,
    element: 'test',
    schemaVersion: '1.38',
    subjectId: of.subjectId ?? '00000000000464',
    ...defined({ counterpartyId: of.counterpartyId }),
    operationDate: of.operationDate ?? '2026-02-28T10:00:00+03:00',
    items,
    ...defined({ series: of.series }),
    fields: { ...of.fields, ...(of.recursive === true ? { is_recursive: 'true' } : {}) },
  };
}

/** The n-th pack and the n-th container of a test. */
export const pack = (n: number): string => `04607001770001${String(n).padStart(13, 'A')}`;
export const box = (n: number): string => `460700177${String(n).padStart(9, '0')}`;
