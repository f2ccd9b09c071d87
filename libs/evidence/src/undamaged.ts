import type { Sha256 } from '#kernel';
import { EvidenceDamaged, type EvidenceStore } from './port.js';

/**
 * Those of these that are as they were put: what is damaged is absent, as what is not stored. For whoever goes on
 * without one piece, and must not stand still with all others.
 */
export async function getUndamaged(
  store: Pick<EvidenceStore, 'getMany'>,
  sha256s: Sha256[],
): Promise<Map<Sha256, Buffer>> {
  let wanted = sha256s;
  while (wanted.length > 0) {
    try {
      return await store.getMany(wanted);
    } catch (error) {
      if (!(error instanceof EvidenceDamaged && wanted.includes(error.sha256))) throw error;
      wanted = wanted.filter((one) => one !== error.sha256);
    }
  }
  return new Map();
}
