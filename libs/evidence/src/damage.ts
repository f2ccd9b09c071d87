import type { Sha256 } from '#kernel';

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
