import { PedigreeError, type Clock } from '#kernel';
import type { CallBudgets } from '#tasks';
import type { Dispatcher } from 'undici';
import type { AccountFault } from './account-refusals.js';
import type { CallCount } from './call/call-counts.js';
import { CHANGE, READ, READ_ONE, READ_SURELY, type OperationCall } from './call/caller.js';
import { classify, type Reading } from './call/classify.js';
import { baseOf, openAgent } from './call/connection.js';
import { readErrorBody } from './call/error-body.js';
import type { Exchange } from './call/exchange.js';
import { mayReadAgain } from './call/read-again.js';
import { resolveLink } from './call/links.js';
import { Readings } from './call/readings.js';
import { Requests, type RequestParts } from './call/requests.js';
import { SlotCaller, type Call, type Target } from './call/slot-caller.js';
import { readSince, type DocumentLists, type NewDocuments, type SinceQuery } from './lists/document-cursor.js';
import { silentLog, type Log } from './log.js';
import { RegistryOperations } from './operations/operations.js';
import type {
  Account,
  CallOutcome,
  DocumentMetadata,
  DocumentPage,
  DocumentToSend,
  OutgoingQuery,
  RawAnswer,
  RegistryClient,
  Signer,
} from './port.js';
import type { Profile } from './profile.js';
import type { OperationName } from './profile-names.js';
import { Sessions, type SignInResult, type TokenResult } from './session/sessions.js';
import type { SessionStore } from './session/session-store.js';
import { signIn } from './session/sign-in.js';
import { openSigner } from './signing/open-signer.js';

export interface UndiciRegistryClientOptions {
  /** Address of the registry, or of the proxy before it, without the profile's base path. */
  baseUrl: string;
  profile: Profile;
  accounts: Account[];
  budgets: CallBudgets;
  sessions: SessionStore;
  clock: Clock;
  /** Takes the place of the own connection pool; the caller closes it. */
  dispatcher?: Dispatcher;
  log?: Log;
  /** Connections to the registry. Must exceed the calls under way at once, else a call waits past its slot. */
  maxConnections?: number;
  /** Told when a sign-in is refused because of the account, so that another will not help. */
  onAccountFault?: (account: string, fault: AccountFault) => void;
  /** Largest answer in JSON. */
  maxJsonBytes?: number;
}

interface OpenAccount {
  account: Account;
  /** Absent for a user who signs in by password. */
  signer: Signer | undefined;
}

const CLOSE_GRACE_MS = 5_000;

const refusedAlone = (account: string, operation: OperationName): string =>
  `the registry answers ${operation} of ${account} with HTTP 401, and takes the same token for other calls`;

/**
 * The registry over HTTP. Order within a call: token, slot, call; so that nothing stands between slot and call. Fields,
 * paths, names and dates are the profile's. Errors of the caller are thrown (PedigreeError); everything the world does
 * is an outcome.
 */
export class UndiciRegistryClient implements RegistryClient, DocumentLists {
  /**
   * Everything of the interface beside a document's own life: lists, groups, large documents, registries of packs and
   * containers, exports.
   */
  readonly operations: RegistryOperations;
  private readonly base: URL;
  private readonly prefix: string;
  private readonly accounts: Map<string, OpenAccount>;
  private readonly requests: Requests;
  private readonly readings: Readings;
  private readonly sessionsOf: Sessions;
  private readonly dispatcher: Dispatcher;
  private readonly caller: SlotCaller;
  private readonly log: Log;

  /** Opens every account's key. @throws PedigreeError invalid_configuration naming the account or the field. */
  constructor(private readonly options: UndiciRegistryClientOptions) {
    const { profile, clock } = options;
    this.base = baseOf(options.baseUrl);
    this.prefix = this.base.pathname.replace(/\/+$/, '');
    this.log = options.log ?? silentLog;
    this.requests = new Requests(profile);
    this.readings = new Readings(profile);
    this.accounts = new Map(
      options.accounts.map((account) => [account.name, { account, signer: openSigner(account, clock) }]),
    );
    this.dispatcher = options.dispatcher ?? openAgent(profile, options.maxConnections ?? 256);
    this.caller = new SlotCaller({ ...options, dispatcher: this.dispatcher, log: this.log });
    this.operations = new RegistryOperations({
      profile,
      requests: this.requests,
      clock,
      link: (link, operation) => this.link(link, operation),
      call: (account, operation, what) => this.call(account, operation, what),
    });
    this.sessionsOf = new Sessions({
      store: options.sessions,
      rules: profile.rules,
      clock,
      log: this.log,
      signIn: (account) => this.signIn(account),
      signingMs: (account) => this.signingMs(account),
      onFault: (account, fault) => options.onAccountFault?.(account, fault),
    });
  }

  async sign(account: string, xml: Uint8Array): Promise<Buffer | undefined> {
    try {
      return await this.open(account).signer?.sign(xml);
    } catch (error) {
      this.log.warn({ account, error: (error as Error).message }, 'a document could not be signed');
      throw error;
    }
  }

  signerCertificate(account: string, signature?: Buffer): Buffer | undefined {
    return this.open(account).signer?.certificate(signature);
  }

  signerChain(account: string, signature?: Buffer): Buffer | undefined {
    return this.open(account).signer?.chain(signature);
  }

  async prepare(account: string): Promise<{ kind: 'ready' } | { kind: 'not_ready'; reason: string }> {
    this.open(account);
    const session = await this.token(account);
    return session.kind === 'token' ? { kind: 'ready' } : { kind: 'not_ready', reason: session.reason };
  }

  async sendDocument(account: string, document: DocumentToSend): Promise<CallOutcome<{ documentId: string }>> {
    this.open(account);
    const limit = this.options.profile.rules.maxDocumentBytes;
    if (document.xml.byteLength > limit) {
      throw new PedigreeError(
        'body_too_large',
        `the document has ${document.xml.byteLength} bytes; the registry takes at most ${limit}`,
        { field: 'document', item: document.requestId },
      );
    }
    const read = (raw: RawAnswer): Reading<{ documentId: string }> => {
      const id = this.readings.text(raw, 'document_id');
      return 'problem' in id ? id : { value: { documentId: id.value } };
    };
    return this.call(account, 'send', {
      request: this.requests.send(document),
      manner: CHANGE,
      read,
      notAfterMonotonicMs: document.notAfterMonotonicMs,
    });
  }

  async documentStatus(account: string, documentId: string): Promise<CallOutcome<DocumentMetadata>> {
    const request = this.requests.plain('status', { document_id: documentId });
    const read = (raw: RawAnswer): Reading<DocumentMetadata> => this.readings.documentOf(raw, documentId);
    return this.call(account, 'status', { request, manner: READ_SURELY, read });
  }

  async listOutgoing(account: string, query: OutgoingQuery): Promise<CallOutcome<DocumentPage>> {
    return this.list(account, 'list_outgoing', query);
  }

  async listIncoming(account: string, query: OutgoingQuery): Promise<CallOutcome<DocumentPage>> {
    return this.list(account, 'list_incoming', query);
  }

  async findByRequestId(account: string, requestId: string): Promise<CallOutcome<DocumentMetadata[]>> {
    const request = this.requests.plain('find_by_request_id', { request_id: requestId });
    const found = await this.call(account, 'find_by_request_id', {
      request,
      manner: READ_SURELY,
      read: (raw) => this.readings.documentsUnder(raw, requestId),
    });
    return found.kind === 'not_found' ? { kind: 'ok', value: [], raw: found.raw } : found;
  }

  async receipt(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>> {
    return this.fetchXml(account, 'receipt', documentId);
  }

  async downloadDocument(account: string, documentId: string): Promise<CallOutcome<{ xml: Buffer }>> {
    return this.fetchXml(account, 'download', documentId);
  }

  sessions(): ReturnType<RegistryClient['sessions']> {
    return [...this.accounts].map(([account, { signer }]) => ({
      account,
      signedInAt: this.sessionsOf.signedInAt(account),
      certificateExpiresAt: signer?.expiresAt(),
      signerFailing: signer?.failing?.(),
    }));
  }

  /** Calls of this process by account, method and result, since it began. */
  callCounts(): CallCount[] {
    return this.caller.counts.all();
  }

  /**
   * What a document list received since the cursor, each document once (registry-interface 4; principles 6.10).
   */
  async documentsSince(account: string, list: 'outgoing' | 'incoming', query: SinceQuery): Promise<NewDocuments> {
    const { cursor, ...limits } = query;
    const operation = list === 'outgoing' ? 'list_outgoing' : 'list_incoming';
    const pageSize = this.options.profile.operations[operation].pageSize ?? 100;
    return readSince((page) => this.list(account, operation, page), cursor, {
      ...limits,
      pageSize,
      // A stop ends the wait, too.
      again: (outcome, failuresInARow) =>
        mayReadAgain(outcome, failuresInARow, { wait: (ms) => this.options.clock.wait(ms, query.signal) }),
    });
  }

  /**
   * Ends the account's token at the registry, for all processes. Not done on close: the next start goes on with the
   * same token.
   */
  async signOut(account: string): Promise<CallOutcome<null>> {
    this.open(account);
    const session = await this.sessionsOf.stored(account);
    if (session === undefined) return { kind: 'not_sent', reason: 'there is no token' };
    const result = await this.caller.call(account, 'sign_out', {
      target: this.target(this.requests.plain('sign_out')),
      token: session.token,
    });
    const outcome = classify(result, CHANGE, { fields: this.options.profile.fields, read: () => ({ value: null }) });
    if (outcome.kind === 'ok' || (outcome.kind === 'refused' && outcome.raw.httpStatus === 401))
      await this.sessionsOf.forget(account, session.generation);
    return outcome;
  }

  /** Waits for calls under way, at most five seconds; those cut off then have their outcomes `unknown`. */
  async close(): Promise<void> {
    if (this.options.dispatcher === undefined) {
      const { dispatcher } = this;
      const cut = setTimeout(() => void dispatcher.destroy(new Error('the client was closed')), CLOSE_GRACE_MS);
      await dispatcher.close().catch(() => undefined);
      clearTimeout(cut);
    }
    await this.sessionsOf.settled();
    for (const { signer } of this.accounts.values()) await signer?.close?.();
  }

  private open(account: string): OpenAccount {
    const found = this.accounts.get(account);
    if (found === undefined)
      throw new PedigreeError('unknown_account', `there is no account "${account}"`, { item: account });
    return found;
  }

  private async list(
    account: string,
    operation: 'list_outgoing' | 'list_incoming',
    query: OutgoingQuery,
  ): Promise<CallOutcome<DocumentPage>> {
    const pageSize = this.options.profile.operations[operation].pageSize ?? 100;
    if ((query.documentIds?.length ?? 0) > pageSize) {
      throw new PedigreeError(
        'invalid_parameter',
        `${query.documentIds?.length} document ids; one page takes ${pageSize}`,
        { field: 'documentIds' },
      );
    }
    return this.call(account, operation, {
      request: this.requests.list(operation, query),
      manner: READ,
      read: (raw) => this.readings.page(raw),
    });
  }

  private async fetchXml(
    account: string,
    operation: 'receipt' | 'download',
    documentId: string,
  ): Promise<CallOutcome<{ xml: Buffer }>> {
    const request = this.requests.plain(operation, { document_id: documentId });
    const asXml = (raw: RawAnswer): Reading<{ xml: Buffer }> => this.readings.xml(raw);
    if (this.options.profile.operations[operation].answersWith === 'body')
      return this.call(account, operation, { request, manner: READ_ONE, read: asXml });
    const answer = await this.call(account, operation, {
      request,
      manner: READ_ONE,
      read: (raw) => this.readings.text(raw, 'link'),
    });
    if (answer.kind !== 'ok') return answer;
    const target = this.link(answer.value, 'fetch_link');
    if ('problem' in target) return { kind: 'refused', code: 'foreign_link', text: target.problem, raw: answer.raw };
    const fetched = await this.call(account, 'fetch_link', { request: target.value, manner: READ_ONE, read: asXml });
    return fetched.kind === 'ok' ? { ...fetched, raw: answer.raw } : fetched;
  }

  private async call<T>(account: string, operation: OperationName, what: OperationCall<T>): Promise<CallOutcome<T>> {
    this.open(account);
    const target = 'origin' in what.request ? what.request : this.target(what.request);
    const { notAfterMonotonicMs, into } = what;
    const result = await this.authorised(account, operation, { target, notAfterMonotonicMs, into });
    return classify(result, what.manner, { fields: this.options.profile.fields, read: what.read });
  }

  private token(account: string): Promise<TokenResult> {
    return this.sessionsOf
      .token(account)
      .catch((error: Error) => ({ kind: 'none', reason: `sessions: ${error.message}` }));
  }

  private link(link: string, operation: 'fetch_link' | 'upload_part'): Reading<Target> {
    const url = resolveLink(link, this.base, this.options.profile.linkRewrite);
    if ('problem' in url) return url;
    return {
      value: {
        method: this.options.profile.operations[operation].method,
        origin: url.value.origin,
        path: url.value.pathname + url.value.search,
      },
    };
  }

  private target(request: RequestParts): Target {
    return { ...request, origin: this.base.origin, path: this.prefix + request.path };
  }

  /**
   * Calls with the account's token. A 401 surely did nothing: it brings one other token and one repeat, of a send too.
   * When that one is refused as well (a token may end between any two calls), the call counts as not made: it says
   * nothing of what was sent, and whoever wanted it asks again later. So does one that is refused alone.
   */
  private async authorised(account: string, operation: OperationName, what: Omit<Call, 'token'>): Promise<Exchange> {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const session = await this.token(account);
      // Without another token the refused attempt counts as not made: the fault is the session's, not the document's.
      if (session.kind === 'none') return { kind: 'failed', written: false, reason: session.reason };
      const result = await this.caller.call(account, operation, { ...what, token: session.token });
      if (result.kind === 'failed') return result;
      if (result.raw.httpStatus !== 401) {
        // An answer of 5xx may be a proxy's and says nothing of the token.
        if (result.raw.httpStatus < 500) this.sessionsOf.used(account, session.generation, operation);
        return result;
      }
      const mayBeOthers = readErrorBody(result.raw, this.options.profile.fields).shape !== 'registry';
      const token = await this.sessionsOf
        .rejected(account, session.generation, { operation, mayBeOthers })
        .catch((error: Error) => {
          this.log.warn({ account, error: error.message }, 'could not record a refused token');
          return 'dropped';
        });
      if (token === 'kept') return { kind: 'failed', written: false, reason: refusedAlone(account, operation) };
    }
    return {
      kind: 'failed',
      written: false,
      reason: `the registry refused two tokens of ${account} in a row (HTTP 401)`,
    };
  }

  /** A sign-in goes before all that wait, so it waits for one signature at most. */
  private signingMs(name: string): number {
    const config = this.open(name).account.signer;
    return 'timeLimitMs' in config ? 2 * config.timeLimitMs : 0;
  }

  private async signIn(name: string): Promise<SignInResult> {
    const { account, signer } = this.open(name);
    try {
      return await signIn(account, {
        profile: this.options.profile,
        requests: this.requests,
        readings: this.readings,
        sign: (bytes) =>
          signer?.sign(bytes, true) ??
          Promise.reject(new PedigreeError('signing_failed', 'this account has no signer', { item: name })),
        call: (operation, request) => this.caller.call(name, operation, { target: this.target(request) }),
      });
    } catch (error) {
      const { message } = error as Error;
      return { kind: 'failed', reason: `sign-in: ${message}`, counts: true, tokenMayExist: true };
    }
  }
}
