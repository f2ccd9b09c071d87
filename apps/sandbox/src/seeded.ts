import { uuid5 } from '#kernel';

/** A number from 0 to below 1 that depends on seed and index alone (a round of SplitMix32). */
export function spreadOf(seed: number, index: number): number {
  let z = (seed + Math.imul(index, 0x9e3779b9)) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) / 4_294_967_296;
}

/** The id of the nth document of a request_id, from 0: the same for the same seed, and never that of another one. */
export const documentIdOf = (requestId: string, seed: number, nth = 0): string =>
  uuid5(nth === 0 ? `document ${seed}` : `document ${seed} ${nth}`, requestId);
