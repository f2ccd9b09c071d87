import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentReading, typeKnowledge } from '#documents';
import { documentStream, type DocumentRegistered } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventMetadata } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { migrate, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { PostgresReadModels } from '#read-models';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { fillDocuments, hardQueries } from './many-documents.js';
import { fillTasks } from './many-tasks.js';
import { thisMachine, type BenchReport } from './report.js';

const SEED = 20_260_901;
const LANE = 'north/status';
/** Documents that have a stream, among a log of as many events as the list has rows. */
const STREAMS = 1_000;
const EVENTS_AT_ONCE = 100_000;

/**
 * Milliseconds within which 99 of 100 calls answered, with one caller and a warm cache: the document list by each
 * filter, one document, and the claim of a task.
 */
export async function lists(options: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const [rows, waiting, calls] = options.quick ? [50_000, 15_000, 200] : [1_000_000, 300_000, 500];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({ connectionString: postgres.url, maxConnections: 4, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    await fillDocuments(pool, { rows, seed: SEED });
    const figures: Record<string, number> = { documents: rows, waiting_tasks: waiting };
    for (const [name, ms] of Object.entries(await listTimes(pool, { rows, calls }))) figures[`${name}_p99_ms`] = ms;
    for (const [name, ms] of Object.entries(await claimTimes(pool, { waiting, calls }))) figures[`${name}_p99_ms`] = ms;
    return {
      bench: 'lists',
      figures,
      ceilings: { goal_p99_ms: 20, bare_query_p99_ms: await p99(calls, () => pool.query('SELECT 1')) },
      ratios: {},
      machine: thisMachine(),
    };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function listTimes(
  pool: Pool,
  { rows, calls }: { rows: number; calls: number },
): Promise<Record<string, number>> {
  await migrate(pool, [eventStoreSchema, evidenceSchema]);
  const store = new PostgresEventStore({ pool });
  const readModels = new PostgresReadModels({
    pool,
    store,
    evidence: new PostgresEvidenceStore({ pool }),
    documents: documentReading(),
    types: typeKnowledge,
  });
  try {
    await fillLog(pool, store, rows);
    const times: Record<string, number> = {};
    for (const [name, query] of Object.entries(hardQueries(rows)))
      times[`list_${name}`] = await p99(calls, () => readModels.documents(query));
    times['list_request_id'] = await p99(calls, () =>
      readModels.documents({ requestId: 'c4ca4238a0b923820dcc509a6f75849b' }),
    );
    times['one_document'] = await p99(calls, async (n) => {
      if ((await readModels.document(`bench-${n % STREAMS}`)) === undefined)
        throw new Error(`bench-${n % STREAMS} was not found`);
    });
    return times;
  } finally {
    await store.close();
  }
}

/** A log as long as the list, in which few streams are ever read. */
async function fillLog(pool: Pool, store: PostgresEventStore, rows: number): Promise<void> {
  for (let from = 1; from <= rows; from += EVENTS_AT_ONCE) {
    await pool.query(
      `INSERT INTO event SELECT n, 'document-' || md5('r' || n), 0, gen_random_uuid(), 'BenchFilled', 1, '{}', '{}',
          '2025-01-01T00:00:00Z'::timestamptz + n * interval '1 s'
       FROM generate_series($1::bigint, $2::bigint) AS n`,
      [from, Math.min(rows, from + EVENTS_AT_ONCE - 1)],
    );
  }
  await pool.query('UPDATE event_counter SET position = $1', [rows]);
  await pool.query('VACUUM ANALYZE event');
  for (let n = 0; n < STREAMS; n += 1) {
    await store.append(documentStream(`bench-${n}`), 'none', [
      {
        id: crypto.randomUUID(),
        type: 'DocumentRegistered',
        schemaVersion: 1,
        data: registration(n),
        metadata: METADATA,
      },
    ]);
  }
}

const registration = (n: number): DocumentRegistered['data'] => ({
  requestId: `bench-${n}`,
  commandId: `command-${n}`,
  account: 'north',
  docType: 701,
  documentSha256: 'ab'.repeat(32),
  byteLength: 4_000,
  itemCount: 100,
  subjectId: '00000000000464',
  operationDate: '2026-01-15T09:00:00+03:00',
  after: [],
});

const METADATA: EventMetadata = {
  participant: 'bench',
  actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'bench',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'bench',
  causationId: 'bench',
};

async function claimTimes(
  pool: Pool,
  { waiting, calls }: { waiting: number; calls: number },
): Promise<Record<string, number>> {
  await migrate(pool, [tasksSchema]);
  const queue = new PostgresTaskQueue({ pool });
  const claim = () =>
    queue.claim(LANE, {
      limit: 50,
      leaseMs: 30_000,
      holder: 'bench',
      kinds: ['status', 'group_look', 'settle_group', 'inbound_status'],
    });
  try {
    await fillTasks(pool, { lane: LANE, rows: waiting });
    const empty = await p99(calls, claim);
    // One task that is due, of the last priority: behind all that waits.
    const one = await p99(calls, claim, (n) =>
      queue.schedule(pool, [
        { key: `due:${n}`, kind: 'status', lane: LANE, priority: 900, dueAt: new Date(0), payload: {} },
      ]),
    );
    return { claim_empty: empty, claim_one: one };
  } finally {
    await queue.close();
  }
}

/** The time of the slowest but one in a hundred, in ms. The first tenth warms up and is not counted. */
async function p99(
  calls: number,
  call: (n: number) => Promise<unknown>,
  before?: (n: number) => Promise<unknown>,
): Promise<number> {
  const times: number[] = [];
  for (let n = -calls / 10; n < calls; n += 1) {
    await before?.(n);
    const begunMs = performance.now();
    await call(Math.abs(n));
    if (n >= 0) times.push(performance.now() - begunMs);
  }
  times.sort((a, b) => a - b);
  return Number((times[Math.ceil(times.length * 0.99) - 1] as number).toFixed(2));
}
