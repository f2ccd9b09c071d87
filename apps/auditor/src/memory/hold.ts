import { readStoredStreams, storedHeads, type EventStore } from '#event-store';
import { defined } from '#kernel';
import {
  checkConsistency,
  hashesIn,
  hashesInTiles,
  leavesInTiles,
  proveConsistency,
  rootOf,
  TileTooNarrow,
  type Checkpoint,
  type Hash,
} from '#merkle';
import { inTransaction, type Pool, type Queryable } from '#postgres';
import { type LogBreak, type LogKeys, openBreaks } from '#proofs';
import { checkpointPosition } from '#subscriptions';
import {
  breakNotes,
  checkpointOf,
  Contradiction,
  newestCheckpoint,
  newestPage,
  pageOfLeaf,
  sealedSize,
  signedLeaves,
  type StoredCheckpoint,
  tilesIn,
} from '#sealed-log';
import { readLeaves } from '../sweep/read-leaves.js';
import type { Memory } from './folder.js';

/** Name of the subscription, as `GET /v1/operations` shows it. */
export const AUDITOR_SUBSCRIPTION = 'auditor';

interface Holding {
  pool: Pool;
  store: Pick<EventStore, 'readAll' | 'positionUnit'>;
  keys: LogKeys;
}

/** What was held against the log, and agrees with it. */
export interface Held {
  /** What is to be remembered from now on: breaks that were told since, a newer checkpoint of another auditor. */
  memory: Memory;
  /** The checkpoint in it. */
  remembered: Checkpoint | undefined;
  breaks: LogBreak[];
  /** Leaves that were there: the newest of them were held too. */
  size: number;
  /** It was written to the folder, and a crash came before it was published. */
  isUnpublished: boolean;
}

/**
 * Holds the log and the auditor's tables against what is remembered outside the database. The cost does not grow with
 * the log: a proof of consistency, the newest events, a few rows. What of older events was changed, with the tree left
 * as it is, is found by reading the log, and not here. Throws Contradiction.
 */
export async function hold(holding: Holding, memory: Memory): Promise<Held> {
  const { held, newest } = await inTransaction(holding.pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const found = await holdTables(tx, holding.keys, memory);
    await holdCursor(tx, holding, toldHead(found.breaks));
    return { held: found, newest: await newestLeaves(tx, found) };
  });
  if (newest !== undefined) await holdEvents(holding, newest);
  return held;
}

/** Up to this position gaps of the log were told by a person. */
export const toldHead = (breaks: LogBreak[]): bigint => breaks.at(-1)?.logHead ?? 0n;

async function holdTables(tx: Queryable, keys: LogKeys, memory: Memory): Promise<Held> {
  const notes = await breakNotes(tx);
  const breaks = knownBreaks(keys, memory, notes);
  // A break that was told since begins another tree, of which nothing is signed yet.
  const known: Memory = notes.length > memory.breaks.length ? { breaks: notes } : memory;
  const remembered = rememberedCheckpoint(keys, known);
  const size = await sealedSize(tx);
  await holdTree(tx, remembered, size);
  const newest = await newestCheckpoint(tx);
  const isNewer = newest !== undefined && newest.size > (remembered?.size ?? 0);
  if (!isNewer)
    return {
      memory: known,
      remembered,
      breaks,
      size,
      isUnpublished: await isUnpublished(tx, keys, { known, remembered, newest }),
    };
  const published = publishedBy(keys, newest, breaks.length);
  await holdPublished(tx, { remembered, published, size });
  return {
    memory: { checkpoint: newest.note, ...defined({ previous: known.checkpoint }), breaks: notes },
    remembered: published,
    breaks,
    size,
    isUnpublished: false,
  };
}

/** Breaks are believed by their signature; those that are remembered must still be there. */
function knownBreaks(keys: LogKeys, memory: Memory, notes: string[]): LogBreak[] {
  const lost = memory.breaks.findIndex((note, i) => note !== notes[i]);
  if (lost >= 0)
    throw new Contradiction(
      `break ${lost + 1} of the log, of which the auditor knows, is not in the table audit_break`,
    );
  try {
    return openBreaks(notes, (note) => keys.openBreak(note));
  } catch (error) {
    throw new Contradiction(`a break of the log in the table audit_break does not hold: ${(error as Error).message}`);
  }
}

/** The checkpoint that is remembered, signed by a key that this auditor knows. */
export function rememberedCheckpoint(keys: LogKeys, { checkpoint, breaks }: Memory): Checkpoint | undefined {
  if (checkpoint === undefined) return undefined;
  try {
    return keys.openCheckpoint(checkpoint, breaks.length);
  } catch (error) {
    throw new Contradiction(
      `what the auditor remembers is signed by no key that it knows (AUDIT_PREVIOUS_KEYS): ${(error as Error).message}`,
    );
  }
}

/** The tree begins with what is remembered. */
export async function holdTree(db: Queryable, remembered: Checkpoint | undefined, size: number): Promise<void> {
  if (remembered === undefined) return;
  if (size < remembered.size)
    throw new Contradiction(
      `the Merkle log has ${size} leaves, and the auditor has signed ${remembered.size}: it was made smaller or reset`,
      size,
    );
  const root = await ofTiles(() => rootOf(remembered.size, hashesInTiles(tilesIn(db))));
  if (!root.equals(remembered.root))
    throw new Contradiction(
      `the Merkle log does not begin with its checkpoint of ${remembered.size} events: it was changed after it was ` +
        'signed',
    );
}

function publishedBy(keys: LogKeys, { note, size, root }: StoredCheckpoint, breaks: number): Checkpoint {
  try {
    const checkpoint = keys.openCheckpoint(note, breaks);
    if (checkpoint.size === size && checkpoint.root.equals(root)) return checkpoint;
  } catch (error) {
    throw new Contradiction(
      `the checkpoint of ${size} events in the table audit_checkpoint is signed by no key that the auditor knows ` +
        `(AUDIT_PREVIOUS_KEYS): ${(error as Error).message}`,
    );
  }
  throw new Contradiction(`the checkpoint of ${size} events in the table audit_checkpoint was changed`);
}

interface Published {
  remembered: Checkpoint | undefined;
  published: Checkpoint;
  size: number;
}

/** A checkpoint that another auditor signed follows from what is remembered here, by a proof that is checked. */
async function holdPublished(db: Queryable, { remembered, published, size }: Published): Promise<void> {
  await holdTree(db, published, size);
  if (remembered === undefined) return;
  const claim = {
    from: remembered.size,
    fromRoot: remembered.root,
    to: published.size,
    toRoot: published.root,
    path: await ofTiles(() => proveConsistency(remembered.size, published.size, hashesInTiles(tilesIn(db)))),
  };
  if (!checkConsistency(claim))
    throw new Contradiction(
      `the checkpoint of ${published.size} events does not begin with the one of ${remembered.size} events that the ` +
        'auditor remembers',
    );
}

interface Remembering {
  known: Memory;
  remembered: Checkpoint | undefined;
  newest?: StoredCheckpoint | undefined;
}

/**
 * Whether what is remembered still has to be published, after a crash: another auditor may have published an earlier
 * one meanwhile. Where the one before is missing too, rows were taken away.
 */
async function isUnpublished(
  tx: Queryable,
  keys: LogKeys,
  { known, remembered, newest }: Remembering,
): Promise<boolean> {
  if (remembered === undefined) return false;
  const breaks = known.breaks.length;
  const row = await checkpointOf(tx, remembered.size);
  if (row !== undefined) {
    if (publishedBy(keys, row, breaks).root.equals(remembered.root)) return false;
    throw new Contradiction(`the checkpoint of ${row.size} events in the table audit_checkpoint was changed`);
  }
  const before = rememberedCheckpoint(keys, { ...defined({ checkpoint: known.previous }), breaks: known.breaks });
  if ((newest?.size ?? 0) < (before?.size ?? 0))
    throw new Contradiction(
      `the checkpoint of ${remembered.size} events, which was published, is not in the table audit_checkpoint`,
    );
  if (newest !== undefined) await holdTree(tx, publishedBy(keys, newest, breaks), remembered.size);
  return true;
}

/** The cursor stands at the end of the newest page, and the log goes on behind it without a gap. */
async function holdCursor(tx: Queryable, { store }: Holding, told: bigint): Promise<void> {
  const [size, page] = [await sealedSize(tx), await newestPage(tx)];
  const leaves = page === undefined ? 0 : page.firstLeaf + page.leaves;
  if (leaves !== size)
    throw new Contradiction(`the table audit_page ends at leaf ${leaves}, and the Merkle log has ${size}`, leaves);
  const cursor = await checkpointPosition(tx, AUDITOR_SUBSCRIPTION);
  const end = page?.lastPosition ?? 0n;
  // On a server the cursor passes the server's own events too.
  if (store.positionUnit === 'event' ? cursor !== end : cursor < end)
    throw new Contradiction(
      `the cursor of the auditor is at position ${cursor}, and its newest leaf at ${end}`,
      leaves,
    );
  if (store.positionUnit === 'event') {
    refuseGap({ end, next: await nextPosition(tx, end), leaf: size, told });
  }
}

/** Of the next event; what it says is not read, so that one that is no JSON hides nothing before it. */
async function nextPosition(tx: Queryable, end: bigint): Promise<bigint> {
  const [next] = await readStoredStreams(tx, end, 1);
  if (next !== undefined) return next.position;
  const { counter } = await storedHeads(tx);
  return (counter > end ? counter : end) + 1n;
}

/** Positions of a log in PostgreSQL have no gap: one is an event that was taken away. */
export function refuseGap({ end, next, leaf, told }: { end: bigint; next: bigint; leaf: number; told: bigint }): void {
  if (next === end + 1n || next <= told) return;
  const missing = next - 1n === end + 1n ? `position ${end + 1n}` : `positions ${end + 1n} to ${next - 1n}`;
  throw new Contradiction(`the log has no event at ${missing}: it was taken away before it was sealed`, leaf);
}

/** Leaves, and the position behind which the log has their events. */
interface NewestLeaves {
  first: number;
  after: bigint;
  hashes: Hash[];
}

/**
 * So many of the newest events are held against their leaves at least: also those before them in their page, whose
 * position is not known without reading it.
 */
export const NEWEST_LEAVES = 4_096;

/** Those under a signature are believed by it: who changes an event may have changed its leaf in the table too. */
async function newestLeaves(
  tx: Queryable,
  { size, remembered }: Pick<Held, 'size' | 'remembered'>,
): Promise<NewestLeaves | undefined> {
  if (size === 0) return undefined;
  const oldest = Math.max(0, size - NEWEST_LEAVES);
  const page = await pageOfLeaf(tx, oldest);
  if (page === undefined) throw new Contradiction(`no page has leaf ${oldest}: audit_page was changed`, oldest);
  const { firstLeaf: first, afterPosition: after } = page;
  const signed = Math.max(first, remembered?.size ?? 0);
  const read = tilesIn(tx);
  const parts = await ofTiles(async () => [
    ...(remembered === undefined || signed === first ? [] : [await signedLeaves(read, remembered, [first, signed])]),
    await leavesInTiles(read, signed, size),
  ]);
  return { first, after, hashes: parts.flatMap(hashesIn) };
}

/** The event of the newest leaf is there. Where positions have gaps it is left to the look. */
export async function holdNewest(
  tx: Queryable,
  on: Pick<Holding, 'pool' | 'store'>,
  { size, end }: { size: number; end: bigint },
): Promise<void> {
  if (size === 0 || end === 0n || on.store.positionUnit !== 'event') return;
  const hashes = hashesIn(await ofTiles(() => leavesInTiles(tilesIn(tx), size - 1, size)));
  await holdEvents(on, { first: size - 1, after: end - 1n, hashes });
}

/** What is in memory at a time. */
const EVENTS_AT_ONCE = 1_000;

/** The events behind the position are these leaves. Their bytes are held, so what is no JSON any more is told too. */
async function holdEvents(
  { pool, store }: Pick<Holding, 'pool' | 'store'>,
  { first, after, hashes }: NewestLeaves,
): Promise<void> {
  let [index, from] = [0, after];
  while (index < hashes.length) {
    const limit = Math.min(EVENTS_AT_ONCE, hashes.length - index);
    const events = await readLeaves({ pool, store }, { after: from, limit, forms: [2, 1] });
    if (events.length === 0)
      throw new Contradiction(`the log ends before the event of leaf ${first + index}, which is sealed`, first + index);
    for (const { position, hash, other, words } of events) {
      const leaf = hashes[index] as Hash;
      // No event has the same leaf as another in any form.
      if (!hash.equals(leaf) && other?.hash.equals(leaf) !== true)
        throw new Contradiction(`leaf ${first + index} is not the event that was sealed: ${words}`, first + index);
      index += 1;
      from = position;
    }
  }
}

/** A tile that lost hashes is a contradiction as any other. */
async function ofTiles<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TileTooNarrow) throw new Contradiction(`the table audit_tile was changed: ${error.message}`);
    throw error;
  }
}
