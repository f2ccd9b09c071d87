import { buildDocument, checkDocument, documentTypeOf, type DocumentFacts, type DocumentJson } from '#documents';
import type { Registration } from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { canonicalJson, coalesce, PedigreeError, requestIdOf, sha256Hex } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import type { NewTask, TaskQueue } from '#tasks';
import type { CommandBody } from './command-body.js';

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
  queue: TaskQueue;
  installationId: string;
  /** Account names; the first is the default. */
  accounts: string[];
  /** The registry's limit for one document, from the profile. */
  maxDocumentBytes: number;
  /** Most commands that may wait to be run. Past it, 503. */
  maxBacklog: number;
}

export const INTAKE_LANE = 'intake';

type Taken = 'new' | 'repeated' | 'conflict';

interface Checked {
  registration: Registration;
  bodySha256: string;
  actor: Actor;
}

/**
 * Takes commands: checks everything that can be checked without the registry, keeps the document's bytes, then stores the command and
 * the task that runs it in one transaction. That commit is the acknowledgement; before it nothing is promised, after it nothing is lost.
 */
export class Intake {
  private readonly store: (checked: Checked) => Promise<Taken>;
  private backlog = { count: 0, readAtMs: -Infinity };

  constructor(private readonly options: IntakeOptions) {
    this.store = coalesce((batch) => this.storeAll(batch), { maxBatch: 200, maxWaiting: 5_000 });
  }

  /** Takes one command. Throws PedigreeError for bad input, for an id that is known with other content, and when the backlog is full. */
  async take(body: CommandBody, actor: Actor): Promise<Acknowledgement> {
    await this.refuseWhenFull();
    const account = body.account ?? (this.options.accounts[0] as string);
    if (!this.options.accounts.includes(account)) {
      const known = this.options.accounts.join(', ');
      throw new PedigreeError('unknown_account', `/account: no account is named ${account}; known are ${known}`, { field: '/account', item: account });
    }
    const xml = body.xml === undefined ? buildDocument(body.document as DocumentJson) : Buffer.from(body.xml, 'utf8');
    const facts = checkDocument(xml);
    refuseUnsendable(facts);
    const { maxDocumentBytes } = this.options;
    if (xml.length > maxDocumentBytes) throw new PedigreeError('body_too_large', `the document has ${xml.length} bytes; the registry takes at most ${maxDocumentBytes}`, { field: '/xml' });
    const documentSha256 = await this.options.evidence.put(xml, 'application/xml');
    const registration = this.registrationOf(body, { account, facts, documentSha256, byteLength: xml.length });
    const taken = await this.store({ registration, bodySha256: sha256Hex(canonicalJson(body)), actor });
    if (taken === 'conflict') {
      const message = `command ${body.command_id} was acknowledged before with other content; nothing was changed`;
      throw new PedigreeError('command_conflict', message, { field: '/command_id', item: body.command_id });
    }
    return { commandId: body.command_id, requestId: registration.requestId, repeated: taken === 'repeated' };
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
      const lanes = await this.options.queue.lanes();
      this.backlog.count = lanes.filter((lane) => lane.lane === INTAKE_LANE).reduce((sum, lane) => sum + lane.ready + lane.leased, 0);
    }
    if (this.backlog.count >= this.options.maxBacklog) {
      throw new PedigreeError('backlog_full', `${this.backlog.count} commands wait to be run; try again later`, { field: '' });
    }
  }

  private storeAll(batch: Checked[]): Promise<Taken[]> {
    return inTransaction(this.options.pool, async (tx) => {
      const taken = await insertCommands(tx, batch);
      await this.options.queue.schedule(tx, batch.filter((_, i) => taken[i] === 'new').map(runCommandTask));
      return taken;
    });
  }
}

/** Notifications are made by the registry alone, and the answers to queries are not understood yet. */
function refuseUnsendable({ docType, element }: DocumentFacts): void {
  const direction = documentTypeOf(docType)?.direction;
  if (direction === 'outgoing') return;
  const why = direction === 'query' ? 'is a query, which this version does not send' : 'is a notification, which only the registry makes';
  throw new PedigreeError('unknown_document_type', `document type ${docType} (${element}) ${why}`, { element });
}

/** Inserts what is new and says of each command whether it is new, the same again, or in conflict with what was stored. */
async function insertCommands(tx: Transaction, batch: Checked[]): Promise<Taken[]> {
  // Within one batch the first of two equal ids counts; rows go in sorted, so that two batches cannot wait for each other.
  const firstOf = new Map<string, Checked>();
  for (const one of batch) if (!firstOf.has(one.registration.commandId)) firstOf.set(one.registration.commandId, one);
  const rows = [...firstOf.values()].sort((a, b) => (a.registration.commandId < b.registration.commandId ? -1 : 1));
  const inserted = await tx.query<{ command_id: string }>({
    name: 'insert-commands',
    text: `INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor)
           SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::text[], $6::jsonb[])
           ON CONFLICT (command_id) DO NOTHING RETURNING command_id`,
    values: [
      rows.map((row) => row.registration.commandId),
      rows.map((row) => row.registration.requestId),
      rows.map((row) => Buffer.from(row.bodySha256, 'hex')),
      rows.map((row) => Buffer.from(row.registration.documentSha256, 'hex')),
      rows.map((row) => row.registration.account),
      rows.map((row) => JSON.stringify(row.actor)),
    ],
  });
  const fresh = new Set(inserted.rows.map((row) => row.command_id));
  const others = batch.filter((one) => !fresh.has(one.registration.commandId) || firstOf.get(one.registration.commandId) !== one);
  if (others.length === 0) return batch.map(() => 'new');
  const stored = await tx.query<{ command_id: string; body_sha256: Buffer }>(`SELECT command_id, body_sha256 FROM command WHERE command_id = ANY($1)`, [
    others.map((one) => one.registration.commandId),
  ]);
  const digests = new Map(stored.rows.map((row) => [row.command_id, row.body_sha256.toString('hex')]));
  return batch.map((one) => {
    const { commandId } = one.registration;
    if (fresh.has(commandId) && firstOf.get(commandId) === one) return 'new';
    return digests.get(commandId) === one.bodySha256 ? 'repeated' : 'conflict';
  });
}

const runCommandTask = ({ registration, actor }: Checked): NewTask => ({
  key: `run_command:${registration.requestId}`,
  kind: 'run_command',
  lane: INTAKE_LANE,
  dueAt: new Date(0),
  payload: { registration, actor } as unknown as NewTask['payload'],
});
