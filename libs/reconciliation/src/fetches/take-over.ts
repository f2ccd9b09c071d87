import { join } from 'node:path';
import { Duck, parquet, quoted, type DuckOptions } from '#duckdb';
import { STATE_COLUMNS } from '#segments';
import { findDifferences, groupsOf } from '../comparison/compare-buckets.js';
import { filesOf, openRun } from '../comparison/joined.js';
import { findingsFile, type RunRecord } from '../comparison/run-record.js';
import { readSnapshot } from '../snapshots/manifest.js';
import { importRows, REGISTRY_CELLS } from './gather.js';

/**
 * What becomes of a row of the earlier run. `taken`: it stands. The others do not: `old`: the answer is too old.
 * `doubtful`: a rule speaks of the pack, now or in the earlier run. `touched`: our record of it has changed, or a
 * document without a good end names it. `suspended`: something was decided about its series since. `left`: the registry
 * does not show it, and nobody speaks of it any more.
 */
const FATES = ['taken', 'old', 'doubtful', 'touched', 'suspended', 'left'] as const;
type Fate = (typeof FATES)[number];
export type Fates = Record<Fate, number>;

/** The run whose rows are looked at. */
export interface EarlierRun {
  /** Folder of its comparison. */
  comparison: string;
  legs: RunRecord['legs'];
  /** Log position of its record. */
  recordAt: bigint;
}

export interface TakingOver {
  /** Absent: the rows are of an export. */
  earlier?: EarlierRun;
  /** The comparison that is to be made, with the registry's side of the earlier run, or the export, as its own. */
  now: RunRecord;
  /** Answers before it are too old. */
  youngest: Date;
  /** Series about which something was decided since the earlier run. */
  decided: readonly { gtin: string; series: string }[];
}

/**
 * Makes a registry snapshot of the rows of an earlier run, or of an export, that still stand: answers that are young
 * enough, about packs of which no rule says anything and that nothing touched since. Each keeps the moment of its
 * answer. The same inputs give the same rows.
 */
export async function takeOver(
  taking: TakingOver,
  { out, duck: limits }: { out: string; duck: Omit<DuckOptions, 'temporary'> },
): Promise<Fates> {
  const { earlier, now, decided } = taking;
  const fates = Object.fromEntries(FATES.map((fate) => [fate, 0])) as Fates;
  const temporary = `${out}.work`;
  const duck = await Duck.open({ ...limits, temporary });
  try {
    await openRun(duck, now);
    await duck.run(`CREATE TABLE named AS ${documentsOf(earlier, now)};
      CREATE TABLE decided (gtin VARCHAR, series VARCHAR);
      CREATE TABLE taken AS SELECT * FROM ${registryOf(now)} LIMIT 0`);
    for (let from = 0; from < decided.length; from += 1_000)
      await duck.run(
        `INSERT INTO decided VALUES ${decided
          .slice(from, from + 1_000)
          .map(({ gtin, series }) => `(${quoted(gtin)}, ${quoted(series)})`)
          .join(', ')}`,
      );
    for (const buckets of groupsOf(now)) {
      await findDifferences(duck, { run: now, buckets });
      await duck.run(`CREATE OR REPLACE TEMP TABLE fated AS ${fated(taking, buckets)};
        INSERT INTO taken SELECT * EXCLUDE (fate) FROM fated WHERE fate = 'taken'`);
      const counted = await duck.rows<{ fate: Fate; n: bigint }>('SELECT fate, count(*) AS n FROM fated GROUP BY fate');
      for (const { fate, n } of counted) fates[fate] += Number(n);
    }
    const path = join(duck.temporary, 'taken.parquet');
    await duck.run(`COPY (SELECT ${REGISTRY_CELLS} FROM taken) TO ${quoted(path)} (FORMAT parquet)`);
    const { moment } = await readSnapshot(now.legs.registry?.folder ?? '', 'registry');
    await importRows({ path, out, duck: limits, moment });
    return fates;
  } finally {
    await duck.close();
  }
}

const registryOf = ({ legs }: RunRecord): string => parquet(legs.registry?.files ?? []);

/** Items and containers named by documents that have no end, or whose bad end came since the earlier run. */
function documentsOf(earlier: EarlierRun | undefined, now: RunRecord): string {
  const of = (files: readonly string[] | undefined, more: string): string[] =>
    files === undefined ? [] : [`SELECT item FROM ${parquet(files)} WHERE standing = 'in_flight' ${more}`];
  const both = [
    ...of(earlier?.legs.documents?.files, ''),
    ...of(now.legs.documents?.files, earlier === undefined ? '' : `OR position::BIGINT > ${earlier.recordAt}`),
  ];
  return both.length === 0 ? 'SELECT NULL::VARCHAR AS item LIMIT 0' : both.join(' UNION ');
}

/** An export has no column for the money or the owner of a pack: where the stock tells of them, it is no answer. */
function untold(now: RunRecord, buckets: readonly number[]): string[] {
  const stock = filesOf(now, 'stock', buckets);
  if (stock === undefined) return [];
  return [
    `SELECT s.item FROM ${parquet(stock)} s JOIN ${rowsOf(now, 'registry', buckets)} g USING (item)
      WHERE (s.funding IS NOT NULL AND g.funding IS NULL) OR (s.owner IS NOT NULL AND g.owner IS NULL)`,
  ];
}

const rowsOf = (run: Pick<RunRecord, 'legs'>, leg: 'registry' | 'record', buckets: readonly number[]): string =>
  parquet(filesOf(run, leg, buckets) ?? []);

/** Items of some buckets about which the earlier run had a finding, and items of which our record has changed since. */
function sinceThen({ earlier, now }: TakingOver, buckets: readonly number[]): Record<string, string> {
  if (earlier === undefined)
    return {
      told: ['SELECT item FROM finding', ...untold(now, buckets)].join(' UNION '),
      changed: 'SELECT NULL::VARCHAR AS item LIMIT 0',
    };
  const columns = STATE_COLUMNS.join(', ');
  const [before, after] = [earlier, now].map((run) => `SELECT ${columns} FROM ${rowsOf(run, 'record', buckets)}`);
  const found = buckets.map((bucket) => join(earlier.comparison, findingsFile(bucket)));
  return {
    told: `SELECT item FROM finding UNION SELECT item FROM ${parquet(found)}`,
    changed: `SELECT item FROM ((${before}) EXCEPT (${after})) UNION SELECT item FROM ((${after}) EXCEPT (${before}))`,
  };
}

/** Each row of the earlier run, or the export, in some buckets, with what becomes of it. */
function fated(taking: TakingOver, buckets: readonly number[]): string {
  const { now, youngest } = taking;
  const spoken = (['stock', 'record', 'disposals'] as const)
    .flatMap((leg) => filesOf(now, leg, buckets) ?? [])
    .map((file) => `SELECT item FROM ${parquet([file])}`);
  const { told, changed } = sinceThen(taking, buckets);
  return `WITH spoken AS (${spoken.join(' UNION ')}), told AS (${told}), changed AS (${changed}),
    record AS (SELECT ${STATE_COLUMNS.join(', ')} FROM ${rowsOf(now, 'record', buckets)})
    SELECT g.*, CASE
      WHEN g.answer <> 'found' AND g.item NOT IN (FROM spoken) THEN 'left'
      WHEN g.moment < ${youngest.getTime()} THEN 'old'
      WHEN g.item IN (FROM told) THEN 'doubtful'
      WHEN g.item IN (FROM changed) OR g.item IN (FROM named) OR g.container IN (FROM named)
        OR r.container IN (FROM named) THEN 'touched'
      WHEN EXISTS (FROM decided d WHERE d.gtin = g.item[1:14] AND coalesce(d.series = g.series, true)) THEN 'suspended'
      ELSE 'taken' END AS fate
    FROM ${rowsOf(now, 'registry', buckets)} g LEFT JOIN record r USING (item)`;
}
