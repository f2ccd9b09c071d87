import type { DocumentReference } from '#domain';
import type { Queryable, Transaction } from '#postgres';

/** A wait that is no more. */
export interface LiftedWait {
  dependent: string;
  predecessor: string;
}

/** A unit waits for these, by its items or by `after`, until it is clear or has concluded. */
export async function insertWaits(
  tx: Transaction,
  dependent: string,
  { predecessors, isItem }: { predecessors: DocumentReference[]; isItem: boolean },
): Promise<void> {
  if (predecessors.length === 0) return;
  await tx.query({
    name: 'item-wait-insert',
    text: `INSERT INTO item_wait SELECT p.id, $1, $3, u.rank FROM unnest($2::text[]) AS p(id)
        LEFT JOIN claim_holder h ON h.id = p.id LEFT JOIN claim_holder u ON u.id = h.unit
      ON CONFLICT (predecessor, dependent)
        DO UPDATE SET rank = coalesce(item_wait.rank, excluded.rank), is_told = true, missed = NULL`,
    values: [dependent, predecessors.map((one) => one.requestId), isItem],
  });
}

/**
 * `after`: only those for what their commands come after. Once that is over, its row would be taken for one of a
 * document that has not registered.
 */
export async function removeWaits(tx: Transaction, dependents: string[], which?: 'after'): Promise<void> {
  if (dependents.length === 0) return;
  const [name, condition] = which === undefined ? ['', ''] : ['-after', ' AND NOT is_item'];
  const text = `DELETE FROM item_wait WHERE dependent = ANY ($1::text[])${condition}`;
  await tx.query({ name: `item-wait-remove${name}`, text, values: [dependents] });
}

/** A person decided that it does not wait for these commands, which never came. One that comes late is no link. */
export async function removeWaitsFor(tx: Transaction, dependent: string, missing: DocumentReference[]): Promise<void> {
  const text = 'DELETE FROM item_wait WHERE dependent = $1 AND predecessor = ANY ($2::text[]) AND NOT is_item';
  const ids = missing.map((one) => one.requestId);
  await tx.query({ name: 'item-wait-remove-missing', text, values: [dependent, ids] });
}

/** A unit waits for these by its items no more, and goes before them. What it meets of others it waits for. */
export async function goAheadOf(tx: Transaction, unit: string, stuck: DocumentReference[]): Promise<void> {
  await tx.query({
    name: 'item-wait-go-ahead',
    text: `WITH gone AS (
        DELETE FROM item_wait WHERE dependent = $1 AND predecessor = ANY ($2::text[]) AND is_item
      ) UPDATE claim_holder SET rank = least(rank, (
        SELECT min(u.rank) FROM claim_holder h JOIN claim_holder u ON u.id = h.unit WHERE h.id = ANY ($2::text[])
      )) WHERE id = $1`,
    values: [unit, stuck.map((one) => one.requestId)],
  });
}

/** Which of these somebody waits for. */
export async function awaited(tx: Transaction, ids: string[]): Promise<Set<string>> {
  const text = 'SELECT DISTINCT predecessor FROM item_wait WHERE predecessor = ANY ($1::text[])';
  const { rows } = await tx.query<{ predecessor: string }>({ name: 'item-wait-awaited', text, values: [ids] });
  return new Set(rows.map((row) => row.predecessor));
}

/**
 * What came in place of another takes its place: whoever waits for the old one waits for the new one too. Nobody is
 * told so: it is held for the old one, and so it waits whatever holds the new one. Returns the place, where anybody
 * waits.
 */
export async function takePlace(
  tx: Transaction,
  replaced: { old: string; new: string }[],
): Promise<bigint | undefined> {
  if (replaced.length === 0) return undefined;
  const { rows } = await tx.query<{ rank: bigint | null }>({
    name: 'item-wait-place',
    text: `WITH moved AS (
        INSERT INTO item_wait SELECT r.new, w.dependent, w.is_item, w.rank, false
        FROM unnest($1::text[], $2::text[]) AS r(old, new) JOIN item_wait w ON w.predecessor = r.old
        ON CONFLICT DO NOTHING
      ) SELECT min(w.rank) AS rank FROM item_wait w WHERE w.predecessor = ANY ($1::text[])`,
    values: [replaced.map((one) => one.old), replaced.map((one) => one.new)],
  });
  return rows[0]?.rank ?? undefined;
}

/** By what a unit comes after another: as its command says, or by any wait. */
export type WaitBasis = 'command' | 'any wait';

/** Units that come after one of `ids`, over any number of steps. */
export async function comeAfter(tx: Transaction, ids: string[], by: WaitBasis): Promise<Set<string>> {
  const [name, condition] = by === 'command' ? ['', 'NOT w.is_item'] : ['-anyhow', 'true'];
  const { rows } = await tx.query<{ id: string }>({
    name: `item-wait-after${name}`,
    text: `WITH RECURSIVE ${WAITERS(condition)} SELECT id FROM waiter`,
    values: [ids],
  });
  return new Set(rows.map((row) => row.id));
}

/** Who waits for one of `ids`, over any number of steps; a wait for a member is one for its group. */
const WAITERS = (condition: string): string => `waiter AS (
    SELECT w.dependent AS id FROM item_wait w WHERE w.predecessor = ANY ($1::text[]) AND ${condition}
    UNION SELECT w.dependent FROM waiter JOIN LATERAL (
      SELECT waiter.id UNION ALL SELECT m.id FROM claim_holder m WHERE m.unit = waiter.id AND m.unit <> m.id
    ) named ON true JOIN item_wait w ON w.predecessor = named.id AND ${condition}
  )`;

/** The units for which those of `from` wait. */
export const steps = (from: string, condition: string): string =>
  `SELECT coalesce(h.unit, w.predecessor) FROM ${from} JOIN item_wait w ON w.dependent = ${from}.id
    LEFT JOIN claim_holder h ON h.id = w.predecessor WHERE ${condition}`;

/** Those of these predecessors that wait, over any number of steps, for one of `ids`: a unit and its members. */
export async function ringOf(
  tx: Transaction,
  ids: string[],
  predecessors: DocumentReference[],
): Promise<DocumentReference[]> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'item-wait-ring',
    text: `WITH RECURSIVE ${WAITERS('true')} SELECT p.id FROM unnest($2::text[]) AS p(id)
      LEFT JOIN claim_holder h ON h.id = p.id
      WHERE coalesce(h.unit, p.id) IN (SELECT id FROM waiter)`,
    values: [ids, predecessors.map((one) => one.requestId)],
  });
  const inRing = new Set(rows.map((row) => row.id));
  return predecessors.filter((one) => inRing.has(one.requestId));
}

/**
 * Takes away each wait by items of a unit that goes before the one that closes a chain of `after`, for one that comes
 * after it: by `after` that one waits for this. `ids`: of the one that closes it, a unit and its members; its own
 * `after` stands here already. Nothing where the chain is a ring by itself.
 */
export async function liftWaits(tx: Transaction, ids: string[]): Promise<LiftedWait[]> {
  const { rows } = await tx.query<LiftedWait>({
    name: 'item-wait-lift',
    text: `WITH RECURSIVE ${WAITERS('NOT w.is_item')}, before AS (
        SELECT coalesce(h.unit, w.predecessor) AS id FROM item_wait w LEFT JOIN claim_holder h ON h.id = w.predecessor
        WHERE w.dependent = ANY ($1::text[]) AND NOT w.is_item
        UNION ${steps('before', 'NOT w.is_item')}
      ), behind AS (SELECT id FROM waiter UNION SELECT unnest($1::text[]))
      DELETE FROM item_wait w USING before b WHERE w.dependent = b.id AND w.is_item
      AND NOT EXISTS (SELECT FROM before WHERE id = ANY ($1::text[])) AND (
        w.predecessor IN (SELECT id FROM behind)
        OR w.predecessor IN (SELECT m.id FROM behind JOIN claim_holder m ON m.unit = behind.id)
      ) RETURNING w.dependent, w.predecessor`,
    values: [ids],
  });
  return rows;
}

/** Whether an item of `item_claim` is a place. */
export const isPlaceIn = (column: string): string => `${column} ~ '^\\d{14}$'`;

/** The two of a row `w` of item_wait meet in something that is no place. */
const MEET_IN_PACKS = `EXISTS (
    SELECT FROM claim_holder t JOIN item_claim theirs ON theirs.holder = t.number
      JOIN item_claim mine ON mine.item = theirs.item AND (mine.is_exclusive OR theirs.is_exclusive)
      JOIN claim_holder d ON d.number = mine.holder
    WHERE (t.id = w.predecessor OR (t.unit = w.predecessor AND t.unit <> t.id)) AND t.told_id = w.predecessor
      AND (d.id = w.dependent OR (d.unit = w.dependent AND d.unit <> d.id)) AND NOT ${isPlaceIn('theirs.item')}
  )`;

/**
 * By which rule a ring is opened. `in places`: a wait in places alone, for one that comes after another one of the ring
 * by a command, over steps of `after` and of packs. `unknown`: a wait by items, for one that comes by its command, over
 * any number of steps, after a document of which nothing is known here: it may be on its way, and say how they stand.
 */
export type RingRule = 'in places' | 'unknown';

const IS_LATER: Record<RingRule, { table: string; condition: string }> = {
  'in places': {
    table: `step AS (
        SELECT w.dependent AS unit, coalesce(h.unit, w.predecessor) AS id, NOT w.is_item AS by_command
        FROM item_wait w LEFT JOIN claim_holder h ON h.id = w.predecessor
        WHERE w.dependent IN (SELECT id FROM whole) AND coalesce(h.unit, w.predecessor) IN (SELECT id FROM whole)
          AND (NOT w.is_item OR ${MEET_IN_PACKS})
        UNION SELECT $1[1], id, false FROM unnest($3::text[]) AS met(id) WHERE id IN (SELECT id FROM ring)
      ), chain AS (
        SELECT id AS unit, id, false AS by_command FROM whole
        UNION SELECT c.unit, s.id, c.by_command OR s.by_command FROM chain c JOIN step s ON s.unit = c.id
      )`,
    condition: 'c.by_command AND c.id <> c.unit',
  },
  unknown: {
    table: `chain AS (
        SELECT id AS unit, id FROM ring
        UNION SELECT c.unit, coalesce(h.unit, w.predecessor) FROM chain c
          JOIN item_wait w ON w.dependent = c.id AND NOT w.is_item LEFT JOIN claim_holder h ON h.id = w.predecessor
      )`,
    condition: 'NOT EXISTS (SELECT FROM claim_holder h WHERE h.id = c.id)',
  },
};

/**
 * The units through which one of `ids` waits for itself, by way of these predecessors; and those that come later,
 * itself among them. `metInPacks`: units for which it is to wait by packs.
 */
export async function ringUnits(
  tx: Transaction,
  ids: string[],
  { predecessors, metInPacks, rule }: { predecessors: DocumentReference[]; metInPacks: string[]; rule: RingRule },
): Promise<{ units: string[]; later: Set<string> }> {
  const { table, condition } = IS_LATER[rule];
  const { rows } = await tx.query<{ id: string; isLater: boolean }>({
    name: `item-wait-ring-units-${rule}`,
    text: `WITH RECURSIVE ${WAITERS('true')}, reached AS (
        SELECT coalesce(h.unit, p.id) AS id FROM unnest($2::text[]) AS p(id) LEFT JOIN claim_holder h ON h.id = p.id
        UNION ${steps('reached', 'true')}
      ), ring AS (SELECT id FROM reached WHERE id IN (SELECT id FROM waiter) AND id <> ALL ($1::text[])
      ), whole AS (SELECT id FROM ring UNION SELECT unnest($1::text[])
      ), ${table}
      SELECT id, EXISTS (SELECT FROM chain c WHERE c.unit = whole.id AND ${condition}) AS "isLater" FROM whole`,
    values: [ids, predecessors.map((one) => one.requestId), ...(rule === 'in places' ? [metInPacks] : [])],
  });
  const later = rows.flatMap((row) => (row.isLater ? [row.id] : []));
  return { units: rows.flatMap(({ id }) => (ids.includes(id) ? [] : [id])), later: new Set(later) };
}

/** Takes away the waits by items of the units of a ring for those of it that come later. */
export async function liftWaitsBetween(
  tx: Transaction,
  { units, later }: { units: string[]; later: Set<string> },
  rule: RingRule,
): Promise<LiftedWait[]> {
  const { rows } = await tx.query<LiftedWait>({
    name: `item-wait-lift-between-${rule}`,
    text: `DELETE FROM item_wait w WHERE w.dependent = ANY ($1::text[]) AND w.is_item AND (
        w.predecessor = ANY ($2::text[]) OR w.predecessor IN (SELECT id FROM claim_holder WHERE unit = ANY ($2::text[]))
      ) ${rule === 'in places' ? `AND NOT ${MEET_IN_PACKS}` : ''} RETURNING w.dependent, w.predecessor`,
    values: [units, [...later]],
  });
  return rows;
}

/** Takes away the waits by items for a unit and its members that were told. Who waits for what it replaces waits on. */
export async function liftWaitsFor(tx: Transaction, unit: string): Promise<LiftedWait[]> {
  const { rows } = await tx.query<LiftedWait>({
    name: 'item-wait-lift-for',
    text: `DELETE FROM item_wait w USING claim_holder h
      WHERE (h.id = $1 OR (h.unit = $1 AND h.unit <> h.id)) AND w.predecessor = h.id AND w.is_item AND w.is_told
      RETURNING w.dependent, w.predecessor`,
    values: [unit],
  });
  return rows;
}

/** The dependents of those in `from`. */
const behind = (from: string, condition: string): string => `SELECT w.dependent FROM ${from} JOIN LATERAL (
      SELECT ${from}.id UNION ALL SELECT m.id FROM claim_holder m WHERE m.unit = ${from}.id AND m.unit <> m.id
    ) named ON true JOIN item_wait w ON w.predecessor = named.id AND ${condition}`;

/**
 * Units that are held, and those that wait for them, over any number of steps: none has a place. No row is followed of
 * which nobody was told: its dependent is held itself, or does not wait.
 */
export const STUCK = `stuck AS (
    SELECT id FROM claim_holder WHERE is_held
    UNION ${behind('stuck', 'w.is_told')}
  )`;

/** Those of these documents and groups that are held, or wait for what is held. */
export async function stuckAmong(db: Queryable, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const text = `WITH RECURSIVE ${STUCK}
    SELECT id FROM claim_holder WHERE id = ANY ($1::text[]) AND unit IN (SELECT id FROM stuck)`;
  const { rows } = await db.query<{ id: string }>({ name: 'claim-holder-stuck-among', text, values: [ids] });
  return rows.map((row) => row.id);
}

/** It waits for more than its turn in places. */
const WAITS_ANYHOW = `w.is_told AND (NOT w.is_item OR ${MEET_IN_PACKS})`;

/** $1: units. The waits of these, and of those that they wait for, are gone through once for all of them. */
export const LIFT_IN_PLACES = `WITH RECURSIVE ahead AS (
    SELECT u.id COLLATE "C" AS id FROM unnest($1::text[]) AS u(id) UNION ${steps('ahead', WAITS_ANYHOW)}
  ), barred AS (
    SELECT a.id FROM ahead a JOIN claim_holder h ON h.id = a.id AND h.is_held
    UNION ${behind('barred', `w.dependent IN (SELECT id FROM ahead) AND ${WAITS_ANYHOW}`)}
  ), stuck AS (
    SELECT id FROM barred WHERE id = ANY ($1::text[]) UNION ${behind('stuck', WAITS_ANYHOW)}
  ), named AS (
    SELECT id FROM stuck UNION SELECT m.id FROM stuck JOIN claim_holder m ON m.unit = stuck.id AND m.unit <> m.id
  ) DELETE FROM item_wait w USING named WHERE w.predecessor = named.id AND w.is_item AND w.is_told
    AND NOT ${MEET_IN_PACKS} RETURNING w.dependent, w.predecessor`;

/**
 * Takes away the waits in places alone for those of these units that are held, or wait for what is held, and for all
 * that wait for those. Who waits in places alone goes on, and stands in the way of nobody.
 */
export async function liftWaitsInPlaces(tx: Transaction, units: string[]): Promise<LiftedWait[]> {
  if (units.length === 0) return [];
  const { rows } = await tx.query<LiftedWait>({
    name: 'item-wait-lift-in-places',
    text: LIFT_IN_PLACES,
    values: [units],
  });
  return rows;
}

/** The same for all that is held: in the version before, that or what waited for it kept its places. */
export async function liftWaitsForHeld(tx: Transaction): Promise<LiftedWait[]> {
  const { rows } = await tx.query<{ id: string }>('SELECT id FROM claim_holder WHERE is_held');
  return liftWaitsInPlaces(
    tx,
    rows.map((row) => row.id),
  );
}

/** Those of these that a unit does not wait for. */
export async function notAwaited(
  tx: Transaction,
  dependent: string,
  predecessors: DocumentReference[],
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'item-wait-not-awaited',
    text: `SELECT p.id FROM unnest($2::text[]) AS p(id)
      WHERE NOT EXISTS (SELECT FROM item_wait w WHERE w.predecessor = p.id AND w.dependent = $1)`,
    values: [dependent, predecessors.map((one) => one.requestId)],
  });
  return rows.map((row) => row.id);
}
