import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { liveSighting, packsSeen, type CaseCause, type KnownCase, type OlderItems } from '#domain';
import { listed, parquet, quoted, type Duck } from '#duckdb';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { findingsFile } from '../comparison/run-record.js';
import { OVERRIDES, RULES } from '../comparison/rules.js';
import { BUCKETS } from '../snapshots/manifest.js';
import { ItemFiles, OLD_ITEMS_FILE, type RunFolders } from './item-files.js';
import { ACTS_AT, BOXED, CELLS, FOUND_BY, ofOneCase } from './pack-groups.js';
import type { PackOpening } from './pack-opening.js';

const AT_ONCE = 1_000;

/** Items of cases that are not at hand, by the id of the case: they stay in it, whatever the run finds. */
export type NotAtHand = Map<string, OlderItems[]>;

/**
 * Makes the tables `candidate`, of cases that are not resolved, and `last_item`, of the items of their last sightings:
 * each with its place, the moment of the answer on which its finding rests, and by which cells of the stock it was
 * found. Returns what is not at hand; `whole` in `candidate` says of a case that it is none of these. `with_items` are
 * the cases that had any, also where a person has taken all of them out of another case since.
 */
export async function loadLastItems(opening: PackOpening, folders: RunFolders): Promise<NotAtHand> {
  const { duck, options } = opening;
  await duck.run(`CREATE TABLE candidate (case_id VARCHAR, code VARCHAR, kind VARCHAR, c1 VARCHAR, series VARCHAR,
      place VARCHAR, severity VARCHAR, legs VARCHAR, explained BOOLEAN, looked BOOLEAN, answers BOOLEAN,
      seen_at BIGINT, seen_by VARCHAR, whole BOOLEAN, parts INTEGER, hung_days INTEGER);
    CREATE TABLE last_rows (case_id VARCHAR, n INTEGER, run VARCHAR, file VARCHAR, first BIGINT, behind BIGINT);
    CREATE TABLE last_item (case_id VARCHAR, code VARCHAR, item VARCHAR, answers BOOLEAN, n INTEGER, file VARCHAR,
      stands_at VARCHAR, acts_at VARCHAR, answered_at BIGINT, box VARCHAR,
      ${CELLS.map((cell) => `by_${cell} BOOLEAN`).join(', ')})`);
  const missing: NotAtHand = new Map();
  await loadCandidates(opening, new ItemFiles(duck, folders, options.onWarning), missing);
  const files = await duck.rows<{ file: string }>(`SELECT DISTINCT file FROM last_rows UNION
    SELECT DISTINCT file FROM last_item WHERE file <> '' ORDER BY file`);
  for (const { file } of files) await loadItemsOf(duck, file);
  await leaveWhatIsOfOthers(duck, missing);
  if (missing.size > 0)
    await duck.run(`UPDATE candidate SET whole = false WHERE case_id IN ${listed([...missing.keys()])}`);
  await takeAtWorst(duck);
  // An item may stand in the rows of several runs.
  await duck.run(`CREATE TABLE with_items AS SELECT DISTINCT case_id FROM last_item;
    DELETE FROM last_item USING last_item newer WHERE newer.case_id = last_item.case_id
      AND newer.item = last_item.item AND newer.n < last_item.n`);
  warn(opening, missing);
  return missing;
}

/** Takes out of `last_item` what is in parts, which are read behind it: a later one makes what is told stale. */
export const leaveParts = (duck: Duck): Promise<void> =>
  duck.run(`DELETE FROM last_item USING part_item p WHERE p.code = last_item.code AND p.item = last_item.item
    AND p.part <> last_item.case_id`);

async function loadCandidates(opening: PackOpening, files: ItemFiles, missing: NotAtHand): Promise<void> {
  const { options, duck, record, run } = opening;
  for (let after = ''; ;) {
    const { rows } = await options.db.query<CaseRow>({
      name: 'pack-cases-unresolved',
      text: `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case
        WHERE phase <> 'resolved' AND case_id > $1 AND packs_seen_at <= $2 AND packs_runs ->> 0 <> $3
        ORDER BY case_id LIMIT $4`,
      values: [after, new Date(run.moment), run.id, AT_ONCE],
    });
    const live = rows.filter(({ state }) => liveSighting(state, 'packs') !== undefined);
    const loaded = { items: [] as string[], rows: [] as string[] };
    for (const row of live) await findItems(row, { files, missing, loaded });
    await insert(
      duck,
      'candidate',
      live.map((row) => candidateOf(row, looksFor(record, row))),
    );
    await insert(duck, 'last_item (case_id, code, item, answers, n, file)', loaded.items);
    await insert(duck, 'last_rows', loaded.rows);
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)?.caseId ?? '';
  }
}

const insert = async (duck: Duck, table: string, rows: readonly string[]): Promise<void> =>
  rows.length === 0 ? undefined : duck.run(`INSERT INTO ${table} VALUES ${rows.map((row) => `(${row})`).join(', ')}`);

interface Finding {
  files: ItemFiles;
  missing: NotAtHand;
  /** Rows of `last_item` and `last_rows`. */
  loaded: { items: string[]; rows: string[] };
}

const isUntoldPart = (state: KnownCase): boolean => {
  const { rows } = packsSeen(state);
  return state.cause.kind === 'part' && (rows === undefined || rows.from === rows.to);
};

function lastOf(state: KnownCase): OlderItems {
  const { run, count, rows } = packsSeen(state);
  return rows === undefined ? { run: run.id, count } : { run: run.id, count: rows.to - rows.from, rows };
}

/** Where its items stand. A part names its items itself, until a run has told which of them are left. */
async function findItems({ caseId, code, state }: CaseRow, { files, missing, loaded }: Finding): Promise<void> {
  const { older = [], legs } = packsSeen(state);
  const last = lastOf(state);
  const isUntold = isUntoldPart(state);
  if (isUntold) {
    const rest = `${legs?.includes('registry') === true}, 0, ${quoted((await files.find(last)) ?? '')}`;
    const items = itemsOf(state.cause).map((item) => `${[caseId, code, item].map(quoted).join(', ')}, ${rest}`);
    loaded.items.push(...items);
  }
  for (const [n, one] of [...(isUntold ? [] : [last]), ...older].entries()) {
    const file = one.rows === undefined ? undefined : await files.find(one);
    if (file === undefined || one.rows === undefined) missing.set(caseId, [...(missing.get(caseId) ?? []), one]);
    else
      loaded.rows.push(
        `${quoted(caseId)}, ${n + 1}, ${quoted(one.run)}, ${quoted(file)}, ${one.rows.from}, ${one.rows.to}`,
      );
  }
}

const itemsOf = (cause: CaseCause): string[] => (cause.kind === 'part' ? cause.items : []);
const textOf = (text: string | null): string => (text === null ? 'NULL' : quoted(text));

function candidateOf({ caseId, code, severity, phase, state }: CaseRow, looked: boolean): string {
  const { legs = [], run, hungDays } = packsSeen(state);
  const texts = [caseId, code, ...keyOf(caseId, state.cause), severity, legs.join(' ')];
  const flags = [phase === 'explained', looked, legs.includes('registry')];
  const seen = [String(Date.parse(run.moment)), quoted(run.id)];
  const counts = [state.parts.length, hungDays ?? 'NULL'];
  return [...texts.map(textOf), ...flags, ...seen, 'true', ...counts].join(', ');
}

/** Kind, c1, series and place of the group of a cause. */
function keyOf(caseId: string, cause: CaseCause): (string | null)[] {
  if (cause.kind === 'series') return [cause.kind, cause.gtin, cause.series, cause.place];
  const c1 = cause.kind === 'document' ? cause.document : cause.kind === 'container' ? cause.container : caseId;
  return [cause.kind, c1, null, null];
}

/** Rows are of a case when its cause stands in them; those of the oldest files have none. */
async function loadItemsOf(duck: Duck, file: string): Promise<void> {
  const isOld = basename(file) === OLD_ITEMS_FILE;
  await duck.run(`INSERT INTO last_item (case_id, code, item, answers, n, file)
    SELECT c.case_id, c.code, i.item, c.answers, r.n, r.file
    FROM read_parquet(${quoted(file)}, file_row_number = true) i JOIN last_rows r ON r.file = ${quoted(file)}
        AND i.file_row_number >= r.first AND i.file_row_number < r.behind
      JOIN candidate c ON c.case_id = r.case_id AND ${isOld ? 'c.code = i.code' : ofOneCase('c', 'i')}`);
  await loadLastFindings(duck, file);
}

/** A file without a digest in its name may be that of another run with the same inputs: then its rows are of others. */
async function leaveWhatIsOfOthers(duck: Duck, missing: NotAtHand): Promise<void> {
  await duck.run(`CREATE TABLE of_others AS
    SELECT r.case_id, r.n, r.run, r.file, r.first AS from, r.behind AS to FROM last_rows r LEFT JOIN (
      SELECT case_id, n, count(*) AS items FROM last_item GROUP BY case_id, n) i USING (case_id, n)
    WHERE coalesce(i.items, 0) <> r.behind - r.first`);
  const others = await duck.rows<{ case_id: string; run: string; file: string; from: bigint; to: bigint }>(
    'SELECT * EXCLUDE (n) FROM of_others',
  );
  for (const { case_id: caseId, run, file, ...rows } of others) {
    const [from, to] = [Number(rows.from), Number(rows.to)];
    const one = { run, count: to - from, rows: { file: basename(file), from, to } };
    missing.set(caseId, [...(missing.get(caseId) ?? []), one]);
  }
  await duck.run(`DELETE FROM last_item USING of_others o WHERE o.case_id = last_item.case_id AND o.n = last_item.n`);
}

/**
 * Of what the finding is not at hand, all is taken to be needed: an answer as of the sighting, and each cell by which
 * its code is found.
 */
async function takeAtWorst(duck: Duck): Promise<void> {
  const cells = CELLS.map((cell) => `by_${cell} = last_item.code IN ${listed(codesOf(FOUND_BY[cell]))}`).join(', ');
  await duck.run(`UPDATE last_item SET answered_at = c.seen_at, ${cells} FROM candidate c
    WHERE c.case_id = last_item.case_id AND last_item.by_place IS NULL`);
}

const codesOf = (condition: string): string[] => [...condition.matchAll(/'([a-z_]+)'/g)].map(([, code = '']) => code);

function warn({ options }: PackOpening, missing: NotAtHand): void {
  const [first] = missing.keys();
  if (first === undefined) return;
  const what = missing.size === 1 ? 'one case has' : `${missing.size} cases have`;
  options.onWarning?.(`${what} items that are not at hand, and keep them; one is ${first}`);
}

/** Disposals and documents explain all differences, and tell those alone whose rules need them. */
const canTell = (leg: string, code: string): boolean =>
  ['stock', 'record', 'registry'].includes(leg) ||
  [...RULES, ...OVERRIDES].some((one) => one.code === code && one.needs.some((needed) => needed === leg));

/** Whether the run has the sides and the settings by which the case was found. */
function looksFor({ legs, unseen, settings }: PackOpening['record'], { code, state }: CaseRow): boolean {
  const seen = packsSeen(state);
  if (unseen.includes(code) || seen.legs === undefined) return false;
  if (code === 'hung_stock' && settings.hungDays === null) return false;
  if (code.startsWith('container_') && settings.containers === false) return false;
  return seen.legs.every((leg) => Object.hasOwn(legs, leg) || !canTell(leg, code));
}

/**
 * What is known of the items of a file. A run of before these stood there has them in its findings; NULL where there is
 * no answer, or the finding is not at hand.
 */
async function loadLastFindings(duck: Duck, file: string): Promise<void> {
  await duck.run(`UPDATE last_item SET stands_at = i.stands_at FROM read_parquet(${quoted(file)}) i
    WHERE last_item.file = ${quoted(file)} AND i.item = last_item.item AND i.code = last_item.code`);
  const findings = [...Array(BUCKETS).keys()].map((bucket) => join(dirname(file), findingsFile(bucket)));
  if (basename(file) === OLD_ITEMS_FILE && !findings.every((one) => existsSync(one))) return;
  const { from, at, box, actsAt, by } =
    basename(file) === OLD_ITEMS_FILE ? inFindings(findings) : await inItems(duck, file);
  const cells = CELLS.map((cell) => `, bool_or(coalesce(${by(cell)}, false)) AS by_${cell}`).join('');
  const set = CELLS.map((cell) => `, by_${cell} = f.by_${cell}`).join('');
  await duck.run(`UPDATE last_item SET answered_at = f.at, box = f.box, acts_at = f.acts_at${set}
    FROM (SELECT item, code, max(${at}) AS at, any_value(${box}) AS box, any_value(${actsAt}) AS acts_at${cells}
      FROM ${from} GROUP BY item, code) f
    WHERE last_item.file = ${quoted(file)} AND f.item = last_item.item AND f.code = last_item.code`);
}

/** From what the things known of an item are read, and how each. */
interface ToldBy {
  from: string;
  at: string;
  box: string;
  actsAt: string;
  by(cell: (typeof CELLS)[number]): string;
}

const inFindings = (files: string[]): ToldBy => ({
  ...{ from: parquet(files), at: 'g_moment', box: `CASE WHEN NOT (${BOXED}) THEN '' END`, actsAt: ACTS_AT },
  by: (cell) => FOUND_BY[cell],
});

/** Files of earlier versions tell neither `box` nor `acts_at`. */
async function inItems(duck: Duck, file: string): Promise<ToldBy> {
  const columns = await duck.rows<{ name: string }>(`SELECT name FROM parquet_schema(${quoted(file)})`);
  const orNull = (name: string): string => (columns.some((one) => one.name === name) ? name : 'NULL::VARCHAR');
  const [box, actsAt] = [orNull('box'), orNull('acts_at')];
  return { from: parquet([file]), at: 'answered_at', box, actsAt, by: (cell) => `by_${cell}` };
}
