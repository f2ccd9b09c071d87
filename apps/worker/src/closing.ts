/** What is opened at the start and closed at the end, the last first, whether the start came to its end or not. */
export type Closing = (() => Promise<unknown>)[];

/** Closes each, whatever becomes of the others, and empties the list. Returns what went wrong, in that order. */
export async function closeAll(closing: Closing): Promise<Error[]> {
  const failures: Error[] = [];
  for (const close of closing.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      failures.push(error as Error);
    }
  }
  return failures;
}
