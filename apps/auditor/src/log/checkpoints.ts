import {
  checkConsistency,
  checkpointText,
  hashesInTiles,
  proveConsistency,
  rootOf,
  signNote,
  type Checkpoint,
  type Hash,
  type NoteSigner,
  type ReadHashes,
} from '#merkle';
import type { Pool, Queryable } from '#postgres';
import { LogKeys } from '#proofs';
import { breakCount, Contradiction, newestCheckpoint, sealedSize, tilesIn, type StoredCheckpoint } from '#sealed-log';

export interface SigningOptions {
  /** Verifier keys of earlier signing keys. */
  trusted?: string[];
  /** Keeps the note outside the database, on the disk when it resolves. Called before anybody else can read it. */
  remember?: (note: string, size: number) => Promise<void>;
  /** What is remembered there: the tree and the breaks that the new checkpoint must go on from. */
  goesOnFrom?: { checkpoint: Checkpoint | undefined; breaks: number };
}

/**
 * Signs the tree as it stands, where it has grown since the newest checkpoint. Before that the newest checkpoint is
 * held against the tree: a log that no longer begins with what was signed is not signed again, it is an alarm (RFC
 * 6962, 2.1.2). What is signed is proven to go on from `goesOnFrom`, by what was read for the signature itself: whoever
 * can write the tables may have waited until they were looked at. Returns the new checkpoint, or undefined.
 */
export async function signCheckpoint(
  pool: Pool,
  signer: NoteSigner,
  { trusted = [], remember = async () => undefined, goesOnFrom }: SigningOptions = {},
): Promise<StoredCheckpoint | undefined> {
  const breaks = await breakCount(pool);
  if (goesOnFrom !== undefined && goesOnFrom.breaks !== breaks)
    throw new Error('the breaks of the log in the database are others than a moment ago; they are looked at first');
  const size = await sealedSize(pool);
  const newest = await newestCheckpoint(pool);
  const keys = new LogKeys(signer, trusted);
  const read = hashesInTiles(tilesIn(pool));
  if (newest !== undefined) {
    const signed = keys.openCheckpoint(newest.note, breaks);
    if (size < signed.size || !(await rootOf(signed.size, read)).equals(signed.root))
      throw new Contradiction(
        `the Merkle log does not begin with its checkpoint of ${signed.size} events: it was changed after it was ` +
          'signed',
      );
    if (size === signed.size) return undefined;
  }
  if (size === 0) return undefined;
  const root = await rootOf(size, read);
  await holdGoesOn(goesOnFrom?.checkpoint, { size, root }, read);
  const signerNow = keys.signerAfter(breaks);
  const note = signNote(checkpointText({ origin: signerNow.name, size, root }), signerNow);
  await remember(note, size);
  await publish(pool, { breaks, size, root, note });
  return newestCheckpoint(pool);
}

/** The path may come from anywhere: both roots are known. */
async function holdGoesOn(
  before: Checkpoint | undefined,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  read: ReadHashes,
): Promise<void> {
  if (before === undefined) return;
  const path = before.size > size ? [] : await proveConsistency(before.size, size, read);
  if (!checkConsistency({ from: before.size, fromRoot: before.root, to: size, toRoot: root, path }))
    throw new Contradiction(
      `the Merkle log of ${size} events does not begin with the ${before.size} events that the auditor has signed`,
    );
}

/** Another auditor may have signed the same size: the same tree, and the first note stays. */
export async function publish(
  db: Queryable,
  { breaks, size, root, note }: { breaks: number; size: number; root: Hash; note: string },
): Promise<void> {
  await db.query(
    'INSERT INTO audit_checkpoint (breaks, size, root, note) VALUES ($1, $2, $3, $4) ON CONFLICT (breaks, size) DO ' +
      'NOTHING',
    [breaks, size, root, note],
  );
}
