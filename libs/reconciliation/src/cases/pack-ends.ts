import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { CaseCommand } from '#domain';
import { parquet, quoted, type Duck } from '#duckdb';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { findingsFile, readRun, type LegInput } from '../comparison/run-record.js';
import { OVERRIDES } from '../comparison/rules.js';
import { BUCKETS, REFUSED_ITEMS } from '../snapshots/manifest.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import { CASE_ITEMS_FILE } from './pack-groups.js';
import { namesIn } from '../runs/run-folder.js';
import type { PackOpening } from './pack-opening.js';
import { loadUnproven, OF_UNPROVEN } from './unproven.js';

const AT_ONCE = 1_000;
const HOUR_MS = 3_600_000;
/** By which cells of the stock a finding was found. */
const FOUND_BY = {
  place: "code = 'owner_or_branch_mismatch' AND s_place IS NOT NULL",
  series: "code = 'attribute_mismatch' AND s_series <> g_series",
  expiry:
    "(code = 'attribute_mismatch' AND s_expiry <> g_expiry) OR (code = 'expired_in_stock' AND s_expiry IS NOT NULL)",
  funding: "code = 'funding_mismatch'",
  part: "code = 'part_mismatch'",
  owner: "code IN ('held_for_others', 'owner_or_branch_mismatch') AND s_owner <> g_owner",
};
const CELLS = Object.keys(FOUND_BY) as (keyof typeof FOUND_BY)[];
const LAST_ITEM = '(case_id, code, item, answers, part, file)';

/** Files of items of earlier runs, by the id of the run. */
export async function findEarlierRuns({ folder, options }: PackOpening): Promise<Map<string, string>> {
  const parent = dirname(resolve(folder));
  const beside = async (): Promise<string[]> => (await namesIn(parent)).map((name) => join(parent, name));
  const found = new Map<string, string>();
  for (const one of options.earlier ?? (await beside())) {
    const file = join(resolve(one), CASE_ITEMS_FILE);
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    const record = isThere ? await readRun(one).catch(() => undefined) : undefined;
    if (record !== undefined) found.set(record.inputs, file);
  }
  return found;
}

/**
 * Unresolved cases that the run did not find though it looked for all of their items: with the same sides and places,
 * and, where the registry is a side, with an answer of it for each item. An answer of another moment, a denied one, or
 * one that is older than that of the last sighting, is none. Nor is a stock that does not tell what was compared, nor
 * what explains a difference and proves nothing: a document in flight, a sale that may come, a place that nobody tells.
 * Where the items of the last run are not at hand nothing is told.
 */
export async function* packCasesOver(
  opening: PackOpening,
  earlier: Map<string, string>,
): AsyncGenerator<{ over: CaseCommand[]; notCovered: number }> {
  const { duck, run, findingsSha256 } = opening;
  await duck.run(`CREATE TABLE candidate (case_id VARCHAR, code VARCHAR, file VARCHAR, first BIGINT, behind BIGINT,
      answers BOOLEAN, part BOOLEAN); CREATE TABLE last_item (case_id VARCHAR, code VARCHAR, item VARCHAR,
      answers BOOLEAN, part BOOLEAN, file VARCHAR, answered_at BIGINT,
      ${CELLS.map((cell) => `by_${cell} BOOLEAN`).join(', ')})`);
  let notCovered = await loadCandidates(opening, earlier);
  await loadLastItems(opening);
  for (let after = ''; ;) {
    const rows = await duck.rows<{ case_id: string; over: boolean }>(
      `SELECT case_id, case_id NOT IN (SELECT case_id FROM not_over) AS over FROM candidate
       WHERE case_id > ${quoted(after)} ORDER BY case_id LIMIT ${AT_ONCE}`,
    );
    const over = rows.filter((one) => one.over);
    notCovered += rows.length - over.length;
    yield {
      over: over.map(({ case_id: caseId }): CaseCommand => ({ type: 'Miss', caseId, run, findingsSha256 })),
      notCovered,
    };
    notCovered = 0;
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)?.case_id ?? '';
  }
}

/** Returns how many cases cannot be judged by this run. */
async function loadCandidates(
  { options, duck, record, run }: PackOpening,
  earlier: Map<string, string>,
): Promise<number> {
  let notCovered = 0;
  for (let after = ''; ;) {
    const { rows } = await options.db.query<CaseRow>({
      name: 'pack-cases-unresolved',
      text: `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case WHERE run_kind = 'packs'
        AND phase <> 'resolved' AND case_id > $1 AND last_seen_at < $2 AND last_run <> $3 ORDER BY case_id LIMIT $4`,
      values: [after, new Date(run.moment), run.id, AT_ONCE],
    });
    const values = rows.flatMap((row) => {
      const { lastSeen, cause } = row.state;
      const file = earlier.get(lastSeen.run.id);
      const isPart = cause.kind === 'part';
      if (!looksFor(record, row) || (file === undefined && !isPart)) return [];
      const answers = lastSeen.legs?.includes('registry') === true;
      const { from = 0, to = 0 } = isPart ? {} : (lastSeen.rows ?? {});
      const texts = [row.caseId, row.code, isPart ? '' : (file as string)].map(quoted).join(', ');
      return [{ text: `(${texts}, ${from}, ${to}, ${answers}, ${isPart})`, row }];
    });
    notCovered += rows.length - values.length;
    if (values.length > 0) await duck.run(`INSERT INTO candidate VALUES ${values.map(({ text }) => text).join(', ')}`);
    const items = values.flatMap(({ row: { caseId, code, state } }) => {
      const file = quoted(earlier.get(state.lastSeen.run.id) ?? '');
      const rest = `${hasRegistry(state.lastSeen)}, true, ${file}`;
      return state.cause.kind !== 'part'
        ? []
        : state.cause.items.map((item) => `(${[caseId, code, item].map(quoted).join(', ')}, ${rest})`);
    });
    if (items.length > 0) await duck.run(`INSERT INTO last_item ${LAST_ITEM} VALUES ${items.join(', ')}`);
    if (rows.length < AT_ONCE) return notCovered;
    after = rows.at(-1)?.caseId ?? '';
  }
}

const hasRegistry = ({ legs }: { legs?: string[] }): boolean => legs?.includes('registry') === true;

/** Whether the run has the sides, the places and the settings by which the case was found. */
function looksFor({ legs, places, unseen, settings }: PackOpening['record'], { code, state }: CaseRow): boolean {
  const { lastSeen } = state;
  if (unseen.includes(code) || lastSeen.legs === undefined) return false;
  if (code === 'hung_stock' && settings.hungDays === null) return false;
  if (code.startsWith('container_') && !comparesContainers(settings, lastSeen.places)) return false;
  if (lastSeen.legs.some((leg) => !Object.hasOwn(legs, leg))) return false;
  return places === null || (lastSeen.places ?? [undefined]).every((one) => one !== undefined && places.includes(one));
}

/** Whether containers are compared at all of these places. */
const comparesContainers = (
  { containers }: ComparisonSettings,
  places: readonly string[] | null | undefined,
): boolean =>
  typeof containers === 'boolean' ? containers : (places?.every((one) => containers.includes(one)) ?? false);

/** An answer that is of another moment, or denied: what it hides is not over. */
const NO_ANSWER = "('moved_during_run', 'stale_snapshot', 'not_visible_to_us')";

/** The items of the last sighting of each candidate, and `not_over`: the cases of which one was not looked at. */
async function loadLastItems({ duck, record }: PackOpening): Promise<void> {
  const files = await duck.rows<{ file: string }>("SELECT DISTINCT file FROM candidate WHERE file <> '' ORDER BY file");
  for (const { file } of files)
    await duck.run(`INSERT INTO last_item ${LAST_ITEM} SELECT c.case_id, c.code, i.item, c.answers, false, c.file
      FROM read_parquet(${quoted(file)}, file_row_number = true) i JOIN candidate c ON c.file = ${quoted(file)}
        AND i.file_row_number >= c.first AND i.file_row_number < c.behind`);
  await loadLastFindings(duck);
  await loadUnproven(duck, record);
  const { registry, stock } = record.legs;
  const answered =
    registry === undefined
      ? 'SELECT NULL::VARCHAR AS item, NULL::BIGINT AS moment LIMIT 0'
      : `SELECT item, moment FROM ${parquet(registry.files)} WHERE answer <> 'denied'`;
  await duck.run(`CREATE TABLE answered AS SELECT DISTINCT a.item, a.moment FROM (${answered}) a
      SEMI JOIN last_item l ON l.item = a.item;
    CREATE TABLE not_over AS SELECT DISTINCT case_id FROM last_item l ANTI JOIN answered a
        ON a.item = l.item AND (l.answered_at IS NULL OR a.moment >= l.answered_at) WHERE l.answers
      UNION SELECT DISTINCT l.case_id FROM last_item l JOIN found f ON f.item = l.item
        WHERE f.code IN ${NO_ANSWER} OR (l.part AND f.code = l.code)
      ${stock === undefined ? '' : `UNION ${untold(stock.files, record.settings)} ${refused(stock)}`}
      ${underWay(record)}
      UNION ${OF_UNPROVEN}
      UNION SELECT c.case_id FROM candidate c ANTI JOIN last_item l ON l.case_id = c.case_id`);
}

/** Cases of which the stock has an item without a cell that their rule compares: such a rule says nothing of it. */
function untold(stock: readonly string[], { owner }: ComparisonSettings): string {
  const missing = CELLS.map((cell) => `(l.by_${cell} AND s.${cell} IS NULL)`);
  if (owner === null) missing.push("(l.code = 'held_for_others' AND s.owner IS NULL)");
  return `SELECT DISTINCT l.case_id FROM last_item l JOIN ${parquet(stock)} s ON s.item = l.item
    WHERE ${missing.join(' OR ')}`;
}

/** And cases of which a document in flight names an item, or its container: it explains the difference till it ends. */
function underWay({ legs: { documents, record, registry }, moment, settings }: PackOpening['record']): string {
  if (documents === undefined) return '';
  const codes = OVERRIDES.find(({ code }) => code === 'in_flight')?.of ?? [];
  const containers = [record, registry].flatMap((leg) =>
    leg === undefined ? [] : [`SELECT l.item, a.container FROM last_item l JOIN ${parquet(leg.files)} a USING (item)`],
  );
  const names = ['SELECT item, item AS name FROM last_item', ...containers].join(' UNION ALL ');
  return `UNION SELECT DISTINCT l.case_id FROM last_item l JOIN (${names}) n ON n.item = l.item
      JOIN ${parquet(documents.files)} x ON x.item = n.name
    WHERE x.standing = 'in_flight' AND x.moment >= ${Date.parse(moment) - settings.inFlightHours * HOUR_MS}
      AND l.code IN (${codes.map(quoted).join(', ')})`;
}

/** And cases of which the stock has an item in a row that was refused: it may be on the shelf still. */
function refused({ folder, files }: LegInput): string {
  const items = join(folder, REFUSED_ITEMS);
  if (!existsSync(items)) return '';
  return `UNION SELECT DISTINCT l.case_id FROM last_item l SEMI JOIN ${parquet([items])} r ON r.item = l.item
    ANTI JOIN ${parquet(files)} s ON s.item = l.item`;
}

/**
 * Of each last item the moment of the answer on which its finding rests, and by which cells of the stock it was found.
 * NULL where there is no answer, or the finding is not at hand.
 */
async function loadLastFindings(duck: Duck): Promise<void> {
  const files = await duck.rows<{ file: string }>("SELECT DISTINCT file FROM last_item WHERE file <> '' ORDER BY file");
  for (const { file } of files) {
    const findings = [...Array(BUCKETS).keys()].map((bucket) => join(dirname(file), findingsFile(bucket)));
    const cells = CELLS.map((cell) => `, bool_or(coalesce(${FOUND_BY[cell]}, false)) AS by_${cell}`).join('');
    const set = CELLS.map((cell) => `, by_${cell} = f.by_${cell}`).join('');
    await duck.run(`UPDATE last_item SET answered_at = f.at${set}
      FROM (SELECT item, code, max(g_moment) AS at${cells} FROM ${parquet(findings)} GROUP BY item, code) f
      WHERE last_item.file = ${quoted(file)} AND f.item = last_item.item AND f.code = last_item.code`);
  }
}
