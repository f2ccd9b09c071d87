import { join } from 'node:path';
import { CASE_SEVERITIES, caseIdOf, type CaseCause, type CaseCommand, type CaseRun, type CaseSighting } from '#domain';
import { Duck, quoted } from '#duckdb';
import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { resultOf } from '../comparison/run-comparison.js';
import { readRun } from '../comparison/run-record.js';
import { mustHaveCome } from '../snapshots/to-come.js';
import { findEarlierRuns, packCasesOver } from './pack-ends.js';
import {
  CASE_ITEMS_FILE,
  checkFindings,
  groupFindings,
  MOST_PLACES,
  readGroups,
  type PackGroup,
} from './pack-groups.js';
import { count, dueAt, noOpening, type Opening } from './opening.js';
import type { PackCasesOptions, PackOpening } from './pack-opening.js';

/** Why a run opens no case by itself. */
export const NO_CASES =
  "the registry's side is a file, and nobody asked the registry about what was found, so no case opens: " +
  'run it with an account, or say --unconfirmed';

/** Cases that are told at a time. */
const AT_ONCE = 2_000;
const MOST_PARTS = 100_000;

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
    await loadParts(duck, options.db);
    await groupFindings(duck, { run: record, folder, result });
    const opening: PackOpening = { options, duck, folder, record, run, findingsSha256: result.digest, act };
    return await openAll(opening);
  } finally {
    await duck.close();
  }
}

async function openAll(opening: PackOpening): Promise<Opening> {
  const { options, duck, act } = opening;
  const counted = noOpening();
  const [{ n = 0n } = {}] = await duck.rows<{ n: bigint }>('SELECT count(*) AS n FROM pack_group');
  const tell = async (commands: CaseCommand[], done: number): Promise<void> => {
    count(counted, await options.log.tellAll(commands, act));
    options.onProgress?.(Math.min(Number(n), done), Number(n));
  };
  // One ahead: while the log writes some cases, others, for each cause is in one group, are made ready.
  let before = Promise.resolve();
  for (let from = 0; from < Number(n); from += AT_ONCE) {
    const telling = tell(await commandsOf(opening, await readGroups(duck, from, AT_ONCE)), from + AT_ONCE);
    // Its own failure is thrown when it is awaited.
    telling.catch(() => undefined);
    await before;
    before = telling;
  }
  await before;
  const earlier = await findEarlierRuns(opening);
  for await (const { over, notCovered } of packCasesOver(opening, earlier)) {
    counted.notCovered += notCovered;
    count(counted, await options.log.tellAll(over, act));
  }
  return counted;
}

/** Items that persons took out of cases: they stay in their parts, whatever their cause is in this run. */
async function loadParts(duck: Duck, db: Queryable): Promise<void> {
  await duck.run('CREATE TABLE part_item (code VARCHAR, item VARCHAR, part VARCHAR)');
  for (let after = '', loaded = 0; ;) {
    const { rows } = await db.query<Pick<CaseRow, 'caseId' | 'code' | 'state'>>(
      `SELECT ${RECONCILIATION_CASE.select({ only: ['caseId', 'code', 'state'] })} FROM reconciliation_case
       WHERE cause_kind = 'part' AND case_id > $1 ORDER BY case_id LIMIT $2`,
      [after, AT_ONCE],
    );
    const values = rows.flatMap(({ caseId, code, state: { cause } }) =>
      cause.kind === 'part' ? cause.items.map((item) => `(${[code, item, caseId].map(quoted).join(', ')})`) : [],
    );
    if (values.length > 0) await duck.run(`INSERT INTO part_item VALUES ${values.join(', ')}`);
    loaded += rows.length;
    if (loaded > MOST_PARTS) throw new Error(`there are more than ${MOST_PARTS} parts of cases`);
    if (rows.length < AT_ONCE) break;
    after = rows.at(-1)?.caseId ?? '';
  }
  // An item that is in two parts belongs to one of them, always the same.
  await duck.run(`CREATE OR REPLACE TABLE part_item AS SELECT code, item, min(part) AS part FROM part_item
    GROUP BY code, item`);
}

async function commandsOf(
  { options, record, run, findingsSha256 }: PackOpening,
  groups: PackGroup[],
): Promise<CaseCommand[]> {
  const documents = await documentsAt(
    options.db,
    groups.flatMap(({ kind, c1 }) => (kind === 'document' && isPosition(c1) ? [c1] : [])),
  );
  const parts = await partsOf(
    options.db,
    groups.flatMap(({ kind, c1 }) => (kind === 'part' ? [c1] : [])),
  );
  const legs = Object.keys(record.legs);
  // Names stand in the order of canonical JSON, so that nothing is sorted when the log takes the events.
  return groups.map((group): CaseCommand => {
    const cause = causeOf(group, { documents, parts });
    const severity = CASE_SEVERITIES[group.severity] ?? 'critical';
    const rows = { file: CASE_ITEMS_FILE, from: group.first, to: group.first + group.count };
    const seen: CaseSighting = { count: group.count, findingsSha256, legs, places: placesOf(group), rows, run };
    const { code } = group;
    const due = dueAt(severity, run.moment, options.dueDays);
    return { type: 'See', caseId: caseIdOf(code, cause), cause, code, dueAt: due, seen, severity };
  });
}

const placesOf = ({ places }: PackGroup): string[] | null => {
  const named = places.filter((one): one is string => one !== null && one !== '').sort();
  return named.length < places.length || named.length > MOST_PLACES ? null : named;
};

function causeOf(
  { kind, c1, series, place }: PackGroup,
  { documents, parts }: { documents: Map<string, string>; parts: Map<string, CaseCause> },
): CaseCause {
  if (kind === 'container') return { container: c1, kind };
  if (kind === 'series') return { gtin: c1, kind, place, series };
  if (kind === 'part') return parts.get(c1) as CaseCause;
  const document = isPosition(c1) ? documents.get(c1) : c1;
  if (document === undefined)
    throw new PedigreeError(
      'not_found',
      `no document of this database stands at log position ${c1}: is the run of another?`,
      {
        item: c1,
      },
    );
  return { document, kind };
}

const isPosition = (text: string): boolean => /^\d+$/.test(text);

/** The documents that told what our record says, by their log positions. */
async function documentsAt(db: Queryable, positions: string[]): Promise<Map<string, string>> {
  if (positions.length === 0) return new Map();
  const { rows } = await db.query<{ known_from: bigint; request_id: string }>(
    'SELECT known_from, request_id FROM movement_document WHERE known_from = ANY ($1::bigint[])',
    [[...new Set(positions)]],
  );
  return new Map(rows.map((one) => [String(one.known_from), one.request_id]));
}

async function partsOf(db: Queryable, ids: string[]): Promise<Map<string, CaseCause>> {
  const rows = ids.length === 0 ? new Map<string, CaseRow>() : await RECONCILIATION_CASE.load(db, ids);
  return new Map([...rows].map(([id, { state }]) => [id, state.cause]));
}
