import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool as HttpPool } from 'undici';
import { documentReading, typeKnowledge } from '#documents';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { PedigreeError } from '#kernel';
import { migrate, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { PostgresReadModels } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { gatewayProcess } from './gateway-process.js';
import { fillMovements, type ManyMovements } from './many-movements.js';
import { series } from './series.js';
import { thisMachine, type BenchReport } from './report.js';

/** Callers that ask again as soon as they are answered. */
const CLIENTS = 16;
/** Codes of one check of packs, which one caller asks for. */
const CODES = 500;

interface HistoryAsked {
  quick: boolean;
  rows?: number;
  packs?: number;
  part?: string;
}

/** What has a database of its own. */
const PARTS: Record<string, (asked: HistoryAsked) => Promise<BenchReport>> = { series };

function partOf(name: string): (asked: HistoryAsked) => Promise<BenchReport> {
  const part = PARTS[name];
  if (part !== undefined) return part;
  const message = `--part: ${name} is not a part of the bench history; there are: ${Object.keys(PARTS).join(', ')}`;
  throw new PedigreeError('invalid_parameter', message, { field: '--part' });
}

type Figures = Record<string, number>;
type Call = (n: number) => Promise<unknown>;

/**
 * Milliseconds in which a pack's history and state are answered to 16 callers at once, with a warm cache: by the query
 * function and over HTTP, for packs of ordinary lives and for packs whose containers were used 40 times; and for one
 * caller a check of 500 codes.
 * @param options `rows`: movements, default 1,000,000 and 50,000 when quick. `part`: that part alone.
 */
export const history = (options: HistoryAsked): Promise<BenchReport> =>
  options.part === undefined ? histories(options) : partOf(options.part)(options);

async function histories(options: HistoryAsked): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const calls = options.quick ? 1_000 : 4_000;
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({
      connectionString: postgres.url,
      maxConnections: CLIENTS,
      applicationName: 'pedigree-bench',
    });
    stops.push(() => pool.end());
    const movements = await fillMovements(pool, options.rows ?? (options.quick ? 50_000 : 1_000_000));
    await migrate(pool, [eventStoreSchema, evidenceSchema, subscriptionsSchema]);
    const bare = await times(calls, () => pool.query('SELECT 1'));
    const asked = await byFunction(pool, { movements, calls });
    const gateway = await gatewayProcess(folder, { DATABASE_URL: postgres.url });
    stops.push(() => gateway.stop());
    const http = await overHttp(gateway.url, { movements, calls });
    return {
      bench: 'history',
      figures: { movements: movements.rows, clients: CLIENTS, ...asked, ...http },
      ceilings: {
        goal_history_p50_ms: 6,
        goal_history_p99_ms: 20,
        goal_http_history_p50_ms: 15,
        goal_http_history_p99_ms: 40,
        goal_reused_p99_ms: 50,
        goal_check_p99_ms: 50,
        bare_query_p50_ms: bare.p50,
        bare_query_p99_ms: bare.p99,
      },
      ratios: {},
      machine: thisMachine(),
    };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

interface Asking {
  movements: ManyMovements;
  calls: number;
}

async function byFunction(pool: Pool, { movements, calls }: Asking): Promise<Figures> {
  const store = new PostgresEventStore({ pool });
  const readModels = new PostgresReadModels({
    pool,
    store,
    evidence: new PostgresEvidenceStore({ pool }),
    documents: documentReading(),
    types: typeKnowledge,
  });
  try {
    return {
      ...named('history', await times(calls, async (n) => told(await readModels.sgtinHistory(movements.pack(n))))),
      ...named('state', await times(calls, async (n) => told(await readModels.packState(movements.pack(n))))),
      ...named(
        'reused',
        await times(calls / 10, async (n) => told(await readModels.packState(movements.reusedPack(n)))),
      ),
      ...named('check', await times(calls / 10, (n) => check(readModels, { movements, from: n }), 1)),
    };
  } finally {
    await store.close();
  }
}

/** May these packs be shipped from where they are: each is known, and each may. */
async function check(
  { packs }: PostgresReadModels,
  { movements, from }: { movements: ManyMovements; from: number },
): Promise<void> {
  const codes = Array.from({ length: CODES }, (_, n) => movements.pack(scattered(from + n)));
  const { items } = await packs.check({ codes, purpose: 'ship', place: '00000000000333', day: '2026-01-15' });
  if (items.some(({ answer }) => answer !== 'yes')) throw new Error('a pack of the bench may not be shipped');
}

async function overHttp(url: string, { movements, calls }: Asking): Promise<Figures> {
  const http = new HttpPool(url, { connections: CLIENTS });
  const get = async (path: string): Promise<void> => {
    const { statusCode, body } = await http.request({ method: 'GET', path });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} was answered ${statusCode}: ${text}`);
  };
  try {
    return {
      ...named('http_history', await times(calls, (n) => get(`/v1/packs/${movements.pack(n)}/history`))),
      ...named('http_state', await times(calls, (n) => get(`/v1/packs/${movements.pack(n)}`))),
      ...named('http_reused', await times(calls / 10, (n) => get(`/v1/packs/${movements.reusedPack(n)}`))),
    };
  } finally {
    await http.close();
  }
}

function told(answer: unknown): void {
  if (answer === undefined) throw new Error('a pack of the bench was not found');
}

const named = (name: string, { p50, p99 }: { p50: number; p99: number }): Figures => ({
  [`${name}_p50_ms`]: p50,
  [`${name}_p99_ms`]: p99,
});

/** Numbers far apart and in no order, the same in each run: 7,919 is a prime. */
const scattered = (n: number): number => n * 7_919;

/**
 * The median, and the slowest but one in a hundred. All is asked once before, so that caches and code are warm: that is
 * not counted.
 */
async function times(calls: number, call: Call, clients = CLIENTS): Promise<{ p50: number; p99: number }> {
  const took: number[] = [];
  let begun = -calls;
  const client = async (): Promise<void> => {
    while (begun < calls) {
      const n = begun++;
      const begunMs = performance.now();
      await call(scattered(Math.abs(n)));
      if (n >= 0) took.push(performance.now() - begunMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  took.sort((a, b) => a - b);
  const at = (part: number): number => Number((took[Math.ceil(took.length * part) - 1] as number).toFixed(2));
  return { p50: at(0.5), p99: at(0.99) };
}
