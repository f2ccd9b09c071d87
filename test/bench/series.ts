import { documentReading, typeKnowledge } from '#documents';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { migrate, type Pool } from '#postgres';
import { PostgresReadModels } from '#read-models';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { gatewayProcess } from './gateway-process.js';
import { fillSeries, GTIN, SERIES, type SeriesTruth } from './many-of-series.js';
import { onDatabase } from './on-database.js';
import { thisMachine, type BenchReport } from './report.js';

/** Calls of each kind, one after the other, each beside a bare count. The median counts. */
const ROUNDS = 5;
const PATH = `/v1/series/${GTIN}/${SERIES}`;
/** All packs of the series, counted and nothing else. */
const BARE = `SELECT count(*)::int AS packs FROM pack_state WHERE series = $1 AND item > $2 AND item < $2 || '~'`;

/**
 * Milliseconds until the file of one large series is told: its first page by the query function and over HTTP, the
 * second page of its sources, and all rows as NDJSON; beside a bare count of the same packs. Each figure of each answer
 * is held against what was filled in.
 * @param options `packs`: default 1,000,000 and 20,000 when quick.
 */
export async function series({ quick, packs }: { quick: boolean; packs?: number }): Promise<BenchReport> {
  return onDatabase(async ({ pool, url, folder, stops }) => {
    const truth = await filled(pool, packs ?? (quick ? 20_000 : 1_000_000));
    const gateway = await gatewayProcess(folder, { DATABASE_URL: url });
    stops.push(() => gateway.stop());
    const ms = await measured(pool, { url: gateway.url, truth });
    return {
      bench: 'history',
      figures: {
        ...{ series_packs: truth.packs, series_sources: truth.sources },
        ...{ series_first_page_ms: ms.first, series_http_first_page_ms: ms.http, series_next_page_ms: ms.next },
        ...{ series_ndjson_ms: ms.ndjson, series_rss_mb: ms.rssMb },
      },
      ceilings: { goal_series_first_page_ms: 5_000, bare_count_ms: ms.bare },
      ratios: { series_first_page_of_count: Number((ms.first / ms.bare).toFixed(2)) },
      machine: thisMachine(),
    };
  });
}

async function filled(pool: Pool, packs: number): Promise<SeriesTruth> {
  const truth = await fillSeries(pool, packs);
  await migrate(pool, [eventStoreSchema, evidenceSchema, subscriptionsSchema]);
  await pool.query(
    `INSERT INTO checkpoint (name, position, updated_at)
     SELECT $1, max(known_from), now() FROM movement_document`,
    [projectionCheckpoint({ name: 'sgtin-history' })],
  );
  await pool.query('UPDATE event_counter SET position = (SELECT max(position) FROM checkpoint)');
  return truth;
}

type Times = Record<'first' | 'http' | 'next' | 'ndjson' | 'bare' | 'rssMb', number>;

async function measured(pool: Pool, { url, truth }: { url: string; truth: SeriesTruth }): Promise<Times> {
  const store = new PostgresEventStore({ pool });
  const { packs } = new PostgresReadModels({
    ...{ pool, store, evidence: new PostgresEvidenceStore({ pool }) },
    ...{ documents: documentReading(), types: typeKnowledge },
  });
  const calls: Record<Exclude<keyof Times, 'rssMb'>, () => Promise<unknown>> = {
    bare: () => pool.query(BARE, [SERIES, GTIN]),
    first: async () => isTrue((await packs.series(GTIN, SERIES)) ?? {}, truth),
    http: async () => isTrue(await (await answered(`${url}${PATH}`)).json(), truth),
    next: async () => secondPage(url, truth),
    ndjson: async () => isWhole(await (await answered(`${url}${PATH}`, 'application/x-ndjson')).text(), truth),
  };
  try {
    const took = Object.fromEntries(Object.keys(calls).map((name) => [name, [] as number[]]));
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [name, call] of Object.entries(calls)) {
        const begunMs = performance.now();
        await call();
        took[name]?.push(performance.now() - begunMs);
      }
    const medians = Object.entries(took).map(([name, times]) => [name, Number(median(times).toFixed(1))]);
    return { ...(Object.fromEntries(medians) as Times), rssMb: Math.round(process.memoryUsage.rss() / 1e6) };
  } finally {
    await store.close();
  }
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;

async function answered(address: string, accept = 'application/json'): Promise<Response> {
  const response = await fetch(address, { headers: { accept } });
  if (!response.ok) throw new Error(`${address} was answered ${response.status}: ${await response.text()}`);
  return response;
}

/** Exact to the pack: by fate, in all, and by source. */
function isTrue(answer: unknown, truth: SeriesTruth): void {
  const told = answer as { packs?: number; sources?: number; totals?: Record<string, number> };
  const totals = Object.entries(told.totals ?? {}).map(([fate, packs]) => [fate.replace(/[A-Z]/g, snake), packs]);
  const given = JSON.stringify([told.packs, told.sources, totals.filter(([, packs]) => packs !== 0).sort()]);
  const expected = JSON.stringify([truth.packs, truth.sources, Object.entries(truth.totals).sort()]);
  if (given !== expected) throw new Error(`the file of the series tells ${given}, and ${expected} is true`);
}

const snake = (letter: string): string => `_${letter.toLowerCase()}`;

async function secondPage(url: string, truth: SeriesTruth): Promise<void> {
  const first = (await (await answered(`${url}${PATH}/sources?limit=10`)).json()) as { next_cursor: string };
  const next = (await (await answered(`${url}${PATH}/sources?cursor=${first.next_cursor}`)).json()) as {
    items: object[];
  };
  const expected = Math.min(1_000, truth.sources - 10);
  if (next.items.length !== expected) throw new Error(`a page of ${next.items.length} sources, not ${expected}`);
}

/** Sources and fates each make up the whole. */
function isWhole(text: string, truth: SeriesTruth): void {
  const sums: Record<string, number> = {};
  for (const line of text.trim().split('\n')) {
    const { part, packs } = JSON.parse(line) as { part: string; packs: number };
    sums[part] = (sums[part] ?? 0) + packs;
  }
  if (sums['received'] !== truth.packs || sums['fate'] !== truth.packs)
    throw new Error(`the rows tell of ${sums['received']} packs that came, and of ${sums['fate']}`);
}
