import type { TypeKnowledge } from '#documents';
import { isSscc, PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { walkContainment, type ContainmentFinding, type Moment, type Stay } from './containment.js';
import { COUNTS, microsOf, readContainmentChanges, type Known } from './life-rows.js';

/** Levels of containers within containers; real ones are three or four deep. */
const MOST_LEVELS = 20;
/** Items in one answer. */
const MOST_ITEMS = 50_000;

/** A container's content at a moment: every stay in it, however deep, that had not ended. */
export interface Content {
  /** Each container before what it holds, and that in the order in which it went in. */
  stays: (Stay & { level: number })[];
  /** Every stay directly in one of them since it was last opened, those that have ended too. */
  heldIn: ReadonlyMap<string, Stay[]>;
  /** Of this container in the one that held it. */
  own: Stay | undefined;
  /** When each of them was last opened, so that it held nothing. */
  emptied: ReadonlyMap<string, Moment>;
  /** Contradictions about what the container held, and about what it is or was in. */
  findings: ContainmentFinding[];
}

/** Packings into containers ($1) since each was emptied ($4, $5). */
const PACKED_SINCE = `SELECT DISTINCT c.child AS item
  FROM unnest($1::text[], $4::bigint[], $5::bigint[]) AS emptied (parent, at, position)
  JOIN containment c ON c.parent = emptied.parent COLLATE "C"
  JOIN movement_document d ON d.known_from = c.known_from
  WHERE ${COUNTS}
    AND (${microsOf('d.ordered_at')}, d.known_from) > (emptied.at, emptied.position)
  LIMIT ${MOST_ITEMS + 1}`;

/** Before all that happened. */
export const NEVER: Moment = { at: -9_223_372_036_854_775_808n, position: 0n };

/**
 * What a container held, directly and in the containers within it, as of a moment and as known at a position. Level by
 * level: only what went in since the container was last emptied is looked at, so that a container that is used again
 * costs what it holds now.
 * @throws PedigreeError `too_many_items` above 50,000 items or 20 levels.
 */
export async function readContent(
  db: Queryable,
  container: string,
  of: { known: Known; types: Pick<TypeKnowledge, 'extracts'> },
): Promise<Content> {
  const inside = new Set([container]);
  let level = [container];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MOST_LEVELS) throw tooMuch(container, `containers nested more than ${MOST_LEVELS} deep`);
    const { emptied } = walkContainment(await readContainmentChanges(db, level, of));
    const packed = await packedSince(db, { containers: level, emptied }, of.known);
    level = packed.filter((item) => !inside.has(item) && isSscc(item));
    for (const item of packed) inside.add(item);
    if (inside.size > MOST_ITEMS) throw tooMuch(container, `more than ${MOST_ITEMS} items`);
  }
  const { stays, emptied, findings } = walkContainment(await readContainmentChanges(db, [...inside], of));
  const open = stays.filter(({ to }) => to === undefined);
  return {
    stays: within(container, open),
    heldIn: byContainer(stays),
    own: open.find(({ item }) => item === container),
    emptied,
    findings: findings.filter(({ item }) => inside.has(item)),
  };
}

async function packedSince(
  db: Queryable,
  { containers, emptied }: { containers: string[]; emptied: Map<string, Moment> },
  { knownAt, asOf }: Known,
): Promise<string[]> {
  const since = containers.map((one) => emptied.get(one) ?? NEVER);
  const values = [containers, knownAt, asOf, since.map(({ at }) => at), since.map(({ position }) => position)];
  const { rows } = await db.query<{ item: string }>({ name: 'packed-since', text: PACKED_SINCE, values });
  return rows.map(({ item }) => item);
}

function byContainer(stays: readonly Stay[]): Map<string, Stay[]> {
  const found = new Map<string, Stay[]>();
  for (const stay of stays) {
    const held = found.get(stay.container);
    if (held === undefined) found.set(stay.container, [stay]);
    else held.push(stay);
  }
  return found;
}

/** Of these open stays those in the container, however deep; a ring is followed once around. */
function within(container: string, open: readonly Stay[]): (Stay & { level: number })[] {
  const held = byContainer(open);
  const seen = new Set([container]);
  const found: (Stay & { level: number })[] = [];
  const enter = (one: string, level: number): void => {
    for (const stay of held.get(one) ?? []) {
      if (seen.has(stay.item)) continue;
      seen.add(stay.item);
      found.push({ ...stay, level });
      enter(stay.item, level + 1);
    }
  };
  enter(container, 1);
  return found;
}

const tooMuch = (container: string, what: string): PedigreeError =>
  new PedigreeError('too_many_items', `${container} held ${what}; ask for a container inside it`, { item: container });
