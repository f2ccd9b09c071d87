/** Entries of a list that are not understood, as `list_cursor` keeps them until a later reading shows them gone. */
export interface KeptNotUnderstood {
  /** Where the reading began that showed them. */
  from: Date;
  /** What they are, for people. */
  words: string;
  /** The readings that run now began at `from` or before, and have shown none so far. */
  isReadAgain: boolean;
}

/** What a reading has shown. */
interface Reading {
  /** Where it began. */
  since: Date;
  /** Nothing is read again that is older than this. */
  farthest: Date;
  /** Which of its entries are not understood; absent where all are. */
  words?: string;
  /** It came to the end of the list. */
  isWhole: boolean;
}

/**
 * What is kept after a reading. A reading that begins later does not show the entries again, so it says nothing of
 * them. They are gone where the readings from that place, or from `farthest` where that is later, came to the end of
 * the list without one.
 */
export function notUnderstoodAfter(
  kept: KeptNotUnderstood | undefined,
  reading: Reading,
): KeptNotUnderstood | undefined {
  const { since, farthest, words, isWhole } = reading;
  const isReadAgain =
    kept !== undefined && (kept.isReadAgain || since.getTime() <= Math.max(kept.from.getTime(), farthest.getTime()));
  if (words !== undefined) {
    // What was read again without one needs no further reading.
    const from = kept === undefined || isReadAgain || since < kept.from ? since : kept.from;
    return { from, words, isReadAgain: false };
  }
  return kept === undefined || (isReadAgain && isWhole) ? undefined : { ...kept, isReadAgain };
}
