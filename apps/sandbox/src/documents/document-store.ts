import { canonicalUuid } from '#kernel';
import { isOutgoing, type RegistryDocument } from './document.js';

/** Every document, found by id, by request_id and, newest last, by participant. */
export class DocumentStore {
  private readonly byId = new Map<string, RegistryDocument>();
  private readonly byRequest = new Map<string, RegistryDocument[]>();
  private readonly sent = new Map<string, RegistryDocument[]>();
  private readonly received = new Map<string, RegistryDocument[]>();
  private readonly firstWithBytes = new Set<string>();
  readonly inOrder: RegistryDocument[] = [];

  /** Numbers documents in the order of acceptance, from 1. */
  nextSeq(): number {
    return this.inOrder.length + 1;
  }

  /** Whether a document of these bytes was accepted before; from now on one was. `key`: sender and digest. */
  repeatsBytes(key: string): boolean {
    if (this.firstWithBytes.has(key)) return true;
    this.firstWithBytes.add(key);
    return false;
  }

  add(document: RegistryDocument): void {
    this.inOrder.push(document);
    this.byId.set(document.documentId, document);
    append(this.byRequest, canonicalUuid(document.requestId), document);
    if (document.receiver === undefined) append(this.sent, document.sender, document);
    else append(this.received, document.receiver, document);
  }

  /** Any document, whoever asks. */
  get(documentId: string): RegistryDocument | undefined {
    return this.byId.get(documentId);
  }

  /** A document that the participant sent or received. */
  visible(documentId: string, participant: string): RegistryDocument | undefined {
    const document = this.byId.get(documentId);
    return document !== undefined && isParty(document, participant) ? document : undefined;
  }

  /** In whichever case it is written: who reads a GUID ignores that (RFC 9562, 4). */
  withRequestId(requestId: string): RegistryDocument[] {
    return this.byRequest.get(canonicalUuid(requestId)) ?? [];
  }

  visibleWithRequestId(requestId: string, participant: string): RegistryDocument[] {
    // A notification carries the request_id of the document that it tells about, so who told himself gets both.
    return this.withRequestId(requestId).filter((document) => isParty(document, participant));
  }

  sentBy(participant: string): RegistryDocument[] {
    return this.sent.get(participant) ?? [];
  }

  receivedBy(participant: string): RegistryDocument[] {
    return this.received.get(participant) ?? [];
  }
}

const isParty = (document: RegistryDocument, participant: string): boolean =>
  isOutgoing(document) ? document.sender === participant : document.receiver === participant;

function append(index: Map<string, RegistryDocument[]>, key: string, document: RegistryDocument): void {
  const list = index.get(key);
  if (list === undefined) index.set(key, [document]);
  else list.push(document);
}
