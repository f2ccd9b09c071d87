import type { JsonObject, JsonValue } from '#kernel';

/**
 * A user of the registry through whom documents are sent. Secrets stay in this object and never reach an event, a log
 * or the evidence.
 */
export interface Account {
  name: string;
  clientId: string;
  clientSecret: string;
  userId: string;
  signer: SignerConfig;
}

/**
 * How this account signs. `password`: a non-resident user, who signs in by password and whose documents go without a
 * signature (registry-interface 5).
 */
export type SignerConfig =
  Pkcs12SignerConfig | CommandSignerConfig | HttpSignerConfig | { kind: 'password'; password: string };

interface Pkcs12SignerConfig {
  kind: 'pkcs12';
  file: string;
  password: string;
}

/** What signers outside this process have in common. */
interface OutsideSignerConfig {
  /**
   * The user's certificate, PEM or DER. Without it, it is the one inside the signature, known from the first signature
   * on.
   */
  certificateFile?: string;
  /** Goes to the program or the service, and is removed from whatever they say. */
  secret?: string;
  /** For a whole signature, repeats included, once its turn has come. */
  timeLimitMs: number;
  /** Signatures under way at once. */
  concurrency: number;
}

export interface CommandSignerConfig extends OutsideSignerConfig {
  kind: 'command';
  /**
   * Program and arguments, run without a shell. `{in}`: a file with the bytes, else they come on stdin. `{out}`: a file
   * for the signature, else it is read from stdout.
   */
  command: string[];
  /** Working directory. */
  folder: string;
  /** The program's whole environment but for PATH, which has a default, and SIGNER_SECRET, which is the secret. */
  environment: Record<string, string>;
}

export interface HttpSignerConfig extends OutsideSignerConfig {
  kind: 'http';
  url: string;
  /** `{secret}` in a value is the secret. */
  headers: Record<string, string>;
  /**
   * JSON to post, with `{base64}` for the bytes and `{secret}` inside its strings. Without it the bytes themselves are
   * posted.
   */
  body?: JsonValue;
  /**
   * Where in a JSON answer the signature is, for example `result.signature`. Without it the answer is the signature.
   */
  answerField?: string;
  /** Certificates (PEM) that the service's own is trusted by, instead of the system's. */
  caFile?: string;
  /** Repeats after a failure of the network, a 429 or a 5xx. */
  retries: number;
}

export interface Signer {
  /**
   * Detached CMS (PKCS#7, DER) over the bytes. `urgent` goes before what already waits its turn: a sign-in, for which
   * all wait.
   * @throws PedigreeError signing_failed, without secrets.
   */
  sign(bytes: Uint8Array, urgent?: boolean): Promise<Buffer>;
  /** DER of the certificate of this signature, or of the last one. Undefined while none is known. */
  certificate(signature?: Buffer): Buffer | undefined;
  /** PEM of that certificate and of its issuers, as far as they are at hand. The same bytes are the same Buffer. */
  chain(signature?: Buffer): Buffer | undefined;
  /** Not after, of the certificate; undefined while none is known. */
  expiresAt(): Date | undefined;
  /** Since when it signs nothing, and why at the last try; undefined while it signs, or was not asked for minutes. */
  failing?(): { since: Date; reason: string } | undefined;
  close?(): Promise<void>;
}

/** The registry's exact answer: what it said byte for byte, kept as evidence by the caller when it causes an event. */
export interface RawAnswer {
  httpStatus: number;
  contentType: string;
  body: Buffer;
  /** Where the answer was written instead, when it was to go to a file: then `body` is empty. */
  file?: { path: string; bytes: number };
  /** Monotonic ms of this process at which it was asked for: an answer may be as old as that. */
  askedMonotonicMs?: number;
  /** The same, at which the whole answer had arrived. */
  receivedMonotonicMs: number;
  receivedAt: Date;
}

/** Canonical document statuses, whatever the profile calls them (registry-interface 3.1). */
export type DocumentStatus = 'uploading' | 'processing' | 'processed' | 'failed_result_ready' | 'failed';

/** A page of a document list, and how many documents the list has. */
export interface DocumentPage {
  documents: DocumentMetadata[];
  total: number;
  /** Entries that cannot be read, in their order; absent where all can. They count in `total`. */
  notUnderstood?: NotUnderstood[];
}

/** An entry of a list that tells no document. */
export interface NotUnderstood {
  /** Its place in the page, from 0 on. */
  at: number;
  /** The entry as it came, which tells it from all others. */
  written: string;
  problem: string;
}

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
 * The typed outcomes of a call. `refused`: the registry heard and said no (4xx with code and text); `mayBeOthers`: not
 * in its own words, so that a server before it may have said that. `rate_limited`: 429, surely not done. `not_sent`:
 * surely never reached it (connection refused, no slot). `unknown`: it may or may not have been done (timeout, reset,
 * 5xx); `isUseless`: of a read, there is a good answer, and it is larger than is taken, or not understood, and no page.
 */
export type CallOutcome<T> =
  | { kind: 'ok'; value: T; raw: RawAnswer }
  | { kind: 'refused'; code: string; text: string; mayBeOthers?: true; raw: RawAnswer }
  | { kind: 'not_found'; text: string; raw: RawAnswer }
  | { kind: 'rate_limited'; text: string; raw: RawAnswer }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'unknown'; reason: string; isUseless?: true; raw?: RawAnswer };

export interface OutgoingQuery {
  /** Registry document ids, at most the profile's page size: one page tells them all. */
  documentIds?: string[];
  requestId?: string;
  /** Scheme number. */
  docType?: number;
  /**
   * A status that the profile writes by one name: a registry's filter takes one. @throws PedigreeError
   * invalid_parameter for others.
   */
  status?: DocumentStatus;
  /** Received by the registry from/to. */
  from?: Date;
  to?: Date;
  offset?: number;
  limit?: number;
}

export interface DocumentToSend {
  xml: Uint8Array;
  /** Absent for an account that signs in by password. */
  signature?: Buffer | undefined;
  requestId: string;
  bulkProcessing?: boolean;
  /**
   * Moment of the monotonic clock after which nothing may be written any more: by then somebody else may have taken
   * over the document. A wait for a slot or a token that lasts longer ends as `not_sent`.
   */
  notAfterMonotonicMs?: number;
}

/**
 * The one way out. Each call waits for its slot in the budget (account, method), signs in when needed, renews once on
 * 401, and never repeats a send. Every method name is a key of the profile's `operations`.
 */
export interface RegistryClient {
  /**
   * Detached CMS over the document's bytes by the account's signer; undefined for an account that signs in by password.
   */
  sign(account: string, xml: Uint8Array): Promise<Buffer | undefined>;
  /**
   * DER of the certificate with which this signature was made, or else the last one. The same bytes are the same Buffer
   * each time.
   */
  signerCertificate(account: string, signature?: Buffer): Buffer | undefined;
  /**
   * PEM of that certificate and of its issuers, as far as the signer gave them. The same bytes are the same Buffer each
   * time.
   */
  signerChain(account: string, signature?: Buffer): Buffer | undefined;
  /**
   * Signs in where no living token is at hand. What stands in the way is told, so that no attempt is begun that cannot
   * be made.
   */
  prepare(account: string): Promise<{ kind: 'ready' } | { kind: 'not_ready'; reason: string }>;
  sendDocument(account: string, document: DocumentToSend): Promise<CallOutcome<{ documentId: string }>>;
  documentStatus(account: string, documentId: string): Promise<CallOutcome<DocumentMetadata>>;
  listOutgoing(account: string, query: OutgoingQuery): Promise<CallOutcome<DocumentPage>>;
  listIncoming(account: string, query: OutgoingQuery): Promise<CallOutcome<DocumentPage>>;
  /**
   * Documents that were sent under this request_id: none, one, or (an alarm) more. Notifications, which bear it as
   * well, are left out.
   */
  findByRequestId(account: string, requestId: string): Promise<CallOutcome<DocumentMetadata[]>>;
  /** Receipt XML. `raw` is the link answer where the profile works by link. */
  receipt(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>>;
  downloadDocument(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>>;
  /**
   * Where things stand, without secrets: token age by account, certificate expiry (undefined: no certificate, or none
   * known before the first signature), and a signer that signs nothing.
   */
  sessions(): {
    account: string;
    signedInAt: Date | undefined;
    certificateExpiresAt: Date | undefined;
    signerFailing?: { since: Date; reason: string } | undefined;
  }[];
  close(): Promise<void>;
}
