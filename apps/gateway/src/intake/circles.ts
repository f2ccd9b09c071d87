/** Most commands that are looked at for one: a chain that is longer is not followed to its end. */
const MAX_STEPS = 100;

export interface Ordered {
  commandId: string;
  after: readonly string[];
}

/**
 * For each command the way on which it would wait for itself (`B`, `A`, `B`), or undefined. Pure. `known` tells of stored commands what each
 * comes after; of a batch the earlier ones count as known to the later ones, so that of two that wait for each other the second is refused.
 */
export function circlesIn(batch: readonly Ordered[], known: ReadonlyMap<string, readonly string[]>): (string[] | undefined)[] {
  const edges = new Map(known);
  return batch.map((one) => {
    const circle = one.after.length === 0 ? undefined : wayBack(one, edges);
    if (circle === undefined && !edges.has(one.commandId)) edges.set(one.commandId, one.after);
    return circle;
  });
}

function wayBack({ commandId, after }: Ordered, edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const ways: string[][] = after.map((id) => [commandId, id]);
  const seen = new Set(after);
  for (let step = 0; step < MAX_STEPS && step < ways.length; step += 1) {
    const way = ways[step] as string[];
    const here = way.at(-1) as string;
    if (here === commandId) return way;
    for (const next of edges.get(here) ?? []) {
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return undefined;
}
