import { join } from 'node:path';
import { writeFinishedRun } from '../../libs/reconciliation/test/finished-run.js';
import { eventStoreSchema, PostgresEventStore, type NewEvent } from '#event-store';
import { systemClock } from '#kernel';
import { installationSchema, migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { CaseLog, DEFAULT_DUE_DAYS, dueDaysOf, openPackCases } from '#reconciliation';
import { subscriptionsSchema } from '#subscriptions';
import { eventsOf } from '../support/event-log/events-of.js';
import { inTurns, type Compared } from './in-turns.js';
import { onDatabase } from './on-database.js';
import { thisMachine, type BenchReport } from './report.js';

const MOMENT = '2026-11-23T05:00:00.000Z';
const INSTALLATION = {
  ...{ id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1', profile: 'none' },
};
const ACTOR = { authenticatedBy: 'process', kind: 'system', name: 'bench' } as const;
const DUCK = { memoryMb: 200, threads: 1 };
const GOAL_CASES_PER_SECOND = 10_000;
/** As many appends are handed over at a time as when cases are told. */
const AT_ONCE = 2_000;
const ROUNDS = 3;

/**
 * Opens a case for each finding of a run, from its files into an empty log; beside it the same events, made before,
 * appended to an empty log. The first round of both warms up.
 */
export async function reconcileCases({ quick }: { quick: boolean }): Promise<BenchReport> {
  const cases = quick ? 10_000 : 40_000;
  return onDatabase(async ({ pool, folder, stops }) => {
    await migrate(pool, [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
    const store = new PostgresEventStore({ pool });
    stops.push(() => store.close());
    return compared(pool, store, { cases, run: await finishedRun(join(folder, 'run'), cases) });
  });
}

async function compared(
  pool: Pool,
  store: PostgresEventStore,
  { cases, run }: { cases: number; run: string },
): Promise<BenchReport> {
  const log = new CaseLog({ db: pool, store, installation: INSTALLATION });
  const own = async (): Promise<void> => {
    await empty(pool);
    await openPackCases(run, {
      now: new Date(),
      db: pool,
      log,
      dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 'bench'),
      duck: DUCK,
      actor: ACTOR,
    });
  };
  await own();
  const made: { stream: string; events: NewEvent[] }[] = [];
  for await (const { stream, ...event } of eventsOf(store)) made.push({ stream, events: [event] });
  if (made.length !== cases) throw new Error(`${made.length} cases were opened, and not ${cases}`);
  const bare = async (): Promise<void> => {
    await empty(pool);
    for (let from = 0; from < made.length; from += AT_ONCE)
      await Promise.all(
        made.slice(from, from + AT_ONCE).map(({ stream, events }) => store.append(stream, 'none', events)),
      );
  };
  await bare();
  return reportOf(cases, await inTurns(ROUNDS, { own, bare, count: cases }, systemClock));
}

function reportOf(cases: number, { own, bare, ofBare = 0 }: Compared): BenchReport {
  const rounded = (value = 0): number => Math.round(value);
  return {
    bench: 'reconcile',
    figures: {
      ...{ cases, cases_per_second: rounded(own.perSecond), own_cpu_us_per_case: rounded(own.cpuUs) },
    },
    ceilings: {
      ...{ goal_cases_per_second: GOAL_CASES_PER_SECOND, bare_appends_per_second: rounded(bare?.perSecond) },
      bare_cpu_us_per_append: rounded(bare?.cpuUs),
    },
    ratios: { of_bare_appends: Math.round(ofBare * 100) / 100 },
    machine: thisMachine(),
  };
}

const empty = (pool: Pool): Promise<unknown> =>
  pool.query('TRUNCATE event, event_any; UPDATE event_counter SET position = 0');

/** Each finding has a series of its own, and so a case of its own. */
const finishedRun = (folder: string, cases: number): Promise<string> =>
  writeFinishedRun(folder, {
    findings: Array.from({ length: cases }, (_, n) => ({
      ...{ item: `04601234567893${String(n).padStart(13, '0')}`, code: 'expired_in_stock', severity: 'warning' },
      ...{ s_place: `P${n % 50}`, s_series: `S${n}`, copies: 1 },
    })),
    ...{ registry: [], moment: MOMENT, legs: ['stock', 'record'] },
  });
