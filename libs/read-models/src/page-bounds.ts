import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';

/**
 * Most that one transaction of a projection takes in, however many events its page has; one event alone may be more.
 */
export interface PageBounds {
  /** Of evidence. */
  bytes: number;
  /** Rows of items that are written. */
  items: number;
}

/**
 * Some 300 documents of the usual 12 KB: some seconds of work on a busy machine of two cores, far below the 30 s of a
 * transaction.
 */
export const PAGE_BOUNDS: PageBounds = { bytes: 4 * 1024 * 1024, items: 25_000 };

/**
 * How many events, from the first, name evidence of at most `bytes` together; one at least. Events do not say how large
 * their documents are: the evidence does.
 */
export async function withinBytes<E>(
  events: E[],
  digestsOf: (event: E) => Sha256[],
  { evidence, bytes }: { evidence: EvidenceStore; bytes: number },
): Promise<number> {
  const digests = events.map(digestsOf);
  if (digests.every((each) => each.length === 0)) return events.length;
  const lengths = await evidence.lengths([...new Set(digests.flat())]);
  let sum = 0;
  const over = digests.findIndex((each) => {
    for (const one of each) sum += lengths.get(one) ?? 0;
    return sum > bytes;
  });
  return over === -1 ? events.length : Math.max(1, over);
}
