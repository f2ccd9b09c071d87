import { strictBase64 } from './note-parts.js';
import { checkSize, isHash, type Hash } from './tree.js';

/**
 * A checkpoint, and the proof that it follows from the one of `old` leaves (C2SP tlog-witness, add-checkpoint): what a
 * witness is asked with, and what shows to anybody that a log only grew.
 */
export interface AddCheckpoint {
  old: number;
  /** PROOF(old, D[size]) (RFC 6962, 2.1.2); empty where `old` is 0. */
  path: Hash[];
  /** The checkpoint with its signatures, as it was signed. */
  note: string;
}

const MOST_PATH = 63;

export const addCheckpointText = ({ old, path, note }: AddCheckpoint): string =>
  [`old ${old}\n`, ...path.map((hash) => `${hash.toString('base64')}\n`), `\n${note}`].join('');

/** Reads one to the letter. The note is not opened. Throws an Error that names the line. */
export function parseAddCheckpoint(text: string): AddCheckpoint {
  const end = text.indexOf('\n\n');
  if (end < 0) throw new Error('there is no empty line before a checkpoint');
  const [first = '', ...lines] = text.slice(0, end).split('\n');
  const [, old] = /^old (0|[1-9]\d{0,15})$/.exec(first) ?? [];
  if (old === undefined) throw new Error('line 1 is not the old size');
  checkSize(Number(old));
  if (lines.length > MOST_PATH) throw new Error(`the proof has more than ${MOST_PATH} lines`);
  const path = lines.map((line, index) => {
    const hash = strictBase64(line);
    if (hash === undefined || !isHash(hash)) throw new Error(`line ${index + 2} is not a hash`);
    return hash;
  });
  return { old: Number(old), path, note: text.slice(end + 2) };
}
