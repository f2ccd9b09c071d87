/**
 * Whether a text is the JSON that a value of a proof is written as. Otherwise another reader may take the first of two
 * names, or of two ways to write a number the other. `blanks`: before each level; 0 for one line.
 */
export function isAsWritten(text: string, value: unknown, blanks = 0): boolean {
  const written = JSON.stringify(value, null, blanks);
  return text === written || text === asPageData(written);
}

/** JSON that ends no element of a page, as a page saves it: < is only in strings, where its number stands for it. */
export const asPageData = (json: string): string => json.replaceAll('<', '\\u003c');
