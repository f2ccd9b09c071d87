import {
  checkpointText,
  hashesInTiles,
  openNote,
  parseCheckpoint,
  parseVerifierKey,
  rootOf,
  signNote,
  verifierKeyOf,
  type NoteSigner,
} from '#merkle';
import type { Pool, Queryable } from '#postgres';
import { sealedSize } from './seal.js';
import { tilesIn } from './tile-table.js';

export interface StoredCheckpoint {
  size: number;
  note: string;
  signedAt: Date;
}

/**
 * Signs the tree as it stands, where it has grown since the newest checkpoint. Before that the newest checkpoint is
 * held against the tree: a log that no longer begins with what was signed is not signed again, it is an alarm (RFC
 * 6962, 2.1.2). Returns the new checkpoint, or undefined.
 */
export async function signCheckpoint(
  pool: Pool,
  signer: NoteSigner,
  trusted: string[] = [],
): Promise<StoredCheckpoint | undefined> {
  const size = await sealedSize(pool);
  const newest = await newestCheckpoint(pool);
  const read = hashesInTiles(tilesIn(pool));
  if (newest !== undefined) {
    const signed = parseCheckpoint(openedByOneOf(newest.note, [verifierKeyOf(signer), ...trusted]));
    if (size < signed.size || !(await rootOf(signed.size, read)).equals(signed.root)) {
      throw new Error(
        `the Merkle log does not begin with its checkpoint of ${signed.size} events: it was changed after it was ` +
          'signed',
      );
    }
    if (size === signed.size) return undefined;
  }
  if (size === 0) return undefined;
  const root = await rootOf(size, read);
  const note = signNote(checkpointText({ origin: signer.name, size, root }), signer);
  // Another auditor may have signed the same size: the same tree, and the first note stays.
  await pool.query(
    'INSERT INTO audit_checkpoint (size, root, note) VALUES ($1, $2, $3) ON CONFLICT (size) DO NOTHING',
    [size, root, note],
  );
  return newestCheckpoint(pool);
}

/** The text of a note that one of the keys has signed. Throws what the first of them says when none has. */
function openedByOneOf(note: string, keys: string[]): string {
  const refusals: unknown[] = [];
  for (const key of keys) {
    try {
      return openNote(note, parseVerifierKey(key));
    } catch (error) {
      refusals.push(error);
    }
  }
  throw refusals[0];
}

export async function newestCheckpoint(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const { rows } = await db.query<{ size: bigint; note: string; signed_at: Date }>(
    'SELECT size, note, signed_at FROM audit_checkpoint ORDER BY size DESC LIMIT 1',
  );
  const [row] = rows;
  return row === undefined ? undefined : { size: Number(row.size), note: row.note, signedAt: row.signed_at };
}
