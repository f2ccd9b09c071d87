/** Of real containers some lie in three others. A wrong document may nest a hundred thousand. */
const MOST_LEVELS = 1_000;

/**
 * What is reached from `start` in at most 1,000 steps, `start` included: each once. A query for each level, not a
 * recursive one: where statistics are old, the server expects millions of rows from that, and clears memory for them
 * before it reads the first.
 */
export async function reachByLevels(
  start: Iterable<string>,
  step: (level: string[]) => Promise<string[]>,
): Promise<Set<string>> {
  const reached = new Set(start);
  let level = [...reached];
  for (let steps = 0; level.length > 0 && steps < MOST_LEVELS; steps += 1) {
    level = [...new Set(await step(level))].filter((one) => !reached.has(one));
    for (const one of level) reached.add(one);
  }
  return reached;
}
