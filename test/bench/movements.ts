import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PostgresEventStore } from '#event-store';
import { copyText, inTransaction, openPool, startEmbeddedPostgres, type Pool, type Queryable } from '#postgres';
import { catchUpProjection, type Projection } from '#subscriptions';
import { fillLog } from './movement-log.js';
import { movementProjection } from './movement-projection.js';
import { thisMachine, type BenchReport } from './report.js';
import { emptyTables } from '../support/empty-tables.js';

const MOST_MS = 60 * 60_000;

/** What the process of the projection says of itself, see movements-process.ts. */
export interface Projected {
  seconds: number;
  cpuSeconds: number;
  peakMb: number;
  peakOfFirstQuarterMb: number;
}

/**
 * Movements per second from log and evidence into their tables and `pack_state`, in a process of its own; beside
 * it COPY of the same movements and an upsert of the same rows of packs, written down before, into the same tables in
 * the same transactions. Segments are written by another program and are no part of it.
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

/** What each page of the projection wrote, as the lines of COPY, in files by table. */
interface Pages {
  rows: number;
  files: { table: string; file: string }[][];
}

const OF_MOVEMENTS = ['movement_document', 'movement_effect', 'item_movement', 'containment'] as const;
const WRITTEN_NOW = 'xmin = pg_current_xact_id()::xid';

/**
 * Projects the log once more, from empty tables, and writes down the rows of each page as the page wrote them: a pack
 * is another row on each page that names it, and to write its last row each time would change no index.
 */
async function writeDown(pool: Pool, folder: string): Promise<Pages> {
  const store = new PostgresEventStore({ pool });
  const projection = movementProjection(pool, store);
  const files: Pages['files'] = [];
  const project: Projection['project'] = async (events, tx) => {
    const count = await projection.project(events, tx);
    const page: Pages['files'][number] = [];
    for (const table of [...OF_MOVEMENTS, 'pack_state']) {
      const file = join(folder, `${files.length}-${table}`);
      writeFileSync(file, await linesOf(tx, `SELECT * FROM ${table} WHERE ${WRITTEN_NOW}`));
      page.push({ table, file });
    }
    files.push(page);
    return count;
  };
  await emptyTables(pool, projection);
  await catchUpProjection({ projection: { ...projection, name: 'written-down', project }, store, pool });
  await store.close();
  const { rows } = await pool.query<{ rows: number }>('SELECT count(*)::int AS rows FROM item_movement');
  return { rows: rows[0]?.rows ?? 0, files };
}

/** The rows of a query as lines of COPY. */
async function linesOf(db: Queryable, select: string): Promise<Buffer> {
  const { fields } = await db.query(`${select} LIMIT 0`);
  const escaped = fields.map(
    ({ name }) => `coalesce(replace(replace(${name}::text, '\\', '\\\\'), E'\\t', '\\t'), '\\N')`,
  );
  const { rows } = await db.query<{ line: string }>(
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
