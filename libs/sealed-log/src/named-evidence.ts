import type { RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import { evidenceIn, type ProvenEvidence } from '#proofs';

/** A longer piece of evidence is named by its digest, and its bytes are asked for elsewhere. */
const MOST_EVIDENCE_BYTES = 8 * 1024 * 1024;
/** So much is read together, or one piece. */
const MOST_BYTES_TOGETHER = MOST_EVIDENCE_BYTES;
/** So many digests are remembered, so that evidence that several events name is given once. */
const MOST_DIGESTS = 100_000;

interface Piece {
  sha256: Sha256;
  length: number;
}

/** What the next event names that none before has named: each call is for one event more. Throws EvidenceDamaged. */
export type EvidenceOfNext = () => AsyncGenerator<ProvenEvidence>;

/** The evidence that events name, each piece once, behind an event that names it. */
export class NamedEvidence {
  private readonly given = new Set<Sha256>();

  constructor(private readonly store: EvidenceStore) {}

  /**
   * The evidence of these events, to be read in their order. A piece that is not stored any more is left out: a
   * verifier counts what is missing.
   */
  async of(events: RecordedEvent[]): Promise<EvidenceOfNext> {
    const names = events.map(({ data }) => this.fresh(evidenceIn(JSON.stringify(data))));
    const all = names.flat();
    const lengths = all.length === 0 ? new Map<Sha256, number>() : await this.store.lengths(all);
    const stored = names.map((some) => some.filter((sha256) => lengths.has(sha256)));
    const pieces = stored.flat().map((sha256) => ({ sha256, length: lengths.get(sha256) as number }));
    const reading = this.read(pieces);
    let next = 0;
    return async function* () {
      for (const _ of stored[next++] ?? []) yield (await reading.next()).value as ProvenEvidence;
    };
  }

  private fresh(names: Sha256[]): Sha256[] {
    const fresh = [...new Set(names)].filter((sha256) => !this.given.has(sha256));
    for (const sha256 of fresh) if (this.given.size < MOST_DIGESTS) this.given.add(sha256);
    return fresh;
  }

  private async *read(pieces: Piece[]): AsyncGenerator<ProvenEvidence, void> {
    for (let at = 0; at < pieces.length;) {
      const together = firstOf(pieces.slice(at));
      const short = together.filter(({ length }) => length <= MOST_EVIDENCE_BYTES).map(({ sha256 }) => sha256);
      const found = short.length === 0 ? new Map<Sha256, Buffer>() : await this.store.getMany(short);
      for (const { sha256, length } of together) {
        const bytes = found.get(sha256)?.toString('base64');
        yield { evidence: sha256, length, ...(bytes === undefined ? {} : { bytes }) };
      }
      at += together.length;
    }
  }
}

/** As many as are read together. */
function firstOf(pieces: Piece[]): Piece[] {
  let bytes = 0;
  const end = pieces.findIndex(({ length }, n) => (bytes += length) > MOST_BYTES_TOGETHER && n > 0);
  return end < 0 ? pieces : pieces.slice(0, end);
}
