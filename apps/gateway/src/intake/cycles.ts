import type { Transaction } from '#postgres';

interface Ordered {
  commandId: string;
  after: readonly string[];
}

/**
 * Why a command cannot wait for what it names: `cycle`, it would wait for itself over these commands; `tooMany`, more
 * than so many would have to be looked at.
 */
export type Entangled = { cycle: string[] } | { tooMany: number };

type Edges = ReadonlyMap<string, readonly string[]>;

/**
 * Most stored commands that are read to find who waits for whom. Only what waits for a command that had not come yet is
 * ever read.
 */
const MOST_WALKED = 10_000;

/**
 * Names the one lock under which commands with `after` are stored: of two that would wait for each other, the second
 * sees the first.
 */
const CIRCLE_LOCK = 7_415_002;

/**
 * Who comes after these commands, over any number of steps. The limit stands right on the recursion, which is worked
 * off only as far as it is asked for.
 */
export const WALK_DEPENDENTS = `WITH RECURSIVE walk (command_id) AS (
    SELECT unnest($1::text[]) COLLATE "C"
    UNION
    SELECT later.command_id COLLATE "C" FROM walk JOIN command later ON later.after_commands ? walk.command_id
      AND later.after_commands <> '[]'
  ), reached AS MATERIALIZED (SELECT command_id FROM walk LIMIT $2)
  SELECT command_id, after_commands FROM reached LEFT JOIN command USING (command_id)`;

/** What these commands come after, over any number of steps. */
const WALK_PREDECESSORS = `WITH RECURSIVE walk (command_id) AS (
    SELECT unnest($1::text[]) COLLATE "C"
    UNION
    SELECT earlier.command_id COLLATE "C" FROM walk JOIN command USING (command_id),
      jsonb_array_elements_text(after_commands) AS earlier (command_id)
  ), reached AS MATERIALIZED (SELECT command_id FROM walk LIMIT $2)
  SELECT command_id, after_commands FROM reached LEFT JOIN command USING (command_id)`;

/**
 * For each command of a batch why it cannot wait for what it names, or undefined. Holds a lock until the transaction
 * ends, so that commands given at the same moment, to several gateways too, are looked at one after the other. A cycle
 * goes through a command that others named before it came: what waits for the batch is read, which is little, and not
 * its history, which grows for ever.
 */
export async function entangledIn(
  tx: Transaction,
  batch: readonly Ordered[],
  most = MOST_WALKED,
): Promise<(Entangled | undefined)[]> {
  const named = [...new Set(batch.flatMap((one) => one.after))];
  if (named.length === 0) return [];
  await tx.query('SELECT pg_advisory_xact_lock($1)', [CIRCLE_LOCK]);
  const after = await walk(tx, { text: WALK_DEPENDENTS, from: batch.map((one) => one.commandId), most });
  // So many wait for it that what it comes after may be less.
  const known = after ?? (await walk(tx, { text: WALK_PREDECESSORS, from: named, most }));
  if (known === undefined) return batch.map((one) => (one.after.length === 0 ? undefined : { tooMany: most }));
  return cyclesIn(batch, known).map((cycle) => (cycle === undefined ? undefined : { cycle }));
}

/** Undefined when there are more than `most`. */
async function walk(
  tx: Transaction,
  { text, from, most }: { text: string; from: string[]; most: number },
): Promise<Edges | undefined> {
  const { rows } = await tx.query<{ command_id: string; after_commands: string[] | null }>({
    name: `walk-${text === WALK_DEPENDENTS ? 'dependents' : 'predecessors'}`,
    text,
    values: [from, from.length + most + 1],
  });
  if (rows.length > from.length + most) return undefined;
  // What is named and not stored comes after nothing that is known; a command of the batch says itself what it comes
  // after.
  return new Map(
    rows.flatMap(({ command_id, after_commands }) => (after_commands === null ? [] : [[command_id, after_commands]])),
  );
}

/**
 * For each command the way on which it would wait for itself (`B`, `A`, `B`), or undefined. Pure. `known` tells of
 * stored commands what each comes after; of a batch the earlier ones count as known to the later ones, so that of two
 * that wait for each other the second is refused.
 */
export function cyclesIn(batch: readonly Ordered[], known: Edges): (string[] | undefined)[] {
  const edges = new Map(known);
  return batch.map((one) => {
    const cycle = one.after.length === 0 ? undefined : wayBack(one, edges);
    if (cycle === undefined && !edges.has(one.commandId)) edges.set(one.commandId, one.after);
    return cycle;
  });
}

/** The shortest way back, breadth first: each command is looked at once. */
function wayBack({ commandId, after }: Ordered, edges: Edges): string[] | undefined {
  const cameFrom = new Map<string, string>(after.map((id) => [id, commandId]));
  const queue = [...cameFrom.keys()];
  for (const here of queue) {
    if (here === commandId) return wayOf(commandId, cameFrom);
    for (const next of edges.get(here) ?? []) {
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, here);
      queue.push(next);
    }
  }
  return undefined;
}

function wayOf(commandId: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [commandId];
  let here = cameFrom.get(commandId);
  while (here !== undefined && here !== commandId) {
    way.unshift(here);
    here = cameFrom.get(here);
  }
  return [commandId, ...way];
}
