import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfFile, digestOfLines, listed, parquet, quoted, type Duck } from '#duckdb';
import { PedigreeError } from '#kernel';
import { CANONICAL, durable } from '../comparison/compare-buckets.js';
import { HELD_IN, openRun } from '../comparison/joined.js';
import { refuseOldFiles } from '../comparison/old-files.js';
import { loadRefused } from '../comparison/refused-rows.js';
import type { ComparisonResult } from '../comparison/run-comparison.js';
import type { RunRecord } from '../comparison/run-record.js';
import { itemsFileName } from './item-files.js';

/** By which cells of the stock a finding was found, over the columns of findings. */
export const FOUND_BY = {
  place: "code = 'owner_or_branch_mismatch' AND s_place IS NOT NULL",
  series: "code = 'attribute_mismatch' AND s_series <> g_series",
  expiry:
    "(code = 'attribute_mismatch' AND s_expiry <> g_expiry) OR (code = 'expired_in_stock' AND s_expiry IS NOT NULL)",
  funding: "code = 'funding_mismatch'",
  part: "code = 'part_mismatch'",
  owner: "code IN ('held_for_others', 'owner_or_branch_mismatch') AND s_owner <> g_owner",
};
export const CELLS = Object.keys(FOUND_BY) as (keyof typeof FOUND_BY)[];

/** Whether the item of a finding stands in no row of the stock, but in a container of it. */
export const BOXED = 'copies IS NULL AND coalesce(held, false)';
/** Of what is put down to a container of the registry: where the document that opens it acts. */
export const ACTS_AT = "CASE WHEN code = 'container_mismatch' THEN coalesce(g_place, r_place, s_place) END";

/** Findings of one code and one cause. */
export interface PackGroup {
  code: string;
  kind: 'document' | 'container' | 'series' | 'part';
  /** request_id (a log position where no document is known there), SSCC, GTIN, or the id of the part. */
  c1: string;
  series: string | null;
  place: string | null;
  count: number;
  /** How many of these the run did not find, and could not judge. */
  unjudged: number;
  first: number;
  /** 0 critical, 1 warning, 2 information. */
  severity: number;
  /** At most one more than are named. */
  places: (string | null)[];
}

/** These speak of a product and its series, also where the packs are in containers. */
const BY_SERIES = [
  ...['attribute_mismatch', 'suspended_in_stock', 'suspended_in_transit', 'expired_in_stock', 'hung_stock'],
  ...['expired_auto_written_off', 'master_data_error', 'unmapped_status', 'stale_snapshot', 'moved_during_run'],
];
/** Off the shelf these rest on what our record says, and that on a document. */
const BY_DOCUMENT = [
  ...['missing_in_registry', 'sold_here_open_in_registry', 'awaiting_counterparty', 'undetermined_item'],
  ...['status_mismatch', 'container_mismatch', 'container_dissolved', 'owner_or_branch_mismatch'],
];
/** Put down to the document of ours that was to prevent them, by its request_id. */
const BY_UNFINISHED = ['rejected_document', 'halted_in_group', 'overdue_document'];
/** Put down to the container that the registry tells: to open that one is a remedy. */
const BY_REGISTRY = 'container_mismatch';
const MOST_LEVELS = 10;
export const MOST_PLACES = 20;

/** @throws PedigreeError `not_found` when a file of findings is not the one that the run wrote. */
export async function checkFindings(duck: Duck, folder: string, { buckets }: ComparisonResult): Promise<void> {
  for (const { file, sha256 } of buckets) {
    const path = join(folder, file);
    if ((await digestOfLines(duck, { file: path, line: CANONICAL })) === sha256) continue;
    throw new PedigreeError('not_found', `${path} is not what the run found: its digest is another`, { file: path });
  }
}

/**
 * Columns of the items beside the cause: where the item stands, and on what its finding rests. `box`: it was in no
 * row of the stock, but in this container of it; empty: in none; NULL: nobody knows. `acts_at`: as {@link ACTS_AT}.
 */
const ITEM_COLUMNS = {
  ...{ item: 'VARCHAR', severity: 'VARCHAR', stands_at: 'VARCHAR', acts_at: 'VARCHAR', box: 'VARCHAR' },
  ...{ carried: 'BOOLEAN', told: 'BOOLEAN', answered_at: 'BIGINT' },
  ...Object.fromEntries(CELLS.map((cell) => [`by_${cell}`, 'BOOLEAN'])),
};
const CAUSE_COLUMNS = ['code', 'kind', 'c1', 'series', 'place'];
/** Whether two rows, by their aliases, are of one case. */
export const ofOneCase = (one: string, other: string): string =>
  CAUSE_COLUMNS.map((name) => `${one}.${name} IS NOT DISTINCT FROM ${other}.${name}`).join(' AND ');

/**
 * Makes the view `found` of the findings of a run, and the tables that decide on causes: `lift`, of the containers
 * around others, and, empty, `part_item`, of items that persons took out of cases, `document_at`, of the documents at
 * log positions, and `carried`, of items that stay in their cases though the run did not judge them. Returns whether
 * the sides are open, so that rules can be asked about them: those of a version before cannot be.
 */
export async function beginGroups(
  duck: Duck,
  { run, folder, result: { buckets } }: { run: RunRecord; folder: string; result: ComparisonResult },
): Promise<boolean> {
  const isOpen = await openSides(duck, run);
  const files = buckets.map(({ file }) => join(folder, file));
  const columns = Object.entries(ITEM_COLUMNS).map(([name, type]) => `${name} ${type}`);
  await duck.run(`CREATE VIEW found AS SELECT item, code, severity,
      copies IS NOT NULL OR coalesce(held, false) AS on_shelf,
      CASE WHEN length(item) = 18 THEN item WHEN code = '${BY_REGISTRY}' THEN g_container
        ELSE coalesce(r_container, g_container) END AS container,
      CASE WHEN code IN ${listed(BY_UNFINISHED)} THEN x_document ELSE r_known_from::VARCHAR END AS told_by,
      coalesce(g_series, s_series) AS series, coalesce(s_place, r_place, g_place) AS place,
      coalesce(s_place, CASE WHEN held THEN coalesce(hg.place, hr.place) END, g_place, r_place) AS stands_at,
      ${ACTS_AT} AS acts_at, g_moment AS answered_at,
      CASE WHEN ${BOXED} THEN coalesce(hg.box, hr.box) ELSE '' END AS box,
      ${CELLS.map((cell) => `coalesce(${FOUND_BY[cell]}, false) AS by_${cell}`).join(', ')}
    FROM ${parquet(files)} LEFT JOIN held_in hg ON hg.container = g_container
      LEFT JOIN held_in hr ON hr.container = r_container;
    CREATE TABLE part_item (code VARCHAR, item VARCHAR, part VARCHAR);
    CREATE TABLE document_at (position VARCHAR, document VARCHAR);
    CREATE TABLE carried (${[...CAUSE_COLUMNS.map((name) => `${name} VARCHAR`), ...columns].join(', ')})`);
  await liftContainers(duck, run);
  return isOpen;
}

async function openSides(duck: Duck, run: RunRecord): Promise<boolean> {
  const isOfThisVersion = await refuseOldFiles(run.legs).then(
    () => true,
    () => false,
  );
  if (isOfThisVersion) await openRun(duck, run);
  else {
    await duck.run(`CREATE TABLE held_in ${HELD_IN}`);
    await loadRefused(duck, run.legs);
  }
  return isOfThisVersion;
}

/** Log positions of the documents that findings are put down to, in pages by their order as text. */
export async function* positionsOfCauses(duck: Duck, limit: number): AsyncGenerator<string[]> {
  for (let after = ''; ;) {
    const rows = await duck.rows<{ told_by: string }>(`SELECT DISTINCT told_by FROM found
      WHERE code IN ${listed(BY_DOCUMENT)} AND NOT on_shelf AND told_by > ${quoted(after)}
      ORDER BY told_by LIMIT ${limit}`);
    yield rows.map((row) => row.told_by);
    if (rows.length < limit) return;
    after = rows.at(-1)?.told_by ?? '';
  }
}

/**
 * Sorts all items by cause into a file, for cases name its rows, and makes the table `pack_group` of the causes,
 * numbered from 0. {@link beginGroups} was done. What does not fit into memory goes to the disk. Returns the name of
 * the file. A document that opens a container is one of the place at which the registry has it, whatever box of the
 * stock it is in.
 */
export async function groupFindings(duck: Duck, folder: string): Promise<string> {
  const name = await writeItems(duck, folder);
  await duck.run(`CREATE TABLE pack_group AS SELECT row_number() OVER (ORDER BY first) - 1 AS n, * FROM (
    SELECT code, kind, c1, series, place, count(*) AS count, count(*) FILTER (carried) AS unjudged,
      min(file_row_number) AS first,
      min(CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END)::INTEGER AS severity,
      list_slice(list(DISTINCT coalesce(CASE code WHEN '${BY_REGISTRY}' THEN acts_at ELSE stands_at END, '')), 1,
        ${MOST_PLACES + 1}) AS places
    FROM read_parquet(${quoted(join(folder, name))}, file_row_number = true)
    GROUP BY code, kind, c1, series, place) g`);
  return name;
}

/** Cases name its rows once it is there with all of them. */
async function writeItems(duck: Duck, folder: string): Promise<string> {
  const temporary = join(folder, `items-of-cases.${randomBytes(6).toString('hex')}`);
  const columns = [...CAUSE_COLUMNS, ...Object.keys(ITEM_COLUMNS)].join(', ');
  try {
    await duck.run(`COPY (WITH of_run AS MATERIALIZED (${CAUSES})
      SELECT ${columns} FROM (FROM of_run UNION ALL BY NAME ${NAMED})
      ORDER BY code, kind, c1, series, place, item) TO ${quoted(temporary)} (FORMAT parquet)`);
    const name = itemsFileName((await digestOfFile(temporary)).sha256);
    await durable(temporary);
    await rename(temporary, join(folder, name));
    await durable(folder);
    return name;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** What a finding is put down to. `stands_at`: the place of the item in the order of the rules, whatever that is. */
export const CAUSES = `SELECT f.code, f.item, f.severity, f.stands_at, f.acts_at, CASE
      WHEN p.part IS NOT NULL THEN 'part'
      WHEN f.code IN ${listed(BY_DOCUMENT)} AND NOT f.on_shelf AND f.told_by IS NOT NULL
        THEN 'document'
      WHEN f.code IN ${listed(BY_UNFINISHED)} THEN 'document'
      WHEN f.code NOT IN ${listed(BY_SERIES)} AND f.container IS NOT NULL THEN 'container'
      ELSE 'series' END AS kind,
    CASE kind WHEN 'part' THEN p.part WHEN 'document' THEN coalesce(d.document, f.told_by)
      WHEN 'container' THEN coalesce(l.top, f.container)
      ELSE CASE length(f.item) WHEN 18 THEN f.item ELSE substr(f.item, 1, 14) END END AS c1,
    CASE kind WHEN 'series' THEN f.series END AS series, CASE kind WHEN 'series' THEN f.place END AS place,
    false AS carried, true AS told, f.answered_at, f.box, ${CELLS.map((cell) => `f.by_${cell}`).join(', ')}
  FROM found f LEFT JOIN document_at d ON d.position = f.told_by
    LEFT JOIN part_item p ON p.code = f.code AND p.item = f.item
    LEFT JOIN lift l ON l.code = f.code AND l.container = f.container`;

/**
 * What is carried in cases that this run tells: those that it has judged in part, and those that it found. `of_run`:
 * what it found, once for both uses. Worked out twice at a time, a million findings did not fit into 200 MB.
 */
const NAMED = `FROM carried WHERE told UNION ALL BY NAME
  SELECT k.* FROM carried k SEMI JOIN of_run i ON ${ofOneCase('k', 'i')} WHERE NOT k.told`;

/** One lost pallet is one case: from a container to the one around it, as long as the same was found of that one. */
async function liftContainers(duck: Duck, { legs }: RunRecord): Promise<void> {
  const sides = [legs.record, legs.registry].flatMap((leg, n) =>
    leg === undefined
      ? []
      : [
          `SELECT ${n} AS side, item, container FROM ${parquet(leg.files)}
          WHERE length(item) = 18 AND container IS NOT NULL`,
        ],
  );
  const nested =
    sides.length === 0 ? 'SELECT 0 AS side, NULL AS item, NULL AS container LIMIT 0' : sides.join(' UNION ALL ');
  await duck.run(`CREATE TABLE around AS SELECT item, arg_min(container, side) AS container FROM (${nested})
      GROUP BY item;
    CREATE TABLE found_container AS SELECT DISTINCT code, item AS container FROM found WHERE length(item) = 18;
    CREATE TABLE lift AS SELECT DISTINCT code, container, container AS top FROM found
      WHERE container IS NOT NULL AND code <> '${BY_REGISTRY}'`);
  for (let level = 0; level < MOST_LEVELS; level += 1)
    await duck.run(`UPDATE lift SET top = a.container FROM around a, found_container inner_one,
      found_container outer_one WHERE a.item = lift.top AND inner_one.code = lift.code
        AND inner_one.container = lift.top AND outer_one.code = lift.code AND outer_one.container = a.container`);
}

/** Cases that a person has explained, and of which the run found an item that the last sighting did not have. */
export async function casesWithNew(duck: Duck, file: string): Promise<Set<string>> {
  const rows = await duck.rows<{ case_id: string }>(`SELECT DISTINCT c.case_id
    FROM ${parquet([file])} i JOIN candidate c ON c.explained AND ${ofOneCase('c', 'i')}
      ANTI JOIN last_item l ON l.case_id = c.case_id AND l.item = i.item`);
  return new Set(rows.map((row) => row.case_id));
}

/** Groups from number `from` on. */
export async function readGroups(duck: Duck, from: number, limit: number): Promise<PackGroup[]> {
  type Counted = 'count' | 'first' | 'unjudged';
  const rows = await duck.rows<Record<Counted, bigint> & Omit<PackGroup, Counted>>(
    `SELECT code, kind, c1, series, place, count, unjudged, first, severity, places FROM pack_group
     WHERE n >= ${from} AND n < ${from + limit} ORDER BY n`,
  );
  return rows.map((one) => ({
    ...one,
    ...{ count: Number(one.count), first: Number(one.first), unjudged: Number(one.unjudged) },
  }));
}
