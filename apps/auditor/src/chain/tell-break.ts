import { newEvent, SOFTWARE_VERSION, type Actor, type EventStore } from '#event-store';
import { defined, PedigreeError, uuid5 } from '#kernel';
import { inTransaction, installationId, type Pool } from '#postgres';
import { type LogBreak, type LogKeys, NOTHING_SIGNED, openBreaks, originAfter, signBreak } from '#proofs';
import { dropCheckpoint } from '#subscriptions';
import { breakNotes, Contradiction, keepBreaks } from '#sealed-log';
import { differenceWords, firstDifference } from '../memory/first-difference.js';
import type { AuditorFolder, Memory } from '../memory/folder.js';
import { AUDITOR_SUBSCRIPTION, hold, rememberedCheckpoint } from '../memory/hold.js';
import { TreeWalk } from '../sweep/tree-walk.js';

const LEAVES_AT_ONCE = 65_536;

export interface TellBreakOptions {
  pool: Pool;
  store: EventStore;
  folder: AuditorFolder;
  keys: LogKeys;
  /** Who tells it, and why: both are signed. */
  actor: Actor;
  reason: string;
  now: Date;
  participant: string;
  profile: string;
  progress?: (leaves: number, of: number) => void;
}

/** What was told, and what it was that did not agree. */
export interface ToldBreak {
  broken: LogBreak;
  contradiction: string;
  difference: string | undefined;
}

/**
 * A person tells the auditor that the log does not go on from what was signed: after a restore, a move, or what could
 * not be undone. Signs a note of that, and has the log sealed anew from its first event, under a name that tells the
 * number of breaks. The order: the event that tells who and why; then, in one transaction, the note and the empty tree.
 * Auditors take the note up by its signature. Undefined, and nothing done, where the log goes on from what was signed:
 * every event is read to see that. Throws PedigreeError `unavailable` where that cannot be told.
 */
export async function tellBreak(options: TellBreakOptions): Promise<ToldBreak | undefined> {
  const { pool, store, folder, keys, progress } = options;
  const memory = await toldMemory(options, folder.read());
  const atOnce = await contradictionIn(options, memory);
  const signed = atOnce === undefined ? await heldLeaves(folder, keys, memory) : undefined;
  if (signed === 0) return undefined;
  const difference = await firstDifference(store, folder.leaves, defined({ progress, most: signed }));
  if (atOnce === undefined && difference === undefined) return undefined;
  const contradiction = atOnce ?? OLDER_EVENT;
  const broken = await breakOf(options, memory, difference?.leaf);
  const note = signBreak(broken, memory.breaks.at(-1), keys.breakSigner);
  await recordBreak(options, { broken, contradiction, note });
  const notes = [...memory.breaks, note];
  await inTransaction(pool, async (tx) => {
    // First, as whoever seals does it: the other way round each would wait for the other.
    await dropCheckpoint(tx, AUDITOR_SUBSCRIPTION);
    // A restored database has forgotten those that were told since; one that was tampered with may have others.
    await keepBreaks(
      tx,
      notes,
      openBreaks(notes, (one) => keys.openBreak(one)),
    );
    await tx.query('TRUNCATE audit_tree, audit_tile, audit_page, audit_count, audit_count_bucket');
  });
  return { broken, contradiction, difference: difference === undefined ? undefined : differenceWords(difference) };
}

/** What no look at the newest page notices, and a sweep does. */
const OLDER_EVENT = 'an older event is not what was signed, while the Merkle log has the leaf that was signed';

/**
 * How many leaves were signed; 0 for none. Throws PedigreeError `unavailable` where the first leaves in the folder are
 * not those: such a file says nothing of the log, neither that it differs nor that it does not. Leaves behind them say
 * nothing either: an auditor that goes on meanwhile, or was stopped at it, writes leaves before what it has signed.
 */
async function heldLeaves({ leaves }: AuditorFolder, keys: LogKeys, memory: Memory): Promise<number> {
  const remembered = rememberedCheckpoint(keys, memory);
  if (remembered === undefined) return 0;
  const walk = new TreeWalk();
  for (let read = 1; read > 0;) {
    const hashes = await leaves.read(walk.size, Math.min(LEAVES_AT_ONCE, remembered.size - walk.size));
    for (const leaf of hashes) walk.add(leaf);
    walk.takeFull();
    read = hashes.length;
  }
  if (walk.root().equals(remembered.root)) return remembered.size;
  throw new PedigreeError(
    'unavailable',
    'the file leaves in the folder of the auditor has not the leaves that were signed, so that nothing tells whether ' +
      'an older event differs. Put the folder back from its copy',
  );
}

/** What is remembered, with the breaks that were told beside another auditor since. */
async function toldMemory({ pool, keys }: TellBreakOptions, memory: Memory): Promise<Memory> {
  const notes = await breakNotes(pool);
  if (notes.length <= memory.breaks.length || memory.breaks.some((note, i) => note !== notes[i])) return memory;
  try {
    openBreaks(notes, (note) => keys.openBreak(note));
    return { breaks: notes };
  } catch {
    // Made up: the contradiction says so.
    return memory;
  }
}

/** What keeps the log from going on, if anything does. */
async function contradictionIn({ pool, store, keys }: TellBreakOptions, memory: Memory): Promise<string | undefined> {
  try {
    await hold({ pool, store, keys }, memory);
  } catch (error) {
    if (error instanceof Contradiction) return error.message;
    throw error;
  }
  return undefined;
}

async function breakOf(
  { store, keys, actor, reason, now }: TellBreakOptions,
  memory: Memory,
  differsAtLeaf: number | undefined,
): Promise<LogBreak> {
  const number = memory.breaks.length + 1;
  return {
    number,
    before: rememberedOrNothing(keys, memory),
    differsAtLeaf,
    logHead: await store.head(),
    nextOrigin: originAfter(keys.breakSigner.name, number),
    toldAt: now,
    toldBy: actor.name,
    reason,
  };
}

/** Where the key of then is lost too, nothing is known to be signed. */
function rememberedOrNothing(keys: LogKeys, memory: Memory): LogBreak['before'] {
  try {
    const { size, root } = rememberedCheckpoint(keys, memory) ?? NOTHING_SIGNED;
    return { size, root };
  } catch (error) {
    if (error instanceof Contradiction) return NOTHING_SIGNED;
    throw error;
  }
}

async function recordBreak(
  { pool, store, actor, reason, now, participant, profile }: TellBreakOptions,
  { broken, contradiction, note }: { broken: LogBreak; contradiction: string; note: string },
): Promise<void> {
  const { number, before, differsAtLeaf, logHead, nextOrigin } = broken;
  const id = uuid5(note, await installationId(pool));
  const data = {
    number,
    beforeSize: before.size,
    beforeRoot: before.root.toString('hex'),
    ...defined({ differsAtLeaf }),
    logHead: logHead.toString(),
    nextOrigin,
    contradiction,
    note,
  };
  const says = { participant, profile, softwareVersion: SOFTWARE_VERSION };
  const cause = { says, actor, reason, at: now, id, correlationId: id, causationId: `audit-break:${number}` };
  await store.append('operations', 'any', [newEvent({ type: 'AuditLogBroken', data }, cause)]);
}
