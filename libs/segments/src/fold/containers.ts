import type { Duck } from '#duckdb';
import { DOES, type Meanings } from './meanings.js';
import { ENDLESS, firstKey, keyOf, ORDINALS } from './keys.js';

/** Containers within containers are followed so far, as the history of one pack does. */
const MOST_NESTING = 8;
/** Openings that open what nests within are followed so far outwards. */
const MOST_CASCADE = 6;

/** The kinds of movement of which the last one counts: the lowest bits, in their order. */
export const KINDS = [DOES.applied, DOES.status, DOES.place, DOES.doubt] as const;

/** What happened to each container, through outer ones too, by its number: rows `begins[id]` to `begins[id + 1]`. */
export interface Carried {
  begins: Int32Array;
  /** Ascending. */
  key: Float64Array;
  meaning: Int32Array;
  /** The last row of each kind up to and with a row; -1 for none. */
  last: Int32Array[];
  /** Documents that set free what lay in it: ranks `releaseBegins[id]` to `releaseBegins[id + 1]`, ascending. */
  releaseBegins: Int32Array;
  release: Int32Array;
  /** 1 for a container whose packs are walked movement by movement. */
  isUnusual: Uint8Array;
}

/** The stays of containers in containers, and from them what a pack needs of each container. */
export async function foldContainers(duck: Duck, meanings: Meanings): Promise<Carried> {
  await beginStays(duck);
  await cascade(duck);
  await moveThroughStays(duck);
  const [size] = await duck.rows<{ containers: bigint; rows: bigint; releases: bigint }>(
    `SELECT (SELECT count(*) FROM container) AS containers, (SELECT count(*) FROM container_movement) AS rows,
      (SELECT count(*) FROM release) AS releases`,
  );
  const containers = Number(size?.containers ?? 0);
  const moved = await readMovements(duck, { containers, rows: Number(size?.rows ?? 0), meanings });
  const released = await readReleases(duck, { containers, releases: Number(size?.releases ?? 0) });
  await duck.run('DROP TABLE container_movement; DROP TABLE release');
  return { ...moved, ...released };
}

const beginStays = (duck: Duck): Promise<void> =>
  duck.run(`
    CREATE TABLE opening AS SELECT id, rank, bool_or(containment = 'opened_all') AS cascades
      FROM container_row WHERE containment IN ('opened', 'opened_all') GROUP BY ALL;
    CREATE TABLE change AS SELECT DISTINCT id, rank FROM container_row WHERE containment IS NOT NULL;
    CREATE TABLE packing AS SELECT id AS child, rank AS from_rank, arg_max(parent, ordinal) AS parent
      FROM container_row WHERE containment = 'packed' GROUP BY ALL;
    CREATE TABLE stay_begun AS SELECT p.*, own.rank AS own_to, o.rank AS open_to, o.cascades AS open_cascades
      FROM packing p ASOF LEFT JOIN change own ON p.child = own.id AND p.from_rank < own.rank
      ASOF LEFT JOIN opening o ON p.parent = o.id AND p.from_rank < o.rank;
    CREATE TABLE stay AS ${stays('SELECT NULL::INTEGER AS child, NULL::BIGINT AS to_rank WHERE false')};
    CREATE TABLE outer_stay AS FROM stay`);

const moveThroughStays = (duck: Duck): Promise<void> =>
  duck.run(`
    CREATE TABLE release AS SELECT id, rank FROM opening
      UNION SELECT child, to_rank FROM outer_stay WHERE cascades;
    CREATE TABLE carrier AS WITH RECURSIVE carrier AS (
        SELECT id, id AS outer_id, -1::BIGINT AS from_rank, ${ENDLESS}::BIGINT AS to_rank, 0 AS depth FROM container
        UNION
        SELECT c.id, s.parent, greatest(c.from_rank, s.from_rank), least(c.to_rank, coalesce(s.to_rank, ${ENDLESS})),
          c.depth + 1
        FROM carrier c JOIN stay s ON s.child = c.outer_id
        WHERE c.depth < ${MOST_NESTING - 1}
          AND greatest(c.from_rank, s.from_rank) < least(c.to_rank, coalesce(s.to_rank, ${ENDLESS})))
      FROM carrier;
    CREATE TABLE container_movement AS SELECT c.id, ${keyOf('r.rank', 'r.ordinal')} AS key, r.meaning
      FROM carrier c JOIN container_row r ON r.id = c.outer_id AND r.rank > c.from_rank AND r.rank <= c.to_rank
      QUALIFY row_number() OVER (
        PARTITION BY c.id, r.rank, r.ordinal, r.result = 'refused' ORDER BY c.depth, r.item) = 1;
    DROP TABLE carrier; DROP TABLE stay; DROP TABLE outer_stay; DROP TABLE stay_begun; DROP TABLE packing;
    DROP TABLE change; DROP TABLE opening`);

/** Stays, each ended by what comes first; `outer` has the ends of stays that open what nests within. */
const stays = (outer: string): string => `
  SELECT child, parent, from_rank, to_rank,
      coalesce(open_cascades AND open_to = to_rank, false) OR coalesce(out_to = to_rank, false) AS cascades
  FROM (SELECT b.*, o.to_rank AS out_to, least(b.own_to, b.open_to, o.to_rank) AS to_rank
    FROM stay_begun b ASOF LEFT JOIN (${outer}) o ON b.parent = o.child AND b.from_rank < o.to_rank)`;

/** Until nothing changes: once, where nothing opens all within. `outer_stay` is a step behind at the limit (rings). */
async function cascade(duck: Duck): Promise<void> {
  for (let step = 0; step < MOST_CASCADE; step += 1) {
    await duck.run(`DROP TABLE outer_stay; ALTER TABLE stay RENAME TO outer_stay;
      CREATE TABLE stay AS ${stays('SELECT child, to_rank FROM outer_stay WHERE cascades')}`);
    const [changed] = await duck.rows<{ n: bigint }>(
      'SELECT count(*) AS n FROM (FROM stay EXCEPT ALL FROM outer_stay)',
    );
    if (changed?.n === 0n) return;
  }
}

type Moved = Omit<Carried, 'release' | 'releaseBegins'>;

async function readMovements(
  duck: Duck,
  { containers, rows: count, meanings }: { containers: number; rows: number; meanings: Meanings },
): Promise<Moved> {
  const [begins, isUnusual] = [new Int32Array(containers + 2), new Uint8Array(containers + 1)];
  const [key, meaning] = [new Float64Array(count), new Int32Array(count)];
  const last = KINDS.map(() => new Int32Array(count));
  let at = 0;
  for await (const rows of duck.numbers('SELECT id, key::DOUBLE, meaning FROM container_movement ORDER BY id, key')) {
    const [ids, keys, means] = [rows.integers(0), rows.doubles(1), rows.integers(2)];
    for (let n = 0; n < rows.count; n += 1, at += 1) {
      const id = ids[n] as number;
      const isFirst = begins[id + 1] === 0;
      begins[id + 1] = at + 1;
      key[at] = keys[n] as number;
      meaning[at] = means[n] as number;
      const does = meanings.does[means[n] as number] as number;
      last.forEach((rowsOf, kind) => {
        if (((does >> kind) & 1) === 1) rowsOf[at] = at;
        else rowsOf[at] = isFirst ? -1 : (rowsOf[at - 1] as number);
      });
      if ((does & DOES.unusual) > 0) isUnusual[id] = 1;
    }
  }
  return { begins: filled(begins), key, meaning, last, isUnusual };
}

async function readReleases(
  duck: Duck,
  { containers, releases }: { containers: number; releases: number },
): Promise<Pick<Carried, 'release' | 'releaseBegins'>> {
  const [begins, release] = [new Int32Array(containers + 2), new Int32Array(releases)];
  let at = 0;
  for await (const rows of duck.numbers('SELECT id, rank::INTEGER FROM release ORDER BY id, rank')) {
    const [ids, ranks] = [rows.integers(0), rows.integers(1)];
    for (let n = 0; n < rows.count; n += 1, at += 1) {
      release[at] = ranks[n] as number;
      begins[(ids[n] as number) + 1] = at + 1;
    }
  }
  return { releaseBegins: filled(begins), release };
}

/** Ends that were noted for some: whoever has no rows ends where the one before ends. */
function filled(begins: Int32Array): Int32Array {
  for (let n = 1; n < begins.length; n += 1) begins[n] = Math.max(begins[n] as number, begins[n - 1] as number);
  return begins;
}

/** The rank of the first document after `from` that set free what lay in the container; ENDLESS for none. */
export function releaseAfter({ releaseBegins, release }: Carried, container: number, from: number): number {
  const end = releaseBegins[container + 1] as number;
  const at = firstAbove(release, { from: releaseBegins[container] as number, to: end }, from);
  return at === end ? ENDLESS : (release[at] as number);
}

/** The last row of a container up to and with the document of this rank; one before its first for none. */
export function rowUpTo({ begins, key }: Carried, container: number, rank: number): number {
  const range = { from: begins[container] as number, to: begins[container + 1] as number };
  return firstAbove(key, range, firstKey(rank) + ORDINALS - 1) - 1;
}

function firstAbove(
  sorted: Int32Array | Float64Array,
  { from, to }: { from: number; to: number },
  value: number,
): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
