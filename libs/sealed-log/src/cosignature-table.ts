import { cosignaturesIn, type Cosignature, type NoteVerifier } from '#merkle';
import type { Queryable } from '#postgres';
import { storedCheckpoint, type CheckpointRow, type StoredCheckpoint } from './checkpoints.js';

const THIS_TREE = 'breaks = (SELECT count(*) FROM audit_break)';
/** So many of the newest checkpoints are looked at for the one that most witnesses have seen. */
const CHECKPOINTS_LOOKED_AT = 1_000;
const OLDEST_LOOKED_AT = `(
  SELECT min(size) FROM (
    SELECT size FROM audit_checkpoint WHERE ${THIS_TREE} ORDER BY size DESC LIMIT ${CHECKPOINTS_LOOKED_AT}) AS newest)`;
const MOST_WITNESSES = 15;
/** Where somebody put in more, the first of them tell it. */
const MOST_COSIGNATURES = CHECKPOINTS_LOOKED_AT * MOST_WITNESSES;

/** Keeps what a witness said of a checkpoint. The caller has checked it; a row that was there says it anew. */
export async function keepCosignature(
  db: Queryable,
  { breaks, size }: { breaks: number; size: number },
  { witness, line, at }: Cosignature,
): Promise<void> {
  await db.query(
    'INSERT INTO audit_cosignature (breaks, size, witness, line, cosigned_at) VALUES ($1, $2, $3, $4, $5) ' +
      'ON CONFLICT (breaks, size, witness) DO UPDATE SET line = excluded.line, cosigned_at = excluded.cosigned_at',
    [breaks, size, witness, line, at],
  );
}

/**
 * The newest size of the present tree that a witness has cosigned; 0 where none. A row is believed by its signature
 * alone: whoever can write the table could silence the asking otherwise.
 */
export async function cosignedSize(db: Queryable, witness: NoteVerifier): Promise<number> {
  const { rows } = await db.query<{ size: bigint; note: string; line: string }>(
    `SELECT size, note, line FROM audit_cosignature JOIN audit_checkpoint USING (breaks, size)
     WHERE ${THIS_TREE} AND witness = $1 ORDER BY size DESC LIMIT 1`,
    [witness.name],
  );
  const [newest] = rows;
  return newest !== undefined && hasCosigned(newest, witness) ? Number(newest.size) : 0;
}

function hasCosigned({ note, line }: { note: string; line: string }, witness: NoteVerifier): boolean {
  try {
    return cosignaturesIn(`${note}${line}`, [witness]).length > 0;
  } catch {
    return false;
  }
}

/** When the first checkpoint above this size was signed, in the present tree. */
export async function signedSince(db: Queryable, size: number): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    `SELECT signed_at AS at FROM audit_checkpoint WHERE ${THIS_TREE} AND size > $1 ORDER BY size LIMIT 1`,
    [size],
  );
  return rows[0]?.at ?? undefined;
}

/** The checkpoint with what witnesses said of it, as it is published (C2SP tlog-checkpoint, Signatures). */
export async function cosignedNote(db: Queryable, { size, note }: StoredCheckpoint): Promise<string> {
  const { rows } = await db.query<{ line: string }>(
    `SELECT line FROM audit_cosignature WHERE ${THIS_TREE} AND size = $1 ORDER BY cosigned_at, witness
     LIMIT ${MOST_WITNESSES}`,
    [size],
  );
  return [note, ...rows.map(({ line }) => line)].join('');
}

/** A checkpoint with the lines of the witnesses that have seen it, as `cosignedNote` has them. */
interface SeenCheckpoint {
  checkpoint: StoredCheckpoint;
  cosignatures: string;
}

const SEEN = `SELECT n, checkpoint.size, root, note, signed_at, array_to_string(lines[1:${MOST_WITNESSES}], '') AS lines
  FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (leaves, n)
  CROSS JOIN LATERAL (
    SELECT size, array_agg(line ORDER BY cosigned_at, witness) AS lines FROM audit_cosignature
    WHERE ${THIS_TREE} AND size >= greatest(asked.leaves, ${OLDEST_LOOKED_AT})
    GROUP BY size ORDER BY count(*) DESC, size DESC LIMIT 1
  ) AS seen
  JOIN audit_checkpoint AS checkpoint ON checkpoint.size = seen.size AND checkpoint.${THIS_TREE}`;

/**
 * For each of these numbers of leaves the checkpoint, among the newest that cover so many, that most witnesses have
 * seen; of those the newest. Undefined where no witness has seen any.
 */
export async function checkpointsSeen(db: Queryable, leaves: number[]): Promise<(SeenCheckpoint | undefined)[]> {
  const { rows } = await db.query<CheckpointRow & { n: bigint; lines: string }>({
    name: 'audit-checkpoints-seen',
    text: SEEN,
    values: [leaves],
  });
  const seen = leaves.map((): SeenCheckpoint | undefined => undefined);
  for (const row of rows) seen[Number(row.n) - 1] = { checkpoint: storedCheckpoint(row), cosignatures: row.lines };
  return seen;
}

/** What a witness is said to have said, and the checkpoint that it stands under; null where there is none. */
export interface CosignatureRow {
  size: bigint;
  witness: string;
  line: string;
  note: string | null;
}

/** Those under the checkpoints that are looked at for proofs, in their order. */
export async function newestCosignatures(db: Queryable): Promise<CosignatureRow[]> {
  const { rows } = await db.query<CosignatureRow>(
    `SELECT size, witness, line, note FROM audit_cosignature LEFT JOIN audit_checkpoint USING (breaks, size)
     WHERE audit_cosignature.${THIS_TREE} AND size >= ${OLDEST_LOOKED_AT} ORDER BY size, witness
     LIMIT ${MOST_COSIGNATURES}`,
  );
  return rows;
}

/** The size of that checkpoint, for one number of leaves. */
export const mostWitnessedSize = async (db: Queryable, leaves: number): Promise<number | undefined> =>
  (await checkpointsSeen(db, [leaves]))[0]?.checkpoint.size;
