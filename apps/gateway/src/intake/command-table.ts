import type { Registration } from '#domain';
import type { Actor } from '#event-store';
import type { Queryable, Transaction } from '#postgres';
import { circlesIn, type Ordered } from './circles.js';

/** A command that passed every check which needs no other command. */
export interface Checked {
  registration: Registration;
  bodySha256: string;
  actor: Actor;
}

/** What became of a command at the table; `circle`: it would wait for itself, over these commands. */
export type Taken = 'new' | 'repeated' | 'conflict' | { circle: string[] };

/** A command as it was acknowledged. */
export interface AcknowledgedCommand {
  commandId: string;
  requestId: string;
  account: string;
  documentSha256: string;
  receivedAt: Date;
}

/** Most stored commands that are read, beyond those that the batch itself names, to find who waits for whom. */
const MOST_WALKED = 1_000;

/** Stores what is new of a batch, in its order, and says of each command what it was. */
export async function storeCommands(tx: Transaction, batch: Checked[]): Promise<Taken[]> {
  const circles = await circlesOf(tx, batch.map(({ registration }) => ({ commandId: registration.commandId, after: registration.after.map((one) => one.commandId) })));
  const sound = batch.filter((_, i) => circles[i] === undefined);
  const taken = await insertCommands(tx, sound);
  const takenBy = new Map(sound.map((one, i) => [one, taken[i] as Taken]));
  return batch.map((one, i) => takenBy.get(one) ?? { circle: circles[i] as string[] });
}

async function circlesOf(tx: Transaction, batch: Ordered[]): Promise<(string[] | undefined)[]> {
  const named = [...new Set(batch.flatMap((one) => one.after))];
  if (named.length === 0) return [];
  const { rows } = await tx.query<{ command_id: string; after_commands: string[] }>({
    name: 'walk-commands',
    // The limit stands right on the recursion, which is worked off only as far as it is asked for.
    text: `WITH RECURSIVE walk (command_id) AS (
             SELECT unnest($1::text[]) COLLATE "C"
             UNION
             SELECT earlier.command_id COLLATE "C" FROM walk JOIN command USING (command_id), jsonb_array_elements_text(after_commands) AS earlier (command_id)
           ), reached AS MATERIALIZED (SELECT command_id FROM walk LIMIT $2)
           SELECT command_id, after_commands FROM reached JOIN command USING (command_id)`,
    values: [named, named.length + MOST_WALKED],
  });
  return circlesIn(batch, new Map(rows.map((row) => [row.command_id, row.after_commands])));
}

async function insertCommands(tx: Transaction, batch: Checked[]): Promise<Taken[]> {
  // Within one batch the first of two equal ids counts; rows go in sorted, so that two batches cannot wait for each other.
  const firstOf = new Map<string, Checked>();
  for (const one of batch) if (!firstOf.has(one.registration.commandId)) firstOf.set(one.registration.commandId, one);
  const rows = [...firstOf.values()].sort((a, b) => (a.registration.commandId < b.registration.commandId ? -1 : 1));
  const inserted = await tx.query<{ command_id: string }>({
    name: 'insert-commands',
    text: `INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor, after_commands)
           SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::text[], $6::jsonb[], $7::jsonb[])
           ON CONFLICT (command_id) DO NOTHING RETURNING command_id`,
    values: [
      rows.map((row) => row.registration.commandId),
      rows.map((row) => row.registration.requestId),
      rows.map((row) => Buffer.from(row.bodySha256, 'hex')),
      rows.map((row) => Buffer.from(row.registration.documentSha256, 'hex')),
      rows.map((row) => row.registration.account),
      rows.map((row) => JSON.stringify(row.actor)),
      rows.map((row) => JSON.stringify(row.registration.after.map((one) => one.commandId))),
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

/** The command of this id, or that of this request_id. */
export async function findCommand(db: Queryable, by: { commandId: string } | { requestId: string }): Promise<AcknowledgedCommand | undefined> {
  const [column, value] = 'commandId' in by ? ['command_id', by.commandId] : ['request_id', by.requestId];
  const { rows } = await db.query<AcknowledgedCommand>(
    `SELECT command_id AS "commandId", request_id AS "requestId", account, encode(document_sha256, 'hex') AS "documentSha256", received_at AS "receivedAt"
     FROM command WHERE ${column} = $1`,
    [value],
  );
  return rows[0];
}

/** Which of these request_ids belong to commands that were acknowledged, run or not. */
export async function acknowledgedAmong(db: Queryable, requestIds: string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ request_id: string }>('SELECT request_id FROM command WHERE request_id = ANY($1::uuid[])', [requestIds]);
  return new Set(rows.map((row) => row.request_id));
}
