import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventStoreSchema, openEventStoreDb, PostgresEventStore } from '#event-store';
import { migrate, openPool, startEmbeddedPostgres } from '#postgres';
import { startFakeProcess } from '../support/event-store-fake/fake-process.js';
import { barePostgres } from './log/bare-postgres.js';
import { bareServer } from './log/bare-server.js';
import type { Compared } from './in-turns.js';
import { measureLog, type LogFigures, type Sizes } from './log/measure.js';
import { throughThePort, type Way } from './log/way.js';
import { namedLog } from './named-log.js';
import { thisMachine, type BenchReport } from './report.js';

const WHOLE: Sizes = { rounds: 5, appendsPerWriter: 200, events: 20_000 };
const QUICK: Sizes = { rounds: 3, appendsPerWriter: 50, events: 6_400 };
/** Against the fake, which answers faster than a disk does: what an append costs the process that makes it. */
const GOAL_CPU_US_PER_APPEND = 200;
const CONNECTIONS = 16;

/**
 * The event log by itself: appends, reads and a subscription through the port, beside the bare calls of the engine's
 * client in the same run, and the CPU that each costs this process. In PostgreSQL; and on the server of EVENTSTORE_URL,
 * or where none is named on a fake in a process of its own.
 */
export async function log(options: { quick: boolean }): Promise<BenchReport> {
  const sizes = options.quick ? QUICK : WHOLE;
  const { EVENTSTORE_URL } = await namedLog();
  const [postgres, server] = [
    await onPostgres(sizes),
    EVENTSTORE_URL === undefined ? await onFake(sizes) : await onServer(EVENTSTORE_URL, sizes),
  ];
  const engine = EVENTSTORE_URL === undefined ? 'fake' : 'server';
  return {
    bench: 'log',
    figures: { ...figuresOf('postgres', postgres), ...figuresOf(engine, server) },
    ceilings: {
      ...ceilingsOf('postgres', postgres),
      ...ceilingsOf(engine, server),
      ...(engine === 'fake' ? { fake_goal_own_cpu_us_per_append: GOAL_CPU_US_PER_APPEND } : {}),
    },
    ratios: {},
    machine: thisMachine(),
  };
}

const round = (value: number, digits = 0): number => Number(value.toFixed(digits));

function figuresOf(engine: string, { appends, reads, subscribed }: LogFigures): Record<string, number> {
  return {
    [`${engine}_appends_per_second`]: round(appends.own.perSecond),
    [`${engine}_own_cpu_us_per_append`]: round(appends.own.cpuUs, 1),
    [`${engine}_of_bare_appends`]: round(appends.ofBare as number, 3),
    [`${engine}_reads_per_second`]: round(reads.own.perSecond),
    [`${engine}_own_cpu_us_per_read`]: round(reads.own.cpuUs, 1),
    [`${engine}_subscribed_per_second`]: round(subscribed.own.perSecond),
    [`${engine}_own_cpu_us_per_subscribed`]: round(subscribed.own.cpuUs, 1),
  };
}

/** The bare calls, beside ours. */
function ceilingsOf(engine: string, { appends, reads, subscribed }: LogFigures): Record<string, number> {
  const of = (names: [string, string], { bare }: Compared): Record<string, number> =>
    bare === undefined
      ? {}
      : {
          [`${engine}_bare_${names[0]}_per_second`]: round(bare.perSecond),
          [`${engine}_bare_cpu_us_per_${names[1]}`]: round(bare.cpuUs, 1),
        };
  return {
    ...of(['appends', 'append'], appends),
    ...of(['reads', 'read'], reads),
    ...of(['subscribed', 'subscribed'], subscribed),
  };
}

async function onPostgres(sizes: Sizes): Promise<LogFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({
      connectionString: postgres.url,
      maxConnections: CONNECTIONS,
      applicationName: 'pedigree-bench',
    });
    stops.push(() => pool.end());
    await migrate(pool, [eventStoreSchema]);
    return await measureBoth(throughThePort(new PostgresEventStore({ pool })), await barePostgres(pool), sizes);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function onFake(sizes: Sizes): Promise<LogFigures> {
  const fake = await startFakeProcess();
  try {
    return await onServer(fake.url, sizes);
  } finally {
    await fake.stop();
  }
}

const onServer = async (url: string, sizes: Sizes): Promise<LogFigures> =>
  measureBoth(throughThePort(await openEventStoreDb({ url })), bareServer(url), sizes);

async function measureBoth(own: Way, bare: Way, sizes: Sizes): Promise<LogFigures> {
  try {
    return await measureLog(own, bare, sizes);
  } finally {
    await own.close();
    await bare.close();
  }
}
