import {
  checkConsistency,
  noteText,
  parseAddCheckpoint,
  parseCheckpoint,
  signersOf,
  WrongEmptyRoot,
  type AddCheckpoint,
  type Checkpoint,
  type Hash,
  type NoteVerifier,
} from '#merkle';

/** What a request for a cosignature comes to (C2SP tlog-witness, add-checkpoint). */
export type Verdict =
  | { kind: 'follows'; text: string; checkpoint: Checkpoint }
  | { kind: 'malformed' | 'unknown_log' | 'not_signed'; words: string }
  /** `old` is not the newest size. */
  | { kind: 'other_size'; size: number }
  /** The proof is none, whatever the log is: it says nothing of the checkpoint. */
  | { kind: 'not_proven'; words: string }
  /**
   * Signed by the log, and not shown to follow from what was cosigned. `isSure`: the two checkpoints tell it by
   * themselves. Else the log may be another one, or a stranger may have brought its checkpoint with a wrong proof.
   */
  | { kind: 'contradicts'; words: string; isSure: boolean };

/** What was cosigned last of a log; undefined where nothing was. */
type NewestOf = (origin: string) => Checkpoint | undefined;

/** In the order of the specification: first what the request is, then whose, then whether it follows. Pure. */
export function judge(body: string, logs: NoteVerifier[], newestOf: NewestOf): Verdict {
  let request: AddCheckpoint;
  let text: string;
  try {
    request = parseAddCheckpoint(body);
    text = noteText(request.note);
  } catch (error) {
    return { kind: 'malformed', words: (error as Error).message };
  }
  const origin = text.slice(0, text.indexOf('\n'));
  const keys = logs.filter(({ name }) => name === origin);
  if (keys.length === 0) return { kind: 'unknown_log', words: `the log ${origin.slice(0, 200)} is not witnessed here` };
  const unsigned = signatureFault(request.note, keys);
  if (unsigned !== undefined) return { kind: 'not_signed', words: unsigned };
  return judgeSigned(request, text, newestOf);
}

function signatureFault(note: string, keys: NoteVerifier[]): string | undefined {
  try {
    return signersOf(note, keys).length > 0 ? undefined : `no known key of ${keys[0]?.name} has signed the checkpoint`;
  } catch (error) {
    return (error as Error).message;
  }
}

function judgeSigned(request: AddCheckpoint, text: string, newestOf: NewestOf): Verdict {
  const { old, path } = request;
  let checkpoint: Checkpoint;
  try {
    checkpoint = parseCheckpoint(text);
  } catch (error) {
    const words = (error as Error).message;
    return error instanceof WrongEmptyRoot
      ? { kind: 'contradicts', words, isSure: true }
      : { kind: 'malformed', words };
  }
  const { origin, size } = checkpoint;
  if (old > size) return { kind: 'malformed', words: `the old size ${old} is above the size ${size}` };
  const newest = newestOf(origin);
  const known = newest?.size ?? 0;
  if (old !== known) return { kind: 'other_size', size: known };
  if (newest === undefined || known === 0) {
    if (path.length === 0) return { kind: 'follows', text, checkpoint };
    return { kind: 'not_proven', words: 'a proof from the empty tree has no lines' };
  }
  return judgeGrown({ newest, checkpoint, path }) ?? { kind: 'follows', text, checkpoint };
}

/** Undefined where the checkpoint is shown to begin with the newest one. */
function judgeGrown({
  newest,
  checkpoint: { size, root },
  path,
}: {
  newest: Checkpoint;
  checkpoint: Checkpoint;
  path: Hash[];
}): Verdict | undefined {
  if (checkConsistency({ from: newest.size, fromRoot: newest.root, to: size, toRoot: root, path })) return undefined;
  if (size === newest.size && root.equals(newest.root))
    return { kind: 'not_proven', words: 'a proof of the same tree has no lines' };
  const cosigned = `the ${newest.size} leaves that were cosigned`;
  const words = `the checkpoint of ${size} leaves is not shown to begin with ${cosigned}`;
  return { kind: 'contradicts', words, isSure: size === newest.size };
}
