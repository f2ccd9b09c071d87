import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sightingsOf } from '#domain';
import { Duck, parquet, quoted, type DuckOptions } from '#duckdb';
import { defined, type Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { readStates } from '#segments';
import { OLD_ITEMS_FILE } from '../cases/item-files.js';
import { checkFindings } from '../cases/pack-groups.js';
import { resultOf, type ComparisonResult } from '../comparison/run-comparison.js';
import { readRun, RULES_DIGEST, type RunRecord } from '../comparison/run-record.js';
import type { Leg } from '../comparison/rules.js';
import { readSnapshot, REFUSED, type SnapshotManifest } from '../snapshots/manifest.js';
import { findingsFiles, READABLE, type FindingRow } from './findings.js';
import { runsBefore, trendOf, type TrendStep } from './trend.js';

/** Findings that a report lists one by one. */
const MOST_LISTED = 5_000;
const MOST_CASES = 1_000;
const MOST_REASONS = 50;
const TREND_RUNS = 8;

/** One side of a run, and what is still known of how it was made. */
export interface SideFacts {
  leg: Leg;
  digest: Sha256;
  rows: number;
  /** False: its files do not lie where the run had them. */
  isThere: boolean;
  snapshot?: SnapshotManifest;
  /** Of our record: the log position as of which it is. */
  position?: string;
  /** Moments of its rows, where they differ: the first and the last. */
  moments?: [Date, Date];
  /** Refused rows by reason; what stood in the cells is left out. */
  reasons: { reason: string; rows: number }[];
}

/** All that a report tells. */
export interface RunFacts {
  runId: string;
  record: RunRecord;
  result: ComparisonResult;
  rulesDigest: Sha256;
  sides: SideFacts[];
  counts: { code: string; severity: string; findings: number }[];
  /** The first ones by severity, code and item; each with its case, where it has one. */
  listed: (FindingRow & { case_id: string | null })[];
  cases: CaseRow[];
  hasMoreCases: boolean;
  trend: TrendStep[];
}

export interface RunFactsOptions {
  /** Folder of runs; that of the run is one of them. */
  runs: string;
  db: Queryable;
  duck: DuckOptions;
  limit?: number;
}

/**
 * Reads what a run has left. @throws PedigreeError `not_found` for a run that is not at its end, or whose findings were
 * changed.
 */
export async function readRunFacts(runId: string, { runs, db, duck: limits, ...options }: RunFactsOptions) {
  const folder = join(runs, runId, 'comparison');
  const record = await readRun(folder);
  const files = await findingsFiles(folder);
  const result = await resultOf(folder);
  const { cases, hasMore } = await casesOf(db, record.inputs);
  const parts = await partsOf(db, cases);
  const duck = await Duck.open(limits);
  try {
    await checkFindings(duck, folder, result);
    const facts: RunFacts = {
      ...{ runId, record, result, rulesDigest: record.rules ?? RULES_DIGEST },
      sides: await sidesOf(duck, record),
      counts: await countsOf(duck, files),
      listed: await listedOf(duck, { folder, files, cases, parts, limit: options.limit ?? MOST_LISTED }),
      ...{ cases, hasMoreCases: hasMore },
      trend: await trendOf(duck, await runsBefore(runs, { runId, record, limit: TREND_RUNS })),
    };
    return facts;
  } finally {
    await duck.close();
  }
}

/** Cases of which this run was the last of packs that told them. */
async function casesOf(db: Queryable, inputs: Sha256): Promise<{ cases: CaseRow[]; hasMore: boolean }> {
  const { rows } = await db.query<CaseRow>(
    `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case
     WHERE packs_runs -> 0 = to_jsonb($1::text) AND packs_runs ? $1
     ORDER BY array_position(ARRAY['critical', 'warning', 'information'], severity), code, case_id LIMIT $2`,
    [inputs, MOST_CASES + 1],
  );
  return { cases: rows.slice(0, MOST_CASES), hasMore: rows.length > MOST_CASES };
}

type Part = Pick<CaseRow, 'caseId' | 'code' | 'state'>;

/** Those of these cases that persons made, and those that they took out of these, whoever told them last. */
async function partsOf(db: Queryable, cases: readonly CaseRow[]): Promise<Part[]> {
  const ids = cases.flatMap(({ state }) => state.parts);
  const others = ids.length === 0 ? new Map<string, Part>() : await RECONCILIATION_CASE.load(db, ids);
  return [...cases.filter(({ state }) => state.cause.kind === 'part'), ...others.values()];
}

async function sidesOf(duck: Duck, { legs }: RunRecord): Promise<SideFacts[]> {
  const sides: SideFacts[] = [];
  for (const [leg, input] of Object.entries(legs) as [Leg, NonNullable<RunRecord['legs'][Leg]>][]) {
    const { folder, digest, rows, files } = input;
    const known = leg === 'record' ? await recordFacts(folder, digest) : await snapshotFacts(duck, folder, digest);
    const momentsOf = known.isThere && leg !== 'record' ? await momentsIn(duck, files) : undefined;
    sides.push({ leg, digest, rows, reasons: [], ...known, ...defined({ moments: momentsOf }) });
  }
  return sides;
}

type Known = Pick<SideFacts, 'isThere'> & Partial<SideFacts>;

async function recordFacts(folder: string, digest: Sha256): Promise<Known> {
  const states = await readStates(folder).catch(() => undefined);
  return states?.digest === digest ? { isThere: true, position: String(states.at) } : { isThere: false };
}

async function snapshotFacts(duck: Duck, folder: string, digest: Sha256): Promise<Known> {
  const snapshot = await readSnapshot(folder).catch(() => undefined);
  if (snapshot?.digest !== digest) return { isThere: false };
  const isRefused = snapshot.refused + snapshot.duplicates > 0;
  return { isThere: true, snapshot, reasons: isRefused ? await reasonsIn(duck, join(folder, REFUSED)) : [] };
}

/** What stands in quotes is of the file and differs from row to row, as do the lines of an item. */
async function reasonsIn(duck: Duck, file: string): Promise<SideFacts['reasons']> {
  const rows = await duck.rows<{ reason: string; n: bigint }>(
    `SELECT regexp_replace(regexp_replace(reason, '".*" ', '… '),
       ' by \\d+ rows, first in lines .*', ' by several rows') AS reason,
       count(*) AS n FROM read_json(${quoted(file)}, format = 'newline_delimited',
         columns = {line: 'BIGINT', reason: 'VARCHAR'}) GROUP BY 1 ORDER BY n DESC, 1 LIMIT ${MOST_REASONS}`,
  );
  return rows.map(({ reason, n }) => ({ reason, rows: Number(n) }));
}

async function momentsIn(duck: Duck, files: readonly string[]): Promise<[Date, Date] | undefined> {
  const [found] = await duck.rows<{ first: bigint | null; last: bigint | null }>(
    `SELECT min(moment) AS first, max(moment) AS last FROM ${parquet(files)}`,
  );
  if (found === undefined || found.first === null || found.last === null) return undefined;
  return [new Date(Number(found.first)), new Date(Number(found.last))];
}

const RANK = "CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END";

async function countsOf(duck: Duck, files: readonly string[]): Promise<RunFacts['counts']> {
  const rows = await duck.rows<{ code: string; severity: string; n: bigint }>(
    `SELECT code, severity, count(*) AS n FROM ${parquet(files)} GROUP BY code, severity
     ORDER BY ${RANK}, n DESC, code`,
  );
  return rows.map(({ code, severity, n }) => ({ code, severity, findings: Number(n) }));
}

interface Listing {
  folder: string;
  files: readonly string[];
  cases: readonly CaseRow[];
  parts: readonly Part[];
  limit: number;
}

/** What a person took out is in its part, though the rows of the case still have it. */
async function listedOf(duck: Duck, { folder, files, cases, parts, limit }: Listing): Promise<RunFacts['listed']> {
  await duck.run(`CREATE TEMP TABLE listed AS SELECT * FROM ${parquet(files)} ORDER BY ${RANK}, code, item
    LIMIT ${limit}; CREATE TEMP TABLE its_case (item VARCHAR, code VARCHAR, case_id VARCHAR);
    CREATE TEMP TABLE in_part (item VARCHAR, code VARCHAR, case_id VARCHAR)`);
  const taken = parts.flatMap(({ caseId, code, state: { cause } }) =>
    cause.kind === 'part' ? cause.items.map((item) => `(${[item, code, caseId].map(quoted).join(', ')})`) : [],
  );
  if (taken.length > 0) await duck.run(`INSERT INTO in_part VALUES ${taken.join(', ')}`);
  const named = cases.flatMap(({ caseId, state }) => {
    const rows = sightingsOf(state).packs?.seen.rows;
    // Of two runs with the same inputs the other one may have it.
    return rows?.file === undefined || !existsSync(join(folder, rows.file))
      ? []
      : [{ caseId, ...rows, file: rows.file }];
  });
  for (const file of new Set(named.map((one) => one.file))) {
    const ranges = named.flatMap((one) =>
      one.file === file ? [`(${quoted(one.caseId)}, ${one.from}, ${one.to})`] : [],
    );
    await duck.run(`INSERT INTO its_case SELECT i.item, i.code, r.case_id
      FROM read_parquet(${quoted(join(folder, file))}, file_row_number = true) i
        SEMI JOIN listed l ON l.item = i.item AND l.code = i.code
        ANTI JOIN in_part p ON p.item = i.item AND p.code = i.code
        JOIN (VALUES ${ranges.join(', ')}) r(case_id, first, behind)
          ON i.file_row_number >= r.first AND i.file_row_number < r.behind
      ${file === OLD_ITEMS_FILE ? '' : 'WHERE NOT i.carried'}`);
  }
  const rows = await duck.rows<RunFacts['listed'][number]>(`SELECT l.*, c.case_id
    FROM (SELECT ${READABLE} FROM listed) l LEFT JOIN (
      SELECT item, code, any_value(case_id) AS case_id FROM its_case GROUP BY item, code
      UNION ALL SELECT item, code, min(case_id) FROM in_part GROUP BY item, code) c
      ON c.item = l.item AND c.code = l.code
    ORDER BY CASE l.severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, l.code, l.item`);
  const shown = new Set<string | null>(cases.map(({ caseId }) => caseId));
  return rows.map((row) => (shown.has(row.case_id) ? row : { ...row, case_id: null }));
}
