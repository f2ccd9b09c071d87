import type { SchemaSets } from '#documents';
import type {
  DocumentReference,
  FirstCommand,
  GroupRegistration,
  ItemWarning,
  PlannedTask,
  Registration,
  SuspensionFinding,
} from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { canonicalJson, coalesce, defined, PedigreeError, sha256Hex, stretchesOf, type Sha256 } from '#kernel';
import { inTransaction, type Pool } from '#postgres';
import type { NamedPacks } from '#read-models';
import type { PostgresTaskQueue, TaskQueue } from '#tasks';
import { knownAccount } from '../accounts/known-account.js';
import type { Place } from './arrival-order.js';
import type { Entangled } from './cycles.js';
import type { CommandBody, MemberBody } from './command-body.js';
import {
  conflictOf,
  findRepeated,
  KIND_OF_GROUP,
  storeCommands,
  storeGroup,
  TooManyTogether,
  type Checked,
  type CommandRow,
  type Stored,
  type Taken,
} from './command-table.js';
import { haltedGroup, type HaltedGroups } from './halted-group.js';
import { Registrations, type RegistrationsOptions } from './registrations.js';

/** The answer to a command: what it is known by from now on. */
export interface Acknowledgement {
  commandId: string;
  /** The id of its document, or of its group. */
  requestId: string;
  kind: 'document' | 'group';
  /** True when this very command had been acknowledged before. */
  repeated: boolean;
  /** What was mended in its items, and wrong check digits. */
  warnings?: ItemWarning[];
}

export interface IntakeOptions extends HaltedGroups {
  pool: Pool;
  evidence: EvidenceStore;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'> & Pick<PostgresTaskQueue, 'readyCount'>;
  installationId: string;
  /** Account names; the first is the default. */
  accounts: string[];
  /** The longest document that is taken, from the profile (rules.maxLargeDocumentBytes). */
  maxDocumentBytes: number;
  /** Most items in one document of a type: the least of what schema and profile say. A larger one is split. */
  maxItems(docType: number): number;
  /** What documents are checked and built by. */
  schemas: SchemaSets;
  /** Which packs of a document are suspended; absent: nobody asks. */
  packsSuspended?: (document: NamedPacks) => Promise<SuspensionFinding | undefined>;
  packsNotAsked?: NonNullable<RegistrationsOptions['packsNotAsked']>;
  /** Most tasks of any kind that may wait to be done. Past it, 503. */
  maxBacklog: number;
}

/** A document that an operator sends again, and why. */
interface Resend {
  of: DocumentReference;
  /** Of its bytes. */
  documentSha256: Sha256;
  /** What the ERP gave first, and is told of the end under. */
  firstCommand: FirstCommand;
  reason: string;
}

/** How a command is taken, beside what it says. */
export interface Taking {
  resend?: Resend | undefined;
  /** It is not stored before those that arrived before it. The place is left when it is in the queue to be stored. */
  place?: Place | undefined;
}

const INTAKE_LANE = 'intake';
const BACKLOG_BELIEVED_MS = 1_000;

/**
 * Takes commands: checks everything that can be checked without the registry, keeps the document's bytes, then stores
 * the command and the task that runs it in one transaction. That commit is the acknowledgement; before it nothing is
 * promised, after it nothing is lost.
 */
export class Intake {
  private readonly registrations: Registrations;
  private readonly store: (checked: Checked) => Promise<Stored>;
  private backlog = { count: 0, countedAtMs: -Infinity };
  private counting: Promise<number> | undefined;

  constructor(private readonly options: IntakeOptions) {
    this.registrations = new Registrations(options);
    this.store = coalesce((batch) => this.storeBatch(batch), { maxBatch: 200, maxWaiting: 5_000 });
  }

  /**
   * Takes one command. Commands are stored as they come from their checks, or in the order of their places. Throws
   * PedigreeError for bad input, for an id that is known with other content, and when the backlog is full.
   */
  async take(body: CommandBody, actor: Actor, { resend, place }: Taking = {}): Promise<Acknowledgement> {
    await this.refuseWhenFull();
    try {
      const checked = await this.check(body, actor, resend);
      await place?.reached;
      const stored = this.store(checked);
      place?.leave();
      return acknowledged(checked, await stored);
    } catch (error) {
      const isTheirs = error instanceof PedigreeError && error.httpStatus < 500;
      const repeated = isTheirs ? await this.repeatOf(body, resend) : undefined;
      if (repeated === undefined) throw error;
      return repeated;
    }
  }

  /**
   * What was acknowledged stays so, though it would be refused today: its account was renamed, a schema set was
   * changed, so many came behind it since that nobody can tell a cycle.
   */
  private async repeatOf(body: CommandBody, resend?: Resend): Promise<Acknowledgement | undefined> {
    const { command_id: commandId } = body;
    const known = await findRepeated(this.options.pool, { commandId, bodySha256: bodySha256Of(body, resend) });
    if (known === undefined) return undefined;
    const { requestId, kind } = known;
    return { commandId, requestId, kind: kind === 'document' ? kind : 'group', repeated: true };
  }

  private async check(body: CommandBody, actor: Actor, resend?: Resend): Promise<Checked> {
    if (body.resume !== undefined) return this.checkResumption(body, body.resume, actor);
    const { registrations } = this;
    const account = knownAccount(this.options.accounts, body.account ?? (this.options.accounts[0] as string));
    if (body.group !== undefined) {
      const members = body.group.members.map((given, i) => ({ given, field: `/group/members/${i}/command_id` }));
      return this.checkedGroup(body, actor, { group: await registrations.group(body, account), members });
    }
    const work = await registrations.document(body, account, resend?.documentSha256);
    if ('members' in work) {
      if (resend !== undefined) throw resendTooLarge();
      return this.checkedGroup(body, actor, { group: work, members: [] });
    }
    const { requestId, documentSha256 } = work;
    const row = rowOf(body, { requestId, account, documentSha256, kind: 'document' });
    const checked = { row, actor, work: { registration: work } };
    return resend === undefined ? checked : asResend(checked, body, resend);
  }

  private async checkResumption(
    body: CommandBody,
    { group: haltedCommand, corrected, reason }: NonNullable<CommandBody['resume']>,
    actor: Actor,
  ): Promise<Checked> {
    const halted = await haltedGroup(
      { ...this.options, idOf: (id) => this.registrations.idOf(id) },
      { commandId: haltedCommand, byCommand: body.command_id },
    );
    const account = knownAccount(this.options.accounts, body.account ?? halted.registration.account);
    const group = await this.registrations.resumption(body, account, halted);
    const members = corrected === undefined ? [] : [{ given: corrected, field: '/resume/corrected/command_id' }];
    return { ...this.checkedGroup(body, actor, { group, members }), ...defined({ reason }) };
  }

  private checkedGroup(
    body: CommandBody,
    actor: Actor,
    of: { group: GroupRegistration; members: { given: MemberBody; field: string }[] },
  ): Checked {
    const { group, members } = of;
    const { account, kind, original } = group;
    const memberRows = members.map(({ given, field }) => ({
      row: this.memberRow(given, group, body.command_id),
      field,
    }));
    const documentSha256 = original?.documentSha256 ?? sha256Hex(canonicalJson(body));
    return {
      row: rowOf(body, { requestId: group.groupId, account, documentSha256, kind: KIND_OF_GROUP[kind] }),
      actor,
      work: { group },
      members: memberRows,
    };
  }

  /** A member waits with its group: that is what `after` says of it, for the search for cycles. */
  private memberRow(given: MemberBody, { account, members }: GroupRegistration, groupCommand: string): CommandRow {
    const requestId = this.registrations.idOf(given.command_id);
    const documentSha256 =
      members.find((one) => one.requestId === requestId)?.documentSha256 ?? sha256Hex(canonicalJson(given));
    return {
      commandId: given.command_id,
      requestId,
      account,
      bodySha256: sha256Hex(canonicalJson(given)),
      documentSha256,
      after: [groupCommand],
      kind: 'member',
    };
  }

  /** A group is rare and has many rows: it has a transaction of its own. */
  private storeWhole(group: Checked): Promise<Taken[]> {
    return inTransaction(
      this.options.pool,
      async (tx) => {
        const taken = await storeGroup(tx, group);
        if (taken === 'new') await this.options.queue.schedule(tx, [runCommandTask(group)]);
        return [taken];
      },
      { name: 'intake of a group' },
    );
  }

  /** Whether another command would be taken now. Rejects while the database does not answer. */
  async hasRoom(): Promise<boolean> {
    const { queue, maxBacklog } = this.options;
    if (performance.now() - this.backlog.countedAtMs > BACKLOG_BELIEVED_MS) {
      const countedAtMs = performance.now();
      this.counting ??= queue.readyCount(maxBacklog).finally(() => (this.counting = undefined));
      this.backlog = { count: await this.counting, countedAtMs };
    }
    return this.backlog.count < maxBacklog;
  }

  /** The backlog is counted at most once a second: the limit protects the machine, it is no exact quota. */
  private async refuseWhenFull(): Promise<void> {
    if (await this.hasRoom()) return;
    throw new PedigreeError('backlog_full', `${this.backlog.count} or more tasks wait to be done; try again later`, {
      field: '',
    });
  }

  /** In their order: the tasks that run them get theirs from it. */
  private async storeBatch(batch: Checked[]): Promise<Stored[]> {
    const stored: Stored[] = [];
    for (const part of stretchesOf(batch, ({ work }) => 'group' in work))
      stored.push(...(await this.storePart(part).catch((failed: unknown) => part.map(() => ({ failed })))));
    return stored;
  }

  /** Commands share a transaction, but not their faults: where one of them makes it fail, each is stored by itself. */
  private async storePart(part: Checked[]): Promise<Stored[]> {
    const [first] = part as [Checked];
    if ('group' in first.work) return this.storeWhole(first);
    try {
      return await this.storeTogether(part);
    } catch (error) {
      if (part.length === 1 || !isFaultOfOne(error)) throw error;
    }
    const stored: Stored[] = [];
    for (const one of part) {
      const alone = await this.storeTogether([one]).catch((failed: unknown) => {
        if (!isFaultOfOne(failed)) throw failed;
        return [{ failed }];
      });
      stored.push(...alone);
    }
    return stored;
  }

  private storeTogether(batch: Checked[]): Promise<Taken[]> {
    return inTransaction(
      this.options.pool,
      async (tx) => {
        const taken = await storeCommands(tx, batch);
        await this.options.queue.schedule(tx, batch.filter((_, i) => taken[i] === 'new').map(runCommandTask));
        return taken;
      },
      { name: 'intake of commands' },
    );
  }
}

function acknowledged({ row, work }: Checked, stored: Stored): Acknowledgement {
  const { commandId, requestId } = row;
  if (typeof stored === 'object') throw 'failed' in stored ? stored.failed : entangledError(stored);
  if (stored === 'conflict') throw conflictOf(commandId, '/command_id');
  const { warnings } = 'registration' in work ? work.registration : work.group;
  return {
    commandId,
    requestId,
    kind: 'registration' in work ? 'document' : 'group',
    repeated: stored === 'repeated',
    ...defined({ warnings }),
  };
}

/**
 * Errors in what is stored: SQLSTATE classes 22 (data), 23 (constraints), 54 (limits), and our own refusals. Any other
 * would meet each command alike.
 */
function isFaultOfOne(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof PedigreeError || error instanceof TooManyTogether) return true;
  return typeof code === 'string' && /^(22|23|54)...$/.test(code);
}

/** What a command is known by, beside its id. */
const bodySha256Of = (body: CommandBody, resend?: Resend): Sha256 =>
  sha256Hex(
    canonicalJson(resend === undefined ? body : { ...body, resend_of: resend.of.requestId, reason: resend.reason }),
  );

/** A document that is sent again names the one before it, and the reason is part of what the command says. */
function asResend(
  { row, actor, work }: Checked & { work: { registration: Registration } },
  body: CommandBody,
  resend: Resend,
): Checked {
  const { of, firstCommand, reason } = resend;
  return {
    row: { ...row, bodySha256: bodySha256Of(body, resend), resendOf: of.requestId },
    actor,
    reason,
    work: { registration: { ...work.registration, resendOf: of, firstCommand } },
  };
}

const resendTooLarge = (): PedigreeError =>
  new PedigreeError(
    'too_many_items',
    'the document has more items than one may have, and what is sent again is not split: send it as a new command',
  );

/** Names the first and last commands of a long cycle. */
const NAMED_OF_CYCLE = 10;

function entangledError(entangled: Entangled): PedigreeError {
  const field = '/after';
  if ('tooMany' in entangled) {
    const why =
      `more than ${entangled.tooMany} commands come before it and more than ${entangled.tooMany} after it: whether ` +
      'it would wait for itself cannot be told';
    return new PedigreeError('invalid_command', `${field}: ${why}`, { field });
  }
  const { cycle } = entangled;
  const isLong = cycle.length > 2 * NAMED_OF_CYCLE;
  const named = isLong ? [...cycle.slice(0, NAMED_OF_CYCLE), '...', ...cycle.slice(-NAMED_OF_CYCLE)] : cycle;
  const over = isLong ? `, over ${cycle.length - 1} commands` : '';
  return new PedigreeError(
    'invalid_command',
    `${field}: the command would wait for itself${over}: ${named.join(' after ')}`,
    { field, item: cycle[1] as string },
  );
}

const rowOf = (
  body: CommandBody,
  of: Pick<CommandRow, 'requestId' | 'account' | 'documentSha256' | 'kind'>,
): CommandRow => ({
  commandId: body.command_id,
  bodySha256: bodySha256Of(body),
  after: [...new Set(body.after)],
  ...of,
});

const runCommandTask = ({ row, work, actor, reason }: Checked): PlannedTask<'run_command'> => ({
  key: `run_command:${row.requestId}`,
  kind: 'run_command',
  lane: INTAKE_LANE,
  dueAt: new Date(0),
  payload: { ...work, actor, ...defined({ reason }) },
});
