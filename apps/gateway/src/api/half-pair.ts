const HALF_PAIR = /\p{Surrogate}/u;

/**
 * What is wrong with a text that holds half of a surrogate pair, for whoever cuts a text by its length may cut a
 * character in two: no column of JSON takes it, and UTF-8 has no form. Undefined where it holds none.
 */
export function halfPairIn(text: string): string | undefined {
  const at = text.search(HALF_PAIR);
  return at < 0 ? undefined : `holds half of a surrogate pair, at position ${at}`;
}
