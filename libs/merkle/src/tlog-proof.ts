import { strictBase64 } from './note-parts.js';
import { checkSize, isHash, type Hash } from './tree.js';

/** Where an entry is in a log, and what leads from it to the root (C2SP tlog-proof). */
export interface TlogProof {
  /** Index of the leaf, from 0. */
  index: number;
  /** PATH(index, D[size]) (RFC 6962, 2.1.1), from the leaf's sibling upwards. */
  path: Hash[];
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';
const MOST_PATH = 63;

/** A tlog-proof file up to its checkpoint: with the checkpoint behind it, it is the whole file. */
export const tlogProofText = ({ index, path }: TlogProof): string =>
  [FIRST_LINE, `index ${index}`, ...path.map((hash) => hash.toString('base64')), '', ''].join('\n');

/** Reads one to the letter. It has no `extra` line: nothing authenticates that. Throws an Error that names the line. */
export const parseTlogProof = (text: string): TlogProof => new TlogProofs().parse(text);

/** Reads proofs one after the other: lines that the one before ended with too are not decoded again. */
export class TlogProofs {
  private last: { lines: string[]; path: Hash[] } = { lines: [], path: [] };

  /** As `parseTlogProof`. */
  parse(text: string): TlogProof {
    const lines = text.split('\n');
    if (lines.pop() !== '' || lines.pop() !== '') throw new Error('the proof does not end with an empty line');
    const [first, second = '', ...rest] = lines;
    if (first !== FIRST_LINE) throw new Error(`line 1 of the proof is not ${FIRST_LINE}`);
    const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(second) ?? [];
    if (index === undefined) throw new Error('line 2 of the proof is not an index');
    checkSize(Number(index));
    if (rest.length > MOST_PATH) throw new Error(`the proof has more than ${MOST_PATH} hashes`);
    const { last } = this;
    const more = last.lines.length - rest.length;
    const path = rest.map((line, n) =>
      last.lines[n + more] === line ? (last.path[n + more] as Hash) : hashIn(line, n + 3),
    );
    this.last = { lines: rest, path };
    return { index: Number(index), path };
  }
}

function hashIn(line: string, number: number): Hash {
  const hash = strictBase64(line);
  if (hash === undefined || !isHash(hash)) throw new Error(`line ${number} of the proof is not a hash`);
  return hash;
}
