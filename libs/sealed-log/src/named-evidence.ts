import type { RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import { evidenceIn, type ProvenEvidence } from '#proofs';

/** A longer piece of evidence is named by its digest, and its bytes are asked for elsewhere. */
const MOST_EVIDENCE_BYTES = 8 * 1024 * 1024;
/** So many digests are remembered, so that evidence that several events name is given once. */
const MOST_DIGESTS = 100_000;

/** The evidence that events name, each piece behind the first event that names it. */
export class NamedEvidence {
  private readonly given = new Set<Sha256>();

  constructor(private readonly store: EvidenceStore) {}

  /** A piece that is not stored any more is left out: a verifier counts what is missing. Throws EvidenceDamaged. */
  async *of({ data }: RecordedEvent): AsyncGenerator<ProvenEvidence> {
    const names = [...new Set(evidenceIn(JSON.stringify(data)))].filter((sha256) => !this.given.has(sha256));
    const lengths = names.length === 0 ? new Map<Sha256, number>() : await this.store.lengths(names);
    for (const [sha256, length] of lengths) {
      if (this.given.size < MOST_DIGESTS) this.given.add(sha256);
      const found = length > MOST_EVIDENCE_BYTES ? undefined : await this.store.get(sha256);
      yield {
        evidence: sha256,
        length,
        ...(found === undefined ? {} : { bytes: found.bytes.toString('base64') }),
      };
    }
  }
}
