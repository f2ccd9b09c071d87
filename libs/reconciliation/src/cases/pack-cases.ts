import { join } from 'node:path';
import {
  CASE_SEVERITIES,
  caseIdOf,
  type CaseCause,
  type CaseCommand,
  type CaseRun,
  type CaseSighting,
  type OlderItems,
} from '#domain';
import { Duck, quoted } from '#duckdb';
import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { resultOf } from '../comparison/run-comparison.js';
import { readRun, type RunRecord } from '../comparison/run-record.js';
import { mustHaveCome } from '../snapshots/to-come.js';
import { findEarlierRuns } from './item-files.js';
import { leaveParts, loadLastItems, type NotAtHand } from './last-items.js';
import { loadCarried, loadUnjudged, packCasesOver } from './pack-ends.js';
import {
  beginGroups,
  casesWithNew,
  checkFindings,
  groupFindings,
  MOST_PLACES,
  ofOneCase,
  positionsOfCauses,
  readGroups,
  type PackGroup,
} from './pack-groups.js';
import { count, dueAt, noOpening, type Opening } from './opening.js';
import type { PackCasesOptions, PackOpening } from './pack-opening.js';

/** Why a run opens no case by itself; and what to do about it. */
export const UNCONFIRMED =
  "the registry's side is a file, and nobody asked the registry about what was found, so no case opens";
export const NO_CASES = `${UNCONFIRMED}: run it with an account, or say --unconfirmed`;

export const EARLIER_RECORD =
  'it compared with our record as of an earlier log position, so it tells no case: pedigree cases open does it by hand';

/** Cases that are told at a time. */
const AT_ONCE = 2_000;
/** Runs whose items a case names though they are not at hand. */
const MOST_OLDER = 20;

/**
 * Opens a case for each cause of a run's findings, and resolves those that the run looked for and did not find. Memory
 * does not grow with the findings. Once: a repeat after a crash changes what is left.
 * @throws PedigreeError `not_found` for a folder without a whole run, or one whose files were changed;
 * `invalid_parameter` for findings that nobody has confirmed on the live registry, and for a moment that is to come.
 */
export async function openPackCases(folder: string, options: PackCasesOptions): Promise<Opening> {
  const record = await readRun(folder);
  if (record.unconfirmed === true && options.unconfirmed !== true)
    throw new PedigreeError('invalid_parameter', `${folder}: ${NO_CASES}`, { field: '--unconfirmed' });
  mustHaveCome(record.moment, options.now, { field: 'moment', what: folder });
  const result = await resultOf(folder);
  const run: CaseRun = { id: record.inputs, kind: 'packs', moment: record.moment };
  const act = {
    ...{ actor: options.actor, id: `cases:${record.inputs}`, at: record.moment },
    ...(options.reason === undefined ? {} : { reason: options.reason }),
  };
  const duck = await Duck.open({ ...options.duck, temporary: join(folder, 'work') });
  try {
    await checkFindings(duck, folder, result);
    const isOpen = await beginGroups(duck, { run: record, folder, result });
    const opening: PackOpening = { options, duck, folder, record, isOpen, run, findingsSha256: result.digest, act };
    await loadDocuments(duck, options.db);
    const missing = await loadLastItems(opening, await findEarlierRuns(folder, options.earlier));
    await loadParts(duck, options.db);
    await leaveParts(duck);
    await loadUnjudged(opening);
    await loadCarried(duck);
    return await openAll(opening, { file: await groupFindings(duck, folder), missing });
  } finally {
    await duck.close();
  }
}

/** What there is to tell: the file of all items, and what is not at hand. */
interface Grouped {
  file: string;
  missing: NotAtHand;
}

async function openAll(opening: PackOpening, grouped: Grouped): Promise<Opening> {
  const { options, duck, act, folder } = opening;
  const counted = noOpening();
  const withNew = await casesWithNew(duck, join(folder, grouped.file));
  const [{ n = 0n } = {}] = await duck.rows<{ n: bigint }>('SELECT count(*) AS n FROM pack_group');
  let stale = 0;
  const tell = async (commands: CaseCommand[], done: number): Promise<void> => {
    const told = await options.log.tellAll(commands, act);
    count(counted, told);
    stale += told.filter((one) => one.isStale).length;
    options.onProgress?.(Math.min(Number(n), done), Number(n));
  };
  // One ahead: while the log writes some cases, others, for each cause is in one group, are made ready.
  let before = Promise.resolve();
  for (let from = 0; from < Number(n); from += AT_ONCE) {
    const telling = tell(await commandsOf(opening, from, { ...grouped, withNew }), from + AT_ONCE);
    // Its own failure is thrown when it is awaited.
    telling.catch(() => undefined);
    await before;
    before = telling;
  }
  await before;
  for await (const { over, notCovered } of packCasesOver(opening)) {
    counted.notCovered += notCovered;
    await tell(over, Number(n));
  }
  if (stale > 0)
    throw new PedigreeError(
      'unavailable',
      `another run has told ${stale} of these cases meanwhile, or a person split them: open them again`,
    );
  return counted;
}

/**
 * Items that persons took out of cases: they stay in their parts, whatever their cause is in this run. Of parts that
 * are resolved, too, for what is found again is found there. Only of codes that the run found, or a case has.
 */
async function loadParts(duck: Duck, db: Queryable): Promise<void> {
  const found = await duck.rows<{ code: string }>('SELECT DISTINCT code FROM found');
  const codes = found.map(({ code }) => code);
  for (let after = ''; ;) {
    const { rows } = await db.query<Pick<CaseRow, 'caseId' | 'code' | 'state'>>(
      `SELECT ${RECONCILIATION_CASE.select({ only: ['caseId', 'code', 'state'] })} FROM reconciliation_case
       WHERE cause_kind = 'part' AND case_id > $1 AND (phase <> 'resolved' OR code = ANY ($3::text[])
         OR part_of IN (SELECT case_id FROM reconciliation_case WHERE phase <> 'resolved'))
       ORDER BY case_id LIMIT $2`,
      [after, AT_ONCE, codes],
    );
    const values = rows.flatMap(({ caseId, code, state: { cause } }) =>
      cause.kind === 'part' ? cause.items.map((item) => `(${[code, item, caseId].map(quoted).join(', ')})`) : [],
    );
    if (values.length > 0) await duck.run(`INSERT INTO part_item VALUES ${values.join(', ')}`);
    if (rows.length < AT_ONCE) break;
    after = rows.at(-1)?.caseId ?? '';
  }
  // An item that is in two parts belongs to one of them, always the same.
  await duck.run(`CREATE OR REPLACE TABLE part_item AS SELECT code, item, min(part) AS part FROM part_item
    GROUP BY code, item`);
}

/** For groups from number `from` on. */
async function commandsOf(
  { options, duck, record, run, findingsSha256 }: PackOpening,
  from: number,
  { file, missing, withNew }: Grouped & { withNew: ReadonlySet<string> },
): Promise<CaseCommand[]> {
  const groups = await readGroups(duck, from, AT_ONCE);
  const before = await candidatesOf(duck, from);
  const parts = await partsOf(
    options.db,
    groups.flatMap(({ kind, c1 }) => (kind === 'part' ? [c1] : [])),
  );
  // Names stand in the order of canonical JSON, so that nothing is sorted when the log takes the events.
  return groups.map((group, n): CaseCommand => {
    const { code } = group;
    const cause = causeOf(group, parts);
    const caseId = caseIdOf(code, cause);
    const severity = CASE_SEVERITIES[group.severity] ?? 'critical';
    const rows = { file, from: group.first, to: group.first + group.count };
    const last = before.get(from + n);
    const older = missing.get(caseId);
    // The sides without which items that were not judged cannot be: those of the sighting before.
    const needed = group.unjudged > 0 || older !== undefined ? (last?.legs ?? []) : [];
    const legs = [...new Set([...Object.keys(record.legs), ...needed])];
    const graces = hungDaysOf({ code, isWhole: group.unjudged === 0 && older === undefined }, record, last);
    const seen = sightingOf(group, { findingsSha256, ...graces, legs, rows, run }, older);
    const due = dueAt(severity, run.moment, options.dueDays);
    const basis = last?.run ?? null;
    const news = { hasNew: withNew.has(caseId), onlyKnown: options.onlyKnown === true };
    const split = last === undefined ? {} : { parts: last.parts };
    return { type: 'See', basis, caseId, cause, code, dueAt: due, ...news, ...split, seen, severity };
  });
}

/** By which limit all of its items were found: where it has some of before, by the smaller one, if that is known. */
function hungDaysOf(
  { code, isWhole }: Pick<PackGroup, 'code'> & { isWhole: boolean },
  { settings: { hungDays } }: RunRecord,
  last: LastSeen | undefined,
): Pick<CaseSighting, 'hungDays'> {
  if (code !== 'hung_stock' || hungDays === null) return {};
  if (isWhole) return { hungDays };
  const before = last?.hungDays ?? null;
  return before === null ? {} : { hungDays: Math.min(hungDays, before) };
}

type ByRun = Required<Pick<CaseSighting, 'findingsSha256' | 'legs' | 'rows' | 'run'>> & Pick<CaseSighting, 'hungDays'>;

/**
 * How many items the case has, where, and how many of these the run could not judge. What is not at hand may be what
 * was found: the case has at least so many, and nobody knows where.
 */
function sightingOf(
  group: PackGroup,
  { findingsSha256, legs, rows, run, ...graces }: ByRun,
  older: OlderItems[] = [],
): CaseSighting {
  const count = Math.max(group.count, ...older.map((one) => one.count));
  const open = count - (group.count - group.unjudged);
  const isWhole = older.length === 0;
  return {
    ...{ count, findingsSha256, ...graces, legs },
    ...(isWhole ? {} : { older: bounded(older) }),
    ...{ places: isWhole ? placesOf(group) : null, rows, run },
    ...(open === 0 ? {} : { unjudged: open }),
  };
}

/** Of more files than a case names, none will come back: that there were items stays known. */
function bounded(older: OlderItems[]): OlderItems[] {
  const [named, [first, ...rest]] = [older.slice(0, MOST_OLDER), older.slice(MOST_OLDER)];
  if (first === undefined) return named;
  return [...named, { run: first.run, count: Math.max(first.count, ...rest.map((one) => one.count)) }];
}

/** What a case that had items before was told last. */
interface LastSeen {
  run: string;
  legs: string[];
  parts: number;
  hungDays: number | null;
}

/** Of cases that had items before, by the numbers of their groups. */
async function candidatesOf(duck: Duck, from: number): Promise<Map<number, LastSeen>> {
  const rows = await duck.rows<{ n: bigint; legs: string } & Omit<LastSeen, 'legs'>>(
    `SELECT g.n, c.seen_by AS run, c.legs, c.parts, c.hung_days AS "hungDays"
     FROM pack_group g JOIN candidate c ON ${ofOneCase('c', 'g')}
     WHERE g.n >= ${from} AND g.n < ${from + AT_ONCE}`,
  );
  const legsOf = (text: string): string[] => text.split(' ').filter((leg) => leg !== '');
  return new Map(rows.map(({ n, legs, ...last }) => [Number(n), { ...last, legs: legsOf(legs) }]));
}

const placesOf = ({ places }: PackGroup): string[] | null => {
  const named = places.filter((one): one is string => one !== null && one !== '').sort();
  return named.length < places.length || named.length > MOST_PLACES ? null : named;
};

function causeOf({ kind, c1, series, place }: PackGroup, parts: Map<string, CaseCause>): CaseCause {
  if (kind === 'container') return { container: c1, kind };
  if (kind === 'series') return { gtin: c1, kind, place, series };
  if (kind === 'part') return parts.get(c1) as CaseCause;
  if (!/^\d+$/.test(c1)) return { document: c1, kind };
  throw new PedigreeError(
    'not_found',
    `no document of this database stands at log position ${c1}: is the run of another?`,
    { item: c1 },
  );
}

/** The documents that told what our record says, by their log positions. A revised one has several, and one case. */
async function loadDocuments(duck: Duck, db: Queryable): Promise<void> {
  for await (const positions of positionsOfCauses(duck, AT_ONCE)) {
    const { rows } = await db.query<{ known_from: bigint; request_id: string }>(
      'SELECT known_from, request_id FROM movement_document WHERE known_from = ANY ($1::bigint[])',
      [positions],
    );
    const values = rows.map((one) => `('${one.known_from}', ${quoted(one.request_id)})`);
    if (values.length > 0) await duck.run(`INSERT INTO document_at VALUES ${values.join(', ')}`);
  }
}

async function partsOf(db: Queryable, ids: string[]): Promise<Map<string, CaseCause>> {
  const rows = ids.length === 0 ? new Map<string, CaseRow>() : await RECONCILIATION_CASE.load(db, ids);
  return new Map([...rows].map(([id, { state }]) => [id, state.cause]));
}
