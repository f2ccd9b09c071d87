import { PedigreeError } from '#kernel';
import {
  addCheckpointText,
  checkConsistency,
  hashesInTiles,
  noteText,
  parseAddCheckpoint,
  parseCheckpoint,
  proveConsistency,
  rootOf,
  type AddCheckpoint,
  type Checkpoint,
} from '#merkle';
import type { Pool } from '#postgres';
import {
  breakWords,
  openBreaks,
  originAfter,
  type TrustedWitnesses,
  VerifierKeys,
  type Witnessed,
  witnessedBy,
} from '#proofs';
import {
  breakNotes,
  checkpointOf,
  cosignedNote,
  mostWitnessedSize,
  newestCheckpoint,
  type StoredCheckpoint,
  tilesIn,
} from '#sealed-log';

/**
 * What an auditor takes home: the checkpoint of today, with the proof that it follows from the one of the visit before
 * (the form of C2SP tlog-witness, add-checkpoint). A first visit has no proof. Throws PedigreeError where the log does
 * not go on from the file.
 */
export async function visitFile(pool: Pool, since: string | undefined): Promise<string> {
  const newest = await newestCheckpoint(pool);
  if (newest === undefined)
    throw new PedigreeError('unavailable', 'no checkpoint was signed yet; is an auditor running?');
  if (since === undefined) {
    const best = await bestSince(pool, newest, 0);
    return addCheckpointText({ old: 0, path: [], note: await cosignedNote(pool, best) });
  }
  const before = checkpointIn(parsedVisit(since, '--since'), '--since');
  await refuseBreaks(pool, before, parseCheckpoint(noteText(newest.note)));
  const read = hashesInTiles(tilesIn(pool));
  if (before.size > newest.size || !(await rootOf(before.size, read)).equals(before.root))
    throw doesNotHold(
      `--since: the log does not begin with the ${before.size} events that the file says: it was rewritten`,
    );
  const best = await bestSince(pool, newest, before.size);
  const path = before.size === best.size ? [] : await proveConsistency(before.size, best.size, read);
  return addCheckpointText({ old: before.size, path, note: await cosignedNote(pool, best) });
}

/** The newest, or one that more witnesses have seen. */
async function bestSince(pool: Pool, newest: StoredCheckpoint, size: number): Promise<StoredCheckpoint> {
  const witnessed = await mostWitnessedSize(pool, size);
  return (witnessed === undefined ? undefined : await checkpointOf(pool, witnessed)) ?? newest;
}

/** Between two names of the log lie the breaks that a person told. */
async function refuseBreaks(pool: Pool, before: Checkpoint, now: Checkpoint): Promise<void> {
  if (before.origin === now.origin) return;
  const breaks = openBreaks(await breakNotes(pool), noteText);
  const first = breaks.length === 0 ? now.origin : now.origin.slice(0, now.origin.lastIndexOf('/'));
  const told = breaks.findIndex((_, number) => originAfter(first, number) === before.origin);
  const words = told < 0 ? 'That is another log' : breaks.slice(told).map(breakWords).join('. ');
  throw doesNotHold(`--since: the file is of the log ${before.origin}, and this one is ${now.origin}. ${words}`);
}

interface VisitsChecked {
  before: Checkpoint;
  now: Checkpoint;
  witnessed: Witnessed;
}

/**
 * Whether the log of the second file begins with that of the first, by nothing but the two files and the verifier key,
 * or where it was changed between, the keys.
 * Throws PedigreeError `invalid_parameter` that names what does not hold.
 */
export function checkVisits(
  [since, file]: [string, string],
  verifierKey: string,
  trusted: TrustedWitnesses,
): VisitsChecked {
  const keys = refusing('--key', () => VerifierKeys.parse(verifierKey));
  const [first, second] = [parsedVisit(since, 'the first file'), parsedVisit(file, 'the second file')];
  const before = refusing('the first file', () => openOf(first.note, keys));
  const now = refusing('the second file', () => openOf(second.note, keys));
  if (before.origin !== now.origin)
    throw doesNotHold(
      `the first file is of the log ${before.origin}, and the second of ${now.origin}: the log was broken off between`,
    );
  if (second.old !== before.size)
    throw doesNotHold(
      `the second file has the proof since ${second.old} events, and the first file is of ${before.size}; ` +
        'have it made with --since and the first file',
    );
  const claim = { from: before.size, fromRoot: before.root, to: now.size, toRoot: now.root, path: second.path };
  if (!checkConsistency(claim))
    throw doesNotHold(`the log of ${now.size} events does not begin with the ${before.size} events of the first file`);
  return { before, now, witnessed: refusing('the second file', () => witnessedBy(second.note, trusted)) };
}

/** Breaks change the name of a log, and not its key. */
function openOf(note: string, keys: VerifierKeys): Checkpoint {
  const { origin } = parseCheckpoint(noteText(note));
  const number = origin.startsWith(`${keys.origin}/`)
    ? /^([2-9]|[1-9]\d{1,4})$/.exec(origin.slice(keys.origin.length + 1))
    : null;
  return keys.openCheckpoint(note, number === null ? 0 : Number(number[0]) - 1);
}

const parsedVisit = (text: string, place: string): AddCheckpoint => refusing(place, () => parseAddCheckpoint(text));

const checkpointIn = ({ note }: AddCheckpoint, place: string): Checkpoint =>
  refusing(place, () => parseCheckpoint(noteText(note)));

function refusing<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw doesNotHold(`${place}: ${(error as Error).message}`);
  }
}

const doesNotHold = (why: string): PedigreeError => new PedigreeError('invalid_parameter', why);
