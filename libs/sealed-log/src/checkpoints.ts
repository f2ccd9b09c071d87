import type { Hash } from '#merkle';
import type { Queryable } from '#postgres';

export interface StoredCheckpoint {
  size: number;
  root: Hash;
  note: string;
  signedAt: Date;
}

const COLUMNS =
  'SELECT size, root, note, signed_at FROM audit_checkpoint WHERE breaks = (SELECT count(*) FROM audit_break)';

/** The newest of the tree that is being sealed: since the last break of the log. */
export async function newestCheckpoint(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const { rows } = await db.query<CheckpointRow>(`${COLUMNS} ORDER BY size DESC LIMIT 1`);
  return rows.map(storedCheckpoint)[0];
}

/** The one of this size, of the same tree. */
export async function checkpointOf(db: Queryable, size: number): Promise<StoredCheckpoint | undefined> {
  const { rows } = await db.query<CheckpointRow>(`${COLUMNS} AND size = $1`, [size]);
  return rows.map(storedCheckpoint)[0];
}

/** Its row. */
export interface CheckpointRow {
  size: bigint;
  root: Buffer;
  note: string;
  signed_at: Date;
}

export const storedCheckpoint = ({ size, root, note, signed_at: signedAt }: CheckpointRow): StoredCheckpoint => ({
  size: Number(size),
  root,
  note,
  signedAt,
});
