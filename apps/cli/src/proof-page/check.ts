import { wordsOf } from '#kernel';
import { trustedWitnesses, verifyProofLines, type CheckedEvent, type Verified } from '#proofs';
import { checkAsked } from './node-crypto.js';

/** Whom the reader believes. */
export interface TrustedKeys {
  /** The verifier key of the log; where it was changed several, with blanks between. */
  key: string;
  witnesses: string[];
  /** So many of the witnesses are enough; all where it is not said. */
  needed?: number | undefined;
}

export type Outcome =
  | { kind: 'holds'; verified: Verified; events: CheckedEvent[] }
  | { kind: 'refused'; why: string; /** Where: `line 4`, `/checkpoint`, `--witness`. */ field: string };

/** Called now and then with the number of events that were read. */
type OnProgress = (events: number) => Promise<void>;

/** A proof has few signatures; each may need a pass up to its line. */
const MOST_PASSES = 10_000;
const LINES_BETWEEN_PAUSES = 500;

/** Checks a proof as `pedigree audit verify` does, by the same source. Throws where this browser cannot. */
export async function checkProof(text: string, trusted: TrustedKeys, onProgress?: OnProgress): Promise<Outcome> {
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const outcome = await onePass(text, trusted, onProgress);
    if (!(await checkAsked())) return outcome;
  }
  throw new Error('the proof has more signatures than this page checks');
}

async function onePass(
  text: string,
  { key, witnesses, needed }: TrustedKeys,
  onProgress?: OnProgress,
): Promise<Outcome> {
  const events: CheckedEvent[] = [];
  try {
    const trusted = trustedWitnesses(witnesses, needed);
    const lines = linesOf(text, async () => onProgress?.(events.length));
    const verified = await verifyProofLines(lines, key, { trusted, onEvent: (event) => events.push(event) });
    return { kind: 'holds', verified, events };
  } catch (error) {
    const { field = '' } = (error as { place?: { field?: string } }).place ?? {};
    return { kind: 'refused', why: wordsOf(error), field };
  }
}

async function* linesOf(text: string, pause: () => Promise<void>): AsyncGenerator<string> {
  let [from, count] = [0, 0];
  while (from < text.length) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    if (to > from) yield text.slice(from, to);
    from = to + 1;
    count += 1;
    if (count % LINES_BETWEEN_PAUSES === 0) await pause();
  }
}
