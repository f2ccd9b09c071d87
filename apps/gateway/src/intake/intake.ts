import { buildDocument, checkDocument, documentTypeOf, type DocumentFacts, type DocumentJson } from '#documents';
import type { Registration } from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { canonicalJson, coalesce, PedigreeError, requestIdOf, sha256Hex } from '#kernel';
import { inTransaction, type Pool } from '#postgres';
import type { NewTask, PostgresTaskQueue } from '#tasks';
import type { CommandBody } from './command-body.js';
import { storeCommands, type Checked, type Taken } from './command-table.js';

/** The answer to a command: what it is known by from now on. */
export interface Acknowledgement {
  commandId: string;
  requestId: string;
  /** True when this very command had been acknowledged before. */
  repeated: boolean;
}

export interface IntakeOptions {
  pool: Pool;
  evidence: EvidenceStore;
  queue: Pick<PostgresTaskQueue, 'schedule' | 'readyCount'>;
  installationId: string;
  /** Account names; the first is the default. */
  accounts: string[];
  /** The registry's limit for one document, from the profile. */
  maxDocumentBytes: number;
  /** Most tasks of any kind that may wait to be done. Past it, 503. */
  maxBacklog: number;
}

export const INTAKE_LANE = 'intake';

/**
 * Takes commands: checks everything that can be checked without the registry, keeps the document's bytes, then stores the command and
 * the task that runs it in one transaction. That commit is the acknowledgement; before it nothing is promised, after it nothing is lost.
 */
export class Intake {
  private readonly store: (checked: Checked) => Promise<Taken | { failed: unknown }>;
  private backlog = { count: 0, readAtMs: -Infinity };

  constructor(private readonly options: IntakeOptions) {
    this.store = coalesce((batch) => this.storeBatch(batch), { maxBatch: 200, maxWaiting: 5_000 });
  }

  /** Takes one command. Throws PedigreeError for bad input, for an id that is known with other content, and when the backlog is full. */
  async take(body: CommandBody, actor: Actor): Promise<Acknowledgement> {
    await this.refuseWhenFull();
    const account = body.account ?? (this.options.accounts[0] as string);
    if (!this.options.accounts.includes(account)) {
      const known = this.options.accounts.join(', ');
      throw new PedigreeError('unknown_account', `/account: no account is named ${account}; known are ${known}`, { field: '/account', item: account });
    }
    const { xml, facts } = this.documentOf(body);
    const documentSha256 = await this.options.evidence.put(xml, 'application/xml');
    const registration = this.registrationOf(body, { account, facts, documentSha256, byteLength: xml.length });
    const taken = await this.store({ registration, bodySha256: sha256Hex(canonicalJson(body)), actor });
    if (typeof taken === 'object') throw 'circle' in taken ? circleError(taken.circle) : taken.failed;
    if (taken === 'conflict') {
      const message = `command ${body.command_id} was acknowledged before with other content; nothing was changed`;
      throw new PedigreeError('command_conflict', message, { field: '/command_id', item: body.command_id });
    }
    return { commandId: body.command_id, requestId: registration.requestId, repeated: taken === 'repeated' };
  }

  /** The document's bytes and facts, checked. Errors are placed in what the ERP sent. */
  private documentOf(body: CommandBody): { xml: Buffer; facts: DocumentFacts } {
    try {
      const xml = body.xml === undefined ? buildDocument(body.document as DocumentJson) : Buffer.from(body.xml, 'utf8');
      const facts = checkDocument(xml);
      refuseUnsendable(facts);
      const { maxDocumentBytes } = this.options;
      if (xml.length > maxDocumentBytes) throw new PedigreeError('body_too_large', `the document has ${xml.length} bytes; the registry takes at most ${maxDocumentBytes}`);
      return { xml, facts };
    } catch (error) {
      if (!(error instanceof PedigreeError)) throw error;
      throw body.xml === undefined ? inJsonDocument(error) : new PedigreeError(error.code, error.message, { ...error.place, field: '/xml' });
    }
  }

  private registrationOf(body: CommandBody, of: { account: string; facts: DocumentFacts; documentSha256: string; byteLength: number }): Registration {
    const { facts } = of;
    const requestIdFor = (commandId: string) => requestIdOf(this.options.installationId, commandId);
    return {
      requestId: requestIdFor(body.command_id),
      commandId: body.command_id,
      ...(body.reference === undefined ? {} : { reference: body.reference }),
      account: of.account,
      docType: facts.docType,
      documentSha256: of.documentSha256,
      byteLength: of.byteLength,
      itemCount: facts.items.length,
      subjectId: facts.subjectId,
      ...(facts.counterpartyId === undefined ? {} : { counterpartyId: facts.counterpartyId }),
      ...(facts.docNum === undefined ? {} : { docNum: facts.docNum }),
      operationDate: facts.operationDate,
      after: [...new Set(body.after)].map((commandId) => {
        if (commandId === body.command_id) throw new PedigreeError('invalid_command', '/after: a command cannot come after itself', { field: '/after', item: commandId });
        return { commandId, requestId: requestIdFor(commandId) };
      }),
    };
  }

  /** The backlog is counted at most once a second: the limit protects the machine, it is no exact quota. */
  private async refuseWhenFull(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.backlog.readAtMs > 1_000) {
      this.backlog.readAtMs = nowMs;
      this.backlog.count = await this.options.queue.readyCount(this.options.maxBacklog);
    }
    if (this.backlog.count >= this.options.maxBacklog) {
      throw new PedigreeError('backlog_full', `${this.backlog.count} or more tasks wait to be done; try again later`, { field: '' });
    }
  }

  /** Commands share a transaction, but not their faults: where one of them makes it fail, each is stored by itself. */
  private async storeBatch(batch: Checked[]): Promise<(Taken | { failed: unknown })[]> {
    try {
      return await this.storeTogether(batch);
    } catch (error) {
      if (batch.length === 1 || !isFaultOfOne(error)) throw error;
    }
    const taken: (Taken | { failed: unknown })[] = [];
    for (const one of batch) {
      const alone = await this.storeTogether([one]).catch((failed: unknown) => {
        if (!isFaultOfOne(failed)) throw failed;
        return [{ failed }];
      });
      taken.push(...alone);
    }
    return taken;
  }

  private storeTogether(batch: Checked[]): Promise<Taken[]> {
    return inTransaction(this.options.pool, async (tx) => {
      const taken = await storeCommands(tx, batch);
      await this.options.queue.schedule(tx, batch.filter((_, i) => taken[i] === 'new').map(runCommandTask));
      return taken;
    });
  }
}

/** Errors in what is stored: SQLSTATE classes 22 (data), 23 (constraints), 54 (limits), and our own refusals. Any other would meet each command alike. */
function isFaultOfOne(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return error instanceof PedigreeError || (typeof code === 'string' && /^(22|23|54)...$/.test(code));
}

/** The ERP never saw the XML that was built from its JSON, so no line of that is named. */
function inJsonDocument({ code, message, place }: PedigreeError): PedigreeError {
  const { line: _, field, ...rest } = place;
  if (field?.startsWith('/') === true) return new PedigreeError(code, `/document${message}`, { ...rest, field: `/document${field}` });
  return new PedigreeError(code, `/document: ${message.replace(/^line \d+[:,] /, '')}`, { ...rest, field: '/document' });
}

const circleError = (circle: string[]): PedigreeError =>
  new PedigreeError('invalid_command', `/after: the command would wait for itself: ${circle.join(' after ')}`, { field: '/after', item: circle[1] as string });

/** Notifications are made by the registry alone, and the answers to queries are not understood yet. */
function refuseUnsendable({ docType, element }: DocumentFacts): void {
  const direction = documentTypeOf(docType)?.direction;
  if (direction === 'outgoing') return;
  const why = direction === 'query' ? 'is a query, which this version does not send' : 'is a notification, which only the registry makes';
  throw new PedigreeError('unknown_document_type', `document type ${docType} (${element}) ${why}`, { element });
}

const runCommandTask = ({ registration, actor }: Checked): NewTask => ({
  key: `run_command:${registration.requestId}`,
  kind: 'run_command',
  lane: INTAKE_LANE,
  dueAt: new Date(0),
  payload: { registration, actor } as unknown as NewTask['payload'],
});
