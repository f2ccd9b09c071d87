import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { liveSighting, packsSeen, type CaseCause, type CaseSighting } from '#domain';
import { parquet, quoted, type Duck } from '#duckdb';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { findingsFile, readRun } from '../comparison/run-record.js';
import { OVERRIDES, RULES } from '../comparison/rules.js';
import { BUCKETS } from '../snapshots/manifest.js';
import { namesIn } from '../runs/run-folder.js';
import { CASE_ITEMS_FILE, CELLS, FOUND_BY, OLD_ITEMS_FILE } from './pack-groups.js';
import type { PackOpening } from './pack-opening.js';

const AT_ONCE = 1_000;
const LAST_ITEM = '(case_id, code, item, answers, file)';

/** Folders of earlier runs, by the id of the run. */
export async function findEarlierRuns({ folder, options }: PackOpening): Promise<Map<string, string>> {
  const parent = dirname(resolve(folder));
  const beside = async (): Promise<string[]> => (await namesIn(parent)).map((name) => join(parent, name));
  const found = new Map<string, string>();
  for (const one of options.earlier ?? (await beside())) {
    const record = await readRun(one).catch(() => undefined);
    if (record !== undefined) found.set(record.inputs, resolve(one));
  }
  return found;
}

/**
 * Makes the tables `candidate`, of cases that are not resolved, and `last_item`, of the items of their last sightings:
 * each with its place, the moment of the answer on which its finding rests, and by which cells of the stock it was
 * found. Fills `kept`, of the causes of cases whose items are not at hand, and returns how many these are.
 */
export async function loadLastItems(opening: PackOpening, earlier: Map<string, string>): Promise<number> {
  const { duck } = opening;
  await duck.run(`CREATE TABLE candidate (case_id VARCHAR, code VARCHAR, kind VARCHAR, c1 VARCHAR, series VARCHAR,
      place VARCHAR, severity VARCHAR, legs VARCHAR, explained BOOLEAN, looked BOOLEAN, file VARCHAR, first BIGINT,
      behind BIGINT, answers BOOLEAN);
    CREATE TABLE last_item (case_id VARCHAR, code VARCHAR, item VARCHAR, answers BOOLEAN, file VARCHAR,
      stands_at VARCHAR, answered_at BIGINT, ${CELLS.map((cell) => `by_${cell} BOOLEAN`).join(', ')})`);
  let absent = await loadCandidates(opening, earlier);
  const files = await duck.rows<{ file: string }>("SELECT DISTINCT file FROM candidate WHERE file <> '' ORDER BY file");
  for (const { file } of files)
    await loadItemsOf(duck, file).catch(async (error: unknown) => {
      opening.options.onWarning?.(`${file} cannot be read, so its cases stay as they are: ${String(error)}`);
      absent += await keepCasesOf(duck, file);
    });
  // The rows of a case still have what was taken out of it since.
  await duck.run(`DELETE FROM last_item USING part_item p WHERE p.code = last_item.code AND p.item = last_item.item
    AND p.part <> last_item.case_id`);
  return absent;
}

async function loadItemsOf(duck: Duck, file: string): Promise<void> {
  await duck.run(`INSERT INTO last_item ${LAST_ITEM} SELECT c.case_id, c.code, i.item, c.answers, c.file
    FROM read_parquet(${quoted(file)}, file_row_number = true) i JOIN candidate c ON c.file = ${quoted(file)}
      AND i.file_row_number >= c.first AND i.file_row_number < c.behind`);
  await loadLastFindings(duck, file);
}

/** Cases whose items cannot be read: the run neither tells nor judges them. */
async function keepCasesOf(duck: Duck, file: string): Promise<number> {
  const of = `file = ${quoted(file)}`;
  await duck.run(`INSERT INTO kept SELECT code, kind, c1, series, place FROM candidate WHERE ${of};
    DELETE FROM last_item WHERE ${of}`);
  return (await duck.rows(`DELETE FROM candidate WHERE ${of} RETURNING case_id`)).length;
}

/** Notes them as cases that the run neither tells nor judges. */
async function keep({ duck, options }: PackOpening, cases: readonly CaseRow[]): Promise<number> {
  const [first] = cases;
  if (first === undefined) return 0;
  options.onWarning?.(
    `${cases.length} cases stay as they are, for their items are not at hand; one is ${first.caseId}`,
  );
  const causes = cases.map(({ caseId, code, state }) => [code, ...keyOf(caseId, state.cause)].map(textOf));
  await duck.run(`INSERT INTO kept VALUES ${causes.map((one) => `(${one.join(', ')})`).join(', ')}`);
  return cases.length;
}

async function loadCandidates(opening: PackOpening, earlier: Map<string, string>): Promise<number> {
  const { options, duck, record, run } = opening;
  let absent = 0;
  for (let after = ''; ;) {
    const { rows } = await options.db.query<CaseRow>({
      name: 'pack-cases-unresolved',
      text: `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case
        WHERE phase <> 'resolved' AND case_id > $1 AND packs_seen_at <= $2 AND packs_runs ->> 0 <> $3
        ORDER BY case_id LIMIT $4`,
      values: [after, new Date(run.moment), run.id, AT_ONCE],
    });
    const live = rows.filter(({ state }) => liveSighting(state, 'packs') !== undefined);
    const known = live.flatMap((row) => {
      const seen = packsSeen(row.state);
      const file = fileOf(seen, earlier);
      // A part names its items itself, until a run has told which of them are left.
      const isPart = row.causeKind === 'part' && (file === undefined || seen.rows === undefined);
      return file === undefined && !isPart ? [] : [{ row, file: file ?? '', isPart }];
    });
    const atHand = new Set(known.map(({ row }) => row));
    absent += await keep(
      opening,
      live.filter((row) => !atHand.has(row)),
    );
    const candidates = known.map(({ row, file }) => candidateOf(row, { file, looked: looksFor(record, row) }));
    if (candidates.length > 0) await duck.run(`INSERT INTO candidate VALUES ${candidates.join(', ')}`);
    const items = known.flatMap(({ row: { caseId, code, state }, file, isPart }) => {
      const rest = `${hasRegistry(packsSeen(state))}, ${quoted(file)}`;
      return isPart && state.cause.kind === 'part'
        ? state.cause.items.map((item) => `(${[caseId, code, item].map(quoted).join(', ')}, ${rest})`)
        : [];
    });
    if (items.length > 0) await duck.run(`INSERT INTO last_item ${LAST_ITEM} VALUES ${items.join(', ')}`);
    if (rows.length < AT_ONCE) return absent;
    after = rows.at(-1)?.caseId ?? '';
  }
}

/** The file of the items of a sighting, where it is at hand. A case that was just split off names no rows of it. */
function fileOf({ run, rows }: CaseSighting, earlier: Map<string, string>): string | undefined {
  const folder = earlier.get(run.id);
  if (folder === undefined) return undefined;
  const names = rows?.file === undefined ? [CASE_ITEMS_FILE, OLD_ITEMS_FILE] : [rows.file];
  return names.map((name) => join(folder, name)).find((file) => existsSync(file));
}

const textOf = (text: string | null): string => (text === null ? 'NULL' : quoted(text));
const hasRegistry = ({ legs }: { legs?: string[] }): boolean => legs?.includes('registry') === true;

function candidateOf(
  { caseId, code, severity, phase, state }: CaseRow,
  { file, looked }: { file: string; looked: boolean },
): string {
  const { cause } = state;
  const lastSeen = packsSeen(state);
  const texts = [caseId, code, ...keyOf(caseId, cause), severity, (lastSeen.legs ?? []).join(' ')];
  const values = texts.map(textOf);
  const { from = 0, to = 0 } = lastSeen.rows ?? {};
  values.push(String(phase === 'explained'), String(looked), quoted(file), String(from), String(to));
  return `(${[...values, hasRegistry(lastSeen)].join(', ')})`;
}

/** Kind, c1, series and place of the group of a cause. */
function keyOf(caseId: string, cause: CaseCause): (string | null)[] {
  if (cause.kind === 'series') return [cause.kind, cause.gtin, cause.series, cause.place];
  const c1 = cause.kind === 'document' ? cause.document : cause.kind === 'container' ? cause.container : caseId;
  return [cause.kind, c1, null, null];
}

/** Disposals and documents explain all differences, and tell those alone whose rules need them. */
const canTell = (leg: string, code: string): boolean =>
  ['stock', 'record', 'registry'].includes(leg) ||
  [...RULES, ...OVERRIDES].some((one) => one.code === code && one.needs.some((needed) => needed === leg));

/** Whether the run has the sides and the settings by which the case was found. */
function looksFor({ legs, unseen, settings }: PackOpening['record'], { code, state }: CaseRow): boolean {
  const lastSeen = packsSeen(state);
  if (unseen.includes(code) || lastSeen.legs === undefined) return false;
  if (code === 'hung_stock' && settings.hungDays === null) return false;
  if (code.startsWith('container_') && settings.containers === false) return false;
  return lastSeen.legs.every((leg) => Object.hasOwn(legs, leg) || !canTell(leg, code));
}

/**
 * What is known of the items of a file. A run of before these stood there has them in its findings; NULL where there is
 * no answer, or the finding is not at hand.
 */
async function loadLastFindings(duck: Duck, file: string): Promise<void> {
  await duck.run(`UPDATE last_item SET stands_at = i.stands_at FROM read_parquet(${quoted(file)}) i
    WHERE last_item.file = ${quoted(file)} AND i.item = last_item.item AND i.code = last_item.code`);
  const findings = [...Array(BUCKETS).keys()].map((bucket) => join(dirname(file), findingsFile(bucket)));
  const [from, at, by] =
    basename(file) === OLD_ITEMS_FILE
      ? [parquet(findings), 'g_moment', (cell: (typeof CELLS)[number]) => FOUND_BY[cell]]
      : [parquet([file]), 'answered_at', (cell: string) => `by_${cell}`];
  const cells = CELLS.map((cell) => `, bool_or(coalesce(${by(cell)}, false)) AS by_${cell}`).join('');
  const set = CELLS.map((cell) => `, by_${cell} = f.by_${cell}`).join('');
  await duck.run(`UPDATE last_item SET answered_at = f.at${set}
    FROM (SELECT item, code, max(${at}) AS at${cells} FROM ${from} GROUP BY item, code) f
    WHERE last_item.file = ${quoted(file)} AND f.item = last_item.item AND f.code = last_item.code`);
}
