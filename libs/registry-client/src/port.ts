import type { JsonObject } from '#kernel';

/** A user of the registry through whom documents are sent. Secrets stay in this object and never reach an event, a log or the evidence. */
export interface Account {
  name: string;
  clientId: string;
  clientSecret: string;
  userId: string;
  signer: SignerConfig;
}

/** How this account signs. Issue-driven growth: external command, HTTP service, password. */
export type SignerConfig = { kind: 'pkcs12'; /** Path, relative to the accounts file. */ file: string; password: string };

export interface Signer {
  /** Detached CMS (PKCS#7, DER) over the bytes. */
  sign(bytes: Uint8Array): Promise<Buffer>;
  /** DER of the signer's certificate. */
  certificate(): Buffer;
  /** Not after, of the certificate. */
  expiresAt(): Date;
}

/** The registry's exact answer: what it said byte for byte, kept as evidence by the caller when it causes an event. */
export interface RawAnswer {
  httpStatus: number;
  contentType: string;
  body: Buffer;
  /** Monotonic ms of this process at which the whole answer had arrived. */
  receivedMonotonicMs: number;
  receivedAt: Date;
}

/** Canonical document statuses, whatever the profile calls them (section 3.1). */
export type DocumentStatus = 'uploading' | 'processing' | 'processed' | 'failed_result_ready' | 'failed';

export interface DocumentMetadata {
  documentId: string;
  requestId: string;
  status: DocumentStatus;
  docType?: number;
  docNum?: string;
  /** When the registry got it and finished it, ISO 8601 in UTC; registry time, for display and filters only. */
  receivedAt?: string;
  processedAt?: string;
  sender?: string;
  receiver?: string;
  /** Every field as it came. */
  fields: JsonObject;
}

/**
 * The typed outcomes of a call. `refused`: the registry heard and said no (4xx with code and text). `rate_limited`: 429, surely not done.
 * `not_sent`: surely never reached it (connection refused, no slot). `unknown`: it may or may not have been done (timeout, reset, 5xx).
 */
export type CallOutcome<T> =
  | { kind: 'ok'; value: T; raw: RawAnswer }
  | { kind: 'refused'; code: string; text: string; raw: RawAnswer }
  | { kind: 'not_found'; text: string; raw: RawAnswer }
  | { kind: 'rate_limited'; text: string; raw: RawAnswer }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'unknown'; reason: string; raw?: RawAnswer };

export interface OutgoingQuery {
  /** Registry document ids, at most the profile's page size: one page tells them all. */
  documentIds?: string[];
  requestId?: string;
  /** Received by the registry from/to. */
  from?: Date;
  to?: Date;
  offset?: number;
  limit?: number;
}

export interface DocumentToSend {
  xml: Uint8Array;
  signature: Buffer;
  requestId: string;
  bulkProcessing?: boolean;
  /**
   * Moment of the monotonic clock after which nothing may be written any more: by then somebody else may have taken over the document.
   * A wait for a slot or a token that lasts longer ends as `not_sent`.
   */
  notAfterMonotonicMs?: number;
}

/**
 * The one way out. Each call waits for its slot in the budget (account, method), signs in when needed, renews once on 401,
 * and never repeats a send. Every method name is a key of the profile's `operations`.
 */
export interface RegistryClient {
  /** Detached CMS over the document's bytes by the account's signer. */
  sign(account: string, xml: Uint8Array): Promise<Buffer>;
  signerCertificate(account: string): Buffer;
  sendDocument(account: string, document: DocumentToSend): Promise<CallOutcome<{ documentId: string }>>;
  documentStatus(account: string, documentId: string): Promise<CallOutcome<DocumentMetadata>>;
  listOutgoing(account: string, query: OutgoingQuery): Promise<CallOutcome<{ documents: DocumentMetadata[]; total: number }>>;
  listIncoming(account: string, query: OutgoingQuery): Promise<CallOutcome<{ documents: DocumentMetadata[]; total: number }>>;
  /** Documents with this request_id: none, one, or (an alarm) more. */
  findByRequestId(account: string, requestId: string): Promise<CallOutcome<DocumentMetadata[]>>;
  /** Receipt XML. `raw` is the link answer where the profile works by link. */
  receipt(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>>;
  downloadDocument(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>>;
  /** Where things stand, without secrets: token age by account, certificate expiry. */
  sessions(): { account: string; signedInAt: Date | undefined; certificateExpiresAt: Date }[];
  close(): Promise<void>;
}
