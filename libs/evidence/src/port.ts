import type { Sha256 } from '#kernel';

/** A piece of evidence: exact bytes, named by their SHA-256. Sign-in answers and tokens never come here. */
export interface EvidenceStore {
  /** Stores the bytes and returns their digest once they are durable. Storing the same bytes again is a no-op. */
  put(bytes: Uint8Array, mediaType: string): Promise<Sha256>;
  /**
   * The bytes, checked against their name on every read. `undefined` when nothing is stored; throws EvidenceDamaged
   * when the digest differs.
   */
  get(sha256: Sha256): Promise<{ bytes: Buffer; mediaType: string } | undefined>;
  /** Several at once, in no promised order; those that are not stored are absent. */
  getMany(sha256s: Sha256[]): Promise<Map<Sha256, Buffer>>;
  /** How many bytes each of these has, without reading them; those that are not stored are absent. */
  lengths(sha256s: Sha256[]): Promise<Map<Sha256, number>>;
}

/**
 * What is stored under this digest is not what was put there: a fault of the storage, or somebody's hand. Never
 * repaired in silence.
 */
export class EvidenceDamaged extends Error {
  constructor(
    readonly sha256: Sha256,
    what: string,
  ) {
    super(`evidence ${sha256} is damaged: ${what}`);
    this.name = 'EvidenceDamaged';
  }
}
