import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { copyText, inTransaction, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { fillLog } from './movement-log.js';
import { thisMachine, type BenchReport } from './report.js';

const MOST_MS = 60 * 60_000;
/** Movements that one transaction writes, as a page of the projection does. */
const ROWS_OF_PAGE = 25_000;

/** What the process of the projection says of itself, see movements-process.ts. */
export interface Projected {
  seconds: number;
  cpuSeconds: number;
  peakMb: number;
  peakOfFirstQuarterMb: number;
}

/**
 * Movements per second from log and evidence into their tables and `pack_state`, in a process of its own; beside
 * it COPY of the same movements and an upsert of the packs that they name, written down before, into the same tables in
 * transactions of the same size. Segments are written by another program and are no part of it.
 * @param options `rows`: movements, default 1,000,000 and 100,000 when quick.
 */
export async function movements(options: { quick: boolean; rows?: number }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({ connectionString: postgres.url, maxConnections: 8, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    await fillLog(pool, options.rows ?? (options.quick ? 100_000 : 1_000_000));
    const program = fileURLToPath(new URL('./movements-process.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program, postgres.url], { timeout: MOST_MS });
    const pages = await writeDown(pool, folder);
    return reportOf(JSON.parse(stdout) as Projected, { rows: pages.rows, ...(await loadBare(pool, pages)) });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

type Bare = Record<'rows' | 'copySeconds' | 'upsertSeconds', number>;

function reportOf(
  { seconds, cpuSeconds, peakMb, peakOfFirstQuarterMb }: Projected,
  { rows, copySeconds, upsertSeconds }: Bare,
): BenchReport {
  const bareSeconds = copySeconds + upsertSeconds;
  return {
    bench: 'movements',
    figures: {
      rows,
      seconds: rounded(seconds),
      rows_per_second: Math.round(rows / seconds),
      own_cpu_us_per_row: rounded((cpuSeconds * 1e6) / rows),
      peak_mb: peakMb,
      peak_of_first_quarter_mb: peakOfFirstQuarterMb,
    },
    ceilings: {
      copy_rows_per_second: Math.round(rows / copySeconds),
      copy_and_upsert_rows_per_second: Math.round(rows / bareSeconds),
    },
    ratios: { of_copy: rounded(bareSeconds / seconds), goal_of_copy: 0.8 },
    machine: thisMachine(),
  };
}

/** What a page of the projection wrote, as the lines of COPY, in files by table. */
interface Pages {
  rows: number;
  files: { table: string; file: string }[][];
}

const OF_MOVEMENTS = ['movement_document', 'movement_effect', 'item_movement', 'containment'] as const;
const PAGES = `SELECT min(known_from) AS "from", max(known_from) AS "to", sum(items)::int AS rows FROM (
    SELECT known_from, items, (sum(items) OVER (ORDER BY known_from) - 1) / ${ROWS_OF_PAGE} AS page
    FROM movement_document) AS document
  GROUP BY page ORDER BY page`;

async function writeDown(pool: Pool, folder: string): Promise<Pages> {
  const { rows } = await pool.query<{ from: bigint; to: bigint; rows: number }>(PAGES);
  const files: Pages['files'] = [];
  for (const [n, { from, to }] of rows.entries()) {
    const range = `known_from BETWEEN ${from} AND ${to}`;
    const selects = OF_MOVEMENTS.map((table): [string, string] => [table, `SELECT * FROM ${table} WHERE ${range}`]);
    const named = `SELECT item FROM item_movement WHERE ${range}`;
    selects.push(['pack_state', `SELECT * FROM pack_state WHERE item IN (${named})`]);
    const page: Pages['files'][number] = [];
    for (const [table, select] of selects) {
      const file = join(folder, `${n}-${table}`);
      writeFileSync(file, await linesOf(pool, select));
      page.push({ table, file });
    }
    files.push(page);
  }
  return { rows: rows.reduce((all, page) => all + page.rows, 0), files };
}

/** The rows of a query as lines of COPY. */
async function linesOf(pool: Pool, select: string): Promise<Buffer> {
  const { fields } = await pool.query(`${select} LIMIT 0`);
  const escaped = fields.map(
    ({ name }) => `coalesce(replace(replace(${name}::text, '\\', '\\\\'), E'\\t', '\\t'), '\\N')`,
  );
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(E'\\t', ${escaped.join(', ')}) AS line FROM (${select}) AS one`,
  );
  return Buffer.from(rows.map(({ line }) => `${line}\n`).join(''));
}

/** Both parts are timed; the commit counts with the upsert. */
async function loadBare(pool: Pool, { files }: Pages): Promise<Omit<Bare, 'rows'>> {
  await pool.query(`TRUNCATE ${[...OF_MOVEMENTS, 'pack_state'].join(', ')}`);
  const columns = await updatedColumns(pool);
  let [copyMs, upsertMs] = [0, 0];
  for (const page of files) {
    const lines = page.map(({ table, file }) => ({ table, bytes: readFileSync(file) }));
    const begunMs = performance.now();
    let copiedMs = begunMs;
    await inTransaction(pool, async (tx) => {
      for (const { table, bytes } of lines) if (table !== 'pack_state') await copyText(tx, table, bytes);
      copiedMs = performance.now();
      await tx.query('CREATE TEMPORARY TABLE named (LIKE pack_state) ON COMMIT DROP');
      await copyText(tx, 'named', lines.find(({ table }) => table === 'pack_state')?.bytes ?? Buffer.of());
      await tx.query(`INSERT INTO pack_state SELECT * FROM named ON CONFLICT (item) DO UPDATE SET ${columns}`);
    });
    copyMs += copiedMs - begunMs;
    upsertMs += performance.now() - copiedMs;
  }
  return { copySeconds: copyMs / 1_000, upsertSeconds: upsertMs / 1_000 };
}

async function updatedColumns(pool: Pool): Promise<string> {
  const { fields } = await pool.query('SELECT * FROM pack_state LIMIT 0');
  return fields.flatMap(({ name }) => (name === 'item' ? [] : [`${name} = excluded.${name}`])).join(', ');
}

const rounded = (n: number): number => Math.round(n * 100) / 100;
