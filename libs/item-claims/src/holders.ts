import type { Hold, Registration } from '#domain';
import { reachByLevels, type Transaction } from '#postgres';
import type { Claim, OwnClaim } from './claim-book.js';
import { holdKeyOf } from './holds.js';
import type { ContainmentChange } from './named-items.js';
import { isPlaceIn, liftWaitsFor, liftWaitsInPlaces, STUCK, type LiftedWait } from './waits.js';

/** A document of ours that has not concluded, or a group of such. A row of `claim_holder`. */
export interface Holder {
  id: string;
  number: number;
  unit: string;
  /** The place of its unit in the order: a log position. */
  rank: bigint;
  account: string;
  toldId: string;
  toldCommand: string;
  phase: UnitPhase;
  /** How often it was to wait for its items. */
  rounds: number;
  waives: boolean;
  /** Which document is sent first: itself, or the first member. */
  firstSend: string;
  change: ContainmentChange | null;
  /** A unit: from a hold on until none is left, or it is released, or under way after all. */
  isHeld: boolean;
  /** It was held, and went behind others that registered after it. */
  isMoved: boolean;
}

/**
 * `clear`: its first send is planned. `deciding`: a task will have it wait, or refused. `waiting`: it was told so.
 * `at_gate`: a hold of its own keeps it from the send that was planned, and nobody waits for it by their items.
 */
type UnitPhase = 'clear' | 'deciding' | 'waiting' | 'at_gate';

/** A document as it registers. */
export function holderOf(data: Registration, { position, number }: { position: bigint; number: number }): Holder {
  const { requestId, commandId, group, waivesItemWait, account } = data;
  return {
    id: requestId,
    number,
    unit: group?.groupId ?? requestId,
    rank: position,
    account,
    toldId: group?.kind === 'split' ? group.groupId : requestId,
    toldCommand: commandId,
    phase: 'clear',
    rounds: 0,
    waives: waivesItemWait === true,
    firstSend: requestId,
    change: null,
    isHeld: false,
    isMoved: false,
  };
}

const COLUMNS = `id, number::int8::float8 AS number, unit, rank, account, told_id AS "toldId",
  told_command AS "toldCommand", phase, rounds, waives, first_send AS "firstSend", change, is_held AS "isHeld",
  is_moved AS "isMoved"`;

export async function highestNumber(tx: Transaction): Promise<number> {
  const text = 'SELECT coalesce(max(number), 0)::float8 AS number FROM claim_holder';
  return (await tx.query<{ number: number }>({ name: 'claim-holder-highest', text })).rows[0]?.number ?? 0;
}

export async function holdersById(tx: Transaction, ids: string[]): Promise<Map<string, Holder>> {
  if (ids.length === 0) return new Map();
  const text = `SELECT ${COLUMNS} FROM claim_holder WHERE id = ANY ($1::text[])`;
  const { rows } = await tx.query<Holder>({ name: 'claim-holder-by-id', text, values: [ids] });
  return new Map(rows.map((row) => [row.id, row]));
}

/** A group's members that have not concluded, and the group itself. */
export async function holdersOfUnit(tx: Transaction, unit: string): Promise<Holder[]> {
  const text = `SELECT ${COLUMNS} FROM claim_holder WHERE id = $1 OR (unit = $1 AND unit <> id)`;
  return (await tx.query<Holder>({ name: 'claim-holder-of-unit', text, values: [unit] })).rows;
}

export async function insertHolders(tx: Transaction, holders: Holder[]): Promise<void> {
  if (holders.length === 0) return;
  const of = <Key extends keyof Holder>(key: Key): Holder[Key][] => holders.map((one) => one[key]);
  await tx.query({
    name: 'claim-holder-insert',
    text: `INSERT INTO claim_holder (id, number, unit, rank, account, told_id, told_command, phase, rounds, waives,
        first_send, change) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[],
        $6::text[], $7::text[], $8::text[], $9::int[], $10::bool[], $11::text[], $12::text[]) ON CONFLICT DO NOTHING`,
    values: [
      ...[of('id'), of('number'), of('unit'), of('rank'), of('account'), of('toldId'), of('toldCommand'), of('phase')],
      ...[of('rounds'), of('waives'), of('firstSend'), of('change')],
    ],
  });
}

/** Claims are many, so they are put into columns at once. */
export async function insertClaims(tx: Transaction, claimants: { holder: Holder; own: OwnClaim[] }[]): Promise<void> {
  const items: string[] = [];
  const holders: number[] = [];
  const areExclusive: boolean[] = [];
  const parents: (string | null)[] = [];
  for (const { holder, own } of claimants)
    for (const { item, isExclusive, parent = null } of own) {
      items.push(item);
      holders.push(holder.number);
      areExclusive.push(isExclusive);
      parents.push(parent);
    }
  if (items.length === 0) return;
  await tx.query({
    name: 'item-claim-insert',
    text: `INSERT INTO item_claim SELECT * FROM unnest($1::text[], $2::bigint[], $3::bool[], $4::text[])
      ON CONFLICT DO NOTHING`,
    values: [items, holders, areExclusive, parents],
  });
}

/** They have concluded: what they claimed is free, and they wait for nobody. Who waits for them is told by the log. */
export async function removeHolders(tx: Transaction, holders: Holder[]): Promise<void> {
  if (holders.length === 0) return;
  const numbers = [holders.map((one) => one.number)];
  const holder = 'holder = ANY ($1::bigint[])';
  await tx.query({ name: 'item-claim-remove', text: `DELETE FROM item_claim WHERE ${holder}`, values: numbers });
  const text = 'DELETE FROM claim_holder WHERE number = ANY ($1::bigint[])';
  await tx.query({ name: 'claim-holder-remove', text, values: numbers });
}

/** Where a unit stands now, with its waits so far. */
export async function movePhase(
  tx: Transaction,
  { id, rounds }: Pick<Holder, 'id' | 'rounds'>,
  phase: UnitPhase,
): Promise<void> {
  await tx.query({
    name: 'claim-holder-phase',
    text: 'UPDATE claim_holder SET phase = $2, rounds = $3 WHERE id = $1',
    values: [id, phase, rounds],
  });
}

/**
 * What is held stands aside. After its send was planned nobody waits for it by their items, for another document of
 * the same packs may be what makes their state fit, or takes them back. What waits itself keeps its place for its packs
 * alone, and so does what waits for it: else all that their places do would wait for a person, behind the move of a
 * whole place. Returns whose waits were lifted. A member goes with its group.
 */
export async function standAside(tx: Transaction, id: string, hold: Hold): Promise<LiftedWait[]> {
  const unit = (await holdersById(tx, [id])).get(id);
  if (unit === undefined || unit.unit !== unit.id) return [];
  const text = `UPDATE claim_holder SET holds = array_append(array_remove(holds, $2), $2),
    phase = CASE phase WHEN 'clear' THEN 'at_gate' ELSE phase END WHERE id = $1`;
  await tx.query({ name: 'claim-holder-held', text, values: [id, holdKeyOf(hold)] });
  const lifted = unit.phase === 'clear' || unit.phase === 'at_gate' ? await liftWaitsFor(tx, id) : [];
  return [...lifted, ...(await liftWaitsInPlaces(tx, [id]))];
}

/** It is released: nothing holds it, and it stands in its places again. */
export async function endEachHold(tx: Transaction, id: string): Promise<void> {
  await tx.query({
    name: 'claim-holder-free',
    text: `UPDATE claim_holder SET holds = '{}' WHERE id = $1`,
    values: [id],
  });
}

/** Of one that waits: it was told for whom. It may stand aside since. */
export const wasTold = ({ phase }: Holder): boolean => phase !== 'deciding';

/** Those of these that stand aside, or are to wait. */
export async function notClearAmong(tx: Transaction, ids: string[]): Promise<Set<string>> {
  const text = `SELECT id FROM claim_holder WHERE id = ANY ($1::text[]) AND phase <> 'clear'`;
  const { rows } = await tx.query<{ id: string }>({ name: 'claim-holder-not-clear', text, values: [ids] });
  return new Set(rows.map((row) => row.id));
}

/** It is under way, and others wait for it again. */
export async function stepBack(tx: Transaction, id: string): Promise<void> {
  const text = `UPDATE claim_holder SET phase = 'clear', holds = '{}' WHERE id = $1`;
  await tx.query({ name: 'claim-holder-step-back', text, values: [id] });
}

/** It goes behind all that are in the order by now. */
export async function moveBack(tx: Transaction, id: string, rank: bigint): Promise<void> {
  const text = 'UPDATE claim_holder SET rank = $2, is_moved = true WHERE id = $1';
  await tx.query({ name: 'claim-holder-back', text, values: [id, rank] });
}

/** Of a unit that was told to wait, the time of this number; false where it was told before, or decided anew since. */
export async function movedToWaiting(tx: Transaction, id: string, round: number): Promise<boolean> {
  const text = `UPDATE claim_holder SET phase = 'waiting' WHERE id = $1 AND phase = 'deciding' AND rounds = $2`;
  return (await tx.query({ name: 'claim-holder-told', text, values: [id, round] })).rowCount === 1;
}

interface Edge {
  child: string;
  parent: string;
}

/** Containers around these items, in any number of steps: as concluded documents tell, and as open ones may make it. */
export async function containersAround(tx: Transaction, items: string[]): Promise<Edge[]> {
  const text = `SELECT c.child, c.parent FROM item_container c WHERE c.child = ANY ($1::text[])
    UNION ALL SELECT c.item, c.parent FROM item_claim c WHERE c.item = ANY ($1::text[]) AND c.parent IS NOT NULL`;
  const edges: Edge[] = [];
  await reachByLevels(items, async (level) => {
    const { rows } = await tx.query<Edge>({ name: 'item-containers', text, values: [level] });
    for (const edge of rows) edges.push(edge);
    return rows.map(({ parent }) => parent);
  });
  return edges;
}

interface ClaimRow {
  item: string;
  isExclusive: boolean;
  holder: number;
  unit: string;
  commandId: string;
  requestId: string;
}

const CLAIM = `c.item, c.is_exclusive AS "isExclusive", c.holder::float8 AS holder, h.unit,
  h.told_command AS "commandId", h.told_id AS "requestId"`;

/**
 * Whether a claim `c` of a unit `u` is one that others meet, beside STUCK: which is read where one that waits is met in
 * a place, and else not.
 */
const IS_MET = `u.phase <> 'at_gate'
  AND (u.phase = 'clear' OR NOT ${isPlaceIn('c.item')} OR u.id NOT IN (SELECT id FROM stuck))`;

/** Claims of units on these items: all on what is claimed exclusively, and the exclusive ones on what is intended. */
export async function claimsOn(tx: Transaction, exclusive: string[], intended: string[]): Promise<Claim[]> {
  if (exclusive.length + intended.length === 0) return [];
  const text = `WITH RECURSIVE ${STUCK} SELECT ${CLAIM} FROM item_claim c JOIN claim_holder h ON h.number = c.holder
      JOIN claim_holder u ON u.id = h.unit
    WHERE ${IS_MET} AND (c.item = ANY ($1::text[]) OR (c.item = ANY ($2::text[]) AND c.is_exclusive))`;
  const { rows } = await tx.query<ClaimRow>({ name: 'item-claims-on', text, values: [exclusive, intended] });
  return rows.map(claimOf);
}

/** The newest of what a unit meets. Who waits for one is decided anew when that has ended: older ones count then. */
const MOST_MEETINGS = 20_000;

/**
 * $1: a unit, $2: its rank, $3: units that go after it. Of the many that mean a place no row is read for one that means
 * it too.
 */
export const MEETINGS = `WITH RECURSIVE ${STUCK} SELECT DISTINCT ${CLAIM}
    FROM claim_holder me JOIN item_claim mine ON mine.holder = me.number
    JOIN LATERAL (
      SELECT * FROM item_claim WHERE item = mine.item AND is_exclusive
      UNION ALL SELECT * FROM item_claim WHERE item = mine.item AND mine.is_exclusive AND NOT is_exclusive
    ) c ON true
    JOIN claim_holder h ON h.number = c.holder AND h.unit <> $1 AND h.unit <> ALL ($3::text[])
    JOIN claim_holder u ON u.id = h.unit
    WHERE (me.id = $1 OR (me.unit = $1 AND me.unit <> me.id)) AND ${IS_MET}
      AND (u.rank < $2 OR u.phase = 'clear')
    ORDER BY holder DESC LIMIT ${MOST_MEETINGS}`;

/**
 * Whom a unit meets by the claims in the tables: units before it in the order, and those that may be under way,
 * whatever their place and its own. `behind`: those that go after it anyway.
 */
export async function meetingsOf(
  tx: Transaction,
  { id, rank }: Pick<Holder, 'id' | 'rank'>,
  behind: Set<string>,
): Promise<Claim[]> {
  const { rows } = await tx.query<ClaimRow>({ name: 'item-meetings', text: MEETINGS, values: [id, rank, [...behind]] });
  return rows.map(claimOf);
}

const claimOf = ({ commandId, requestId, ...claim }: ClaimRow): Claim => ({ ...claim, told: { commandId, requestId } });
