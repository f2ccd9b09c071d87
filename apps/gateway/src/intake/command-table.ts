import type { GroupKind, GroupRegistration, Registration } from '#domain';
import type { Actor } from '#event-store';
import { PedigreeError } from '#kernel';
import type { Queryable, Transaction } from '#postgres';
import { entangledIn, type Entangled } from './cycles.js';

/** A command as the table keeps it. */
export interface CommandRow {
  commandId: string;
  /** The id of its document, or of its group. */
  requestId: string;
  account: string;
  /** SHA-256 of the canonical body. */
  bodySha256: string;
  /** Of the document as it was given; a group has none, and keeps the digest of its body there. */
  documentSha256: string;
  after: string[];
  kind: CommandKind;
  /** The document that is sent again by it. */
  resendOf?: string;
}

export type CommandKind = 'document' | 'group' | 'split' | 'resumption' | 'member';

/** How the table calls a group of each kind. */
export const KIND_OF_GROUP: Record<GroupKind, CommandKind> = {
  given: 'group',
  split: 'split',
  resumption: 'resumption',
};

/** A command that passed every check which needs no other command: the row, and the work that its task is given. */
export interface Checked {
  row: CommandRow;
  actor: Actor;
  work: { registration: Registration } | { group: GroupRegistration };
  /** Where a person said why. */
  reason?: string;
  /** Members of a group that have a command id of their own, and where each was given. */
  members?: { row: CommandRow; field: string }[];
}

/** What became of a command at the table. */
export type Taken = 'new' | 'repeated' | 'conflict' | Entangled;

/** The same, of one command of a batch: what kept it from being stored, where something did. */
export type Stored = Taken | { failed: unknown };

/** A command as it was acknowledged. */
export interface AcknowledgedCommand {
  commandId: string;
  requestId: string;
  account: string;
  documentSha256: string;
  kind: CommandKind;
  receivedAt: Date;
}

/** A batch in which each command must be looked at by itself. */
export class TooManyTogether extends Error {}

/**
 * Stores what is new of a batch, in its order, and says of each command what it was. @throws TooManyTogether: nothing
 * was stored.
 */
export async function storeCommands(tx: Transaction, batch: Checked[]): Promise<Taken[]> {
  const entangled = await entangledIn(
    tx,
    batch.map(({ row }) => row),
  );
  // What one of them comes after, and what comes after it, may be too many for all.
  if (batch.length > 1 && entangled.some((one) => one !== undefined && 'tooMany' in one)) throw new TooManyTogether();
  const sound = batch.filter((_, i) => entangled[i] === undefined);
  const taken = await insertCommands(tx, sound);
  const takenBy = new Map(sound.map((one, i) => [one, taken[i] as Taken]));
  return batch.map((one, i) => takenBy.get(one) ?? (entangled[i] as Entangled));
}

async function insertCommands(tx: Transaction, batch: Checked[]): Promise<Taken[]> {
  // Within one batch the first of two equal ids counts; rows go in sorted, so that two batches cannot wait for each
  // other.
  const firstOf = new Map<string, Checked>();
  for (const one of batch) if (!firstOf.has(one.row.commandId)) firstOf.set(one.row.commandId, one);
  const fresh = await insertRows(tx, [...firstOf.values()]);
  const others = batch.filter((one) => !fresh.has(one.row.commandId) || firstOf.get(one.row.commandId) !== one);
  if (others.length === 0) return batch.map(() => 'new');
  const digests = await storedDigests(
    tx,
    others.map((one) => one.row.commandId),
  );
  return batch.map((one) => {
    const { commandId, bodySha256 } = one.row;
    if (fresh.has(commandId) && firstOf.get(commandId) === one) return 'new';
    return digests.get(commandId) === bodySha256 ? 'repeated' : 'conflict';
  });
}

/** The ids that were new. */
async function insertRows(tx: Transaction, commands: Pick<Checked, 'row' | 'actor'>[]): Promise<Set<string>> {
  const sorted = [...commands].sort((a, b) => (a.row.commandId < b.row.commandId ? -1 : 1));
  const rows = sorted.map((one) => one.row);
  const inserted = await tx.query<{ command_id: string }>({
    name: 'insert-commands',
    text: `INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor, after_commands,
        kind, resend_of)
           SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::text[], $6::jsonb[],
             $7::jsonb[], $8::text[], $9::uuid[])
           ON CONFLICT (command_id) DO NOTHING RETURNING command_id`,
    values: [
      rows.map((row) => row.commandId),
      rows.map((row) => row.requestId),
      rows.map((row) => Buffer.from(row.bodySha256, 'hex')),
      rows.map((row) => Buffer.from(row.documentSha256, 'hex')),
      rows.map((row) => row.account),
      sorted.map((one) => JSON.stringify(one.actor)),
      rows.map((row) => JSON.stringify(row.after)),
      rows.map((row) => row.kind),
      rows.map((row) => row.resendOf ?? null),
    ],
  });
  return new Set(inserted.rows.map((row) => row.command_id));
}

async function storedDigests(tx: Transaction, commandIds: string[]): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ command_id: string; body_sha256: Buffer }>(
    `SELECT command_id, body_sha256 FROM command WHERE command_id = ANY($1)`,
    [commandIds],
  );
  return new Map(rows.map((row) => [row.command_id, row.body_sha256.toString('hex')]));
}

/**
 * Stores a group with its members, whole or not at all: an id of a member that was used before is a conflict of the
 * whole. A resumption takes the one right to resume its group with it. Throws PedigreeError, and the caller's
 * transaction with it, where that is gone or an id was used.
 */
export async function storeGroup(tx: Transaction, group: Checked): Promise<Taken> {
  const members = group.members ?? [];
  // A group may also wait for itself by way of one of its members.
  const entangled = (await entangledIn(tx, [group.row, ...members.map((one) => one.row)])).find(
    (one) => one !== undefined,
  );
  if (entangled !== undefined) return entangled;
  const fresh = await insertRows(tx, [group, ...members.map(({ row }) => ({ row, actor: group.actor }))]);
  const { commandId, bodySha256 } = group.row;
  if (!fresh.has(commandId)) {
    if (fresh.size > 0) throw conflictOf(commandId, '/command_id');
    return (await storedDigests(tx, [commandId])).get(commandId) === bodySha256 ? 'repeated' : 'conflict';
  }
  const used = members.find(({ row }) => !fresh.has(row.commandId));
  if (used !== undefined) throw conflictOf(used.row.commandId, used.field);
  if ('group' in group.work && group.work.group.resumes !== undefined)
    await claimResumption(tx, group.work.group.resumes, commandId);
  return 'new';
}

async function claimResumption(
  tx: Transaction,
  halted: { groupId: string; commandId: string },
  commandId: string,
): Promise<void> {
  const { rows } = await tx.query(
    'INSERT INTO group_resumption (group_id, command_id) VALUES ($1, $2) ON CONFLICT (group_id) DO NOTHING ' +
      'RETURNING group_id',
    [halted.groupId, commandId],
  );
  if (rows.length > 0) return;
  const { rows: taken } = await tx.query<{ command_id: string }>(
    'SELECT command_id FROM group_resumption WHERE group_id = $1',
    [halted.groupId],
  );
  throw new PedigreeError(
    'group_not_resumable',
    `group ${halted.commandId} was resumed before, by command ${taken[0]?.command_id}`,
    { item: halted.commandId },
  );
}

export const conflictOf = (commandId: string, field: string): PedigreeError =>
  new PedigreeError(
    'command_conflict',
    `command ${commandId} was acknowledged before with other content; nothing was changed`,
    { field, item: commandId },
  );

/** The command of this id, or that of this request_id. */
export async function findCommand(
  db: Queryable,
  by: { commandId: string } | { requestId: string },
): Promise<AcknowledgedCommand | undefined> {
  const [column, value] = 'commandId' in by ? ['command_id', by.commandId] : ['request_id', by.requestId];
  const { rows } = await db.query<AcknowledgedCommand>(
    `SELECT command_id AS "commandId", request_id AS "requestId", account, encode(document_sha256,
        'hex') AS "documentSha256", kind, received_at AS "receivedAt"
     FROM command WHERE ${column} = $1`,
    [value],
  );
  return rows[0];
}

/** The command of this id, where it has this content. */
export async function findRepeated(
  db: Queryable,
  { commandId, bodySha256 }: { commandId: string; bodySha256: string },
): Promise<Pick<CommandRow, 'requestId' | 'kind'> | undefined> {
  const { rows } = await db.query<Pick<CommandRow, 'requestId' | 'kind'>>(
    'SELECT request_id AS "requestId", kind FROM command WHERE command_id = $1 AND body_sha256 = $2',
    [commandId, Buffer.from(bodySha256, 'hex')],
  );
  return rows[0];
}

/** The command by which this document was sent again. */
export async function findResend(
  db: Queryable,
  requestId: string,
): Promise<{ commandId: string; requestId: string } | undefined> {
  const { rows } = await db.query<{ commandId: string; requestId: string }>(
    'SELECT command_id AS "commandId", request_id AS "requestId" FROM command WHERE resend_of = $1',
    [requestId],
  );
  return rows[0];
}

/** Which of these request_ids belong to commands that were acknowledged, run or not. */
export async function acknowledgedAmong(db: Queryable, requestIds: string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ request_id: string }>(
    'SELECT request_id FROM command WHERE request_id = ANY($1::uuid[])',
    [requestIds],
  );
  return new Set(rows.map((row) => row.request_id));
}
