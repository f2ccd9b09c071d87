import { sha256Hex, type Sha256 } from '#kernel';
import { strictBase64 } from '#merkle';
import { evidenceIn } from './evidence-names.js';
import type { ProvenEvidence } from './bundle.js';

/** Pieces of evidence that events name, each counted once. */
export interface VerifiedEvidence {
  /** Their bytes are in the file, and have the digest that an event names. */
  here: number;
  /** They are named, and their bytes are not in the file. */
  notHere: number;
}

/** The evidence that events name, as far as it was read: true where its bytes are in the proof. */
export class EvidenceNamed {
  private readonly named = new Map<Sha256, boolean>();

  name(data: string): void {
    for (const sha256 of evidenceIn(data)) if (!this.named.has(sha256)) this.named.set(sha256, false);
  }

  has(sha256: Sha256): boolean {
    return this.named.has(sha256);
  }

  /**
   * The bytes, where they are here. Throws where they are not what the digest names, or no event before has named it.
   */
  take({ evidence: sha256, length, bytes: encoded }: ProvenEvidence): Buffer | undefined {
    if (!this.named.has(sha256)) throw new Error(`no event before this line names the evidence ${sha256}`);
    if (encoded === undefined) return undefined;
    const bytes = strictBase64(encoded);
    if (bytes?.length !== length || sha256Hex(bytes) !== sha256)
      throw new Error(`the bytes are not the evidence ${sha256}`);
    this.named.set(sha256, true);
    return bytes;
  }

  get counts(): VerifiedEvidence {
    const here = [...this.named.values()].filter((isHere) => isHere).length;
    return { here, notHere: this.named.size - here };
  }
}
