/**
 * What is reached from `start` in any number of steps, `start` included: each once. A query for each level, not a
 * recursive one: where statistics are old, the server expects millions of rows from that, and clears memory for them
 * before it reads the first.
 */
export async function reachByLevels(
  start: Iterable<string>,
  step: (level: string[]) => Promise<string[]>,
): Promise<Set<string>> {
  const reached = new Set(start);
  let level = [...reached];
  while (level.length > 0) {
    level = [...new Set(await step(level))].filter((one) => !reached.has(one));
    for (const one of level) reached.add(one);
  }
  return reached;
}
