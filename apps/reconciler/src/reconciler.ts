import { hostname } from 'node:os';
import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore } from '#backup';
import { migrationsApplied, recordConfiguration, starterOf } from '#configuration';
import { TASK_PAYLOADS, type PayloadOf } from '#domain';
import {
  eventStoreSchema,
  logIsAway,
  openEventStore,
  settleLog,
  SOFTWARE_VERSION,
  type EventStore,
} from '#event-store';
import { evidenceSchema } from '#evidence';
import { itemClaimsSchema } from '#item-claims';
import { systemClock, type Clock } from '#kernel';
import {
  installationId,
  installationSchema,
  inTransaction,
  migrateOrCheck,
  openPool,
  type MigrationSet,
  type Pool,
} from '#postgres';
import { readModelSchemas } from '#read-models';
import {
  CaseLog,
  closeRemedies,
  dailyRunId,
  keepRequest,
  makeRun,
  openDocumentCases,
  RECONCILE_LANE,
  reconciliationSchema,
  registryFetchSchema,
  registryListsSchema,
  removeFindings,
  runTask,
} from '#reconciliation';
import { runRemovals, type Removal } from '#retention';
import { announcePresence, boundedLog, serviceSchema, type ServiceLog, type Trouble } from '#service';
import { segmentsSchema } from '#segments';
import { refuseCursorsAhead, subscriptionsSchema } from '#subscriptions';
import {
  checkingPayloads,
  PostgresTaskQueue,
  runLane,
  tasksSchema,
  type RunnerReport,
  type Task,
  type TaskResult,
} from '#tasks';
import { describeReconcilerConfig, type ReconcilerConfig } from './config.js';
import { keepRunFiles } from './keep-files.js';
import { keepSegments } from './keep-segments.js';
import { askByTimetable } from './timetable.js';
import { keepStockRuns } from './stock-runs.js';
import { Troubles } from './troubles.js';

const reconcilerSchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  subscriptionsSchema,
  ...readModelSchemas,
  itemClaimsSchema,
  segmentsSchema,
  registryListsSchema,
  registryFetchSchema,
  reconciliationSchema,
];

export interface RunningReconciler {
  /** What its health tells: work that it fails at. */
  troubles(): Trouble[];
  /** Finishes in-flight work, then stops. */
  stop(): Promise<void>;
}

/** How often it is looked whether the day's run is due. */
const LOOK_EVERY_MS = 60_000;
/** How often it is looked whether the document of a case has ended. */
const CLOSE_EVERY_MS = 5_000;
/** A run that threw so often is given up and shown as failed. */
const MAX_ATTEMPTS = 8;
/** It reads for at most 25 s, and its lease is renewed meanwhile. */
const LEASE_MS = 30_000;
const GRACE_MS = 20_000;

export const reconcilerLog = (config: ReconcilerConfig): Logger =>
  pino({ name: 'reconciler', level: config.logLevel }, pino.destination(2));

/**
 * Makes the runs that are asked for, by people and once by each day, and writes the segments of movements. It
 * reads what others have stored, and calls
 * nobody. Leaves nothing behind when it throws.
 */
export async function startReconciler(
  config: ReconcilerConfig,
  log: ServiceLog = boundedLog(reconcilerLog(config)),
  clock: Clock = systemClock,
): Promise<RunningReconciler> {
  const pool = openPool({
    connectionString: config.databaseUrl,
    maxConnections: 4,
    applicationName: 'pedigree-reconciler',
  });
  const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const queue = new PostgresTaskQueue({ pool });
  const close = async (): Promise<void> => {
    await queue.close();
    await store.close();
    await pool.end();
  };
  try {
    await refuseUnfinishedRestore(pool);
    await migrateOrCheck(pool, reconcilerSchemas);
    await settleLog({ ...config, db: pool, store, program: 'reconciler' });
    await refuseCursorsAhead({ db: pool, store });
    const installation = await installationOf(config, pool);
    await recordSettings(config, { pool, store, installation });
    const stopping = new AbortController();
    const troubles = new Troubles(log, clock);
    const running = runAll({ config, pool, store, queue, installation, log, troubles, clock, signal: stopping.signal });
    const stop = async (): Promise<void> => {
      stopping.abort();
      await Promise.all(running);
      await close();
    };
    return { troubles: () => troubles.all(), stop };
  } catch (error) {
    await close();
    throw error;
  }
}

/** It calls no registry: so it has no profile. */
const installationOf = async ({ participant }: ReconcilerConfig, pool: Pool): Promise<Parts['installation']> => ({
  id: await installationId(pool),
  participant,
  softwareVersion: SOFTWARE_VERSION,
  profile: 'none',
});

interface Parts {
  config: ReconcilerConfig;
  pool: Pool;
  store: EventStore;
  queue: PostgresTaskQueue;
  installation: { id: string; participant: string; softwareVersion: string; profile: string };
  log: ServiceLog;
  troubles: Troubles;
  clock: Clock;
  signal: AbortSignal;
}

/** Everything that runs until the signal. None of it rejects. */
function runAll(parts: Parts): Promise<void>[] {
  const { config, pool, queue, log, clock, signal } = parts;
  const handle = async ({ payload: { runId } }: Task<PayloadOf<'reconcile_documents'>>): Promise<TaskResult> => {
    await compareDocuments(parts, runId);
    return { kind: 'done' };
  };
  const report = (one: RunnerReport): void =>
    log.warn({ ...one, task: 'task' in one ? one.task.key : undefined }, one.kind);
  return [
    runLane({
      queue,
      lane: RECONCILE_LANE,
      holder: `${hostname()}:${process.pid} reconciler`,
      signal,
      kinds: checkingPayloads(TASK_PAYLOADS, { reconcile_documents: { handle } }),
      concurrency: 1,
      leaseMs: LEASE_MS,
      graceMs: GRACE_MS,
      maxAttempts: MAX_ATTEMPTS,
      isAway: logIsAway,
      report,
    }),
    askDaily(parts),
    askByTimetable({ ...parts, ...config }),
    closeCases(parts),
    ...(config.segments === undefined ? [] : [keepSegments({ ...parts, settings: config.segments })]),
    ...filesOfRuns(parts),
    announcePresence({ pool, program: 'reconciler', signal, log, clock }),
    runRemovals({
      pool,
      signal,
      clock,
      report: (table: string, err: unknown) => log.warn({ err, table }, 'could not remove old rows'),
      removals: reconcilerRemovals(config),
    }),
  ];
}

/** Runs of the stock files of a folder, where one is set, and an end for the files of all runs about packs. */
function filesOfRuns(parts: Parts): Promise<void>[] {
  const { config, queue } = parts;
  const { stock, segments, dueDays } = config;
  if (segments === undefined) return [];
  const removing = keepRunFiles({ ...parts, folder: segments.folder, keptDays: config.filesKeptDays });
  return [
    removing,
    keepStockRuns({ ...parts, stock, segments, dueDays, schedule: (tx, tasks) => queue.schedule(tx, tasks) }),
  ];
}

/** Makes a run of documents, and its cases. */
async function compareDocuments(
  { config, pool, store, installation, log, clock }: Parts,
  runId: string,
): Promise<void> {
  await makeRun({ pool, store, installation, rules: config.rules, clock }, runId);
  const cases = new CaseLog({ db: pool, store, installation });
  const onWarning = (text: string): void => log.warn({ runId }, text);
  const opening = await openDocumentCases({ db: pool, store, log: cases, dueDays: config.dueDays, onWarning }, runId);
  log.info({ runId, ...opening }, 'recorded the cases of a reconciliation');
}

/** Resolves cases whose released document was accepted. Errors are said, never thrown. */
async function closeCases({ pool, store, installation, troubles, clock, signal }: Parts): Promise<void> {
  const cases = new CaseLog({ db: pool, store, installation });
  for (; !signal.aborted; await clock.wait(CLOSE_EVERY_MS, signal))
    await troubles.trying('give cases the outcomes of their documents', () => closeRemedies(pool, cases));
}

/** What the reconciler removes from its tables. */
export const reconcilerRemovals = ({
  findingsKeptDays: keptDays,
}: Pick<ReconcilerConfig, 'findingsKeptDays'>): Removal[] => [
  { table: 'reconciliation_finding', removeSome: (tx, limit) => removeFindings(tx, { keptDays, limit }) },
];

/**
 * Asks for the day's run once its hour has come; a day on which no reconciler ran is not made up for. Errors are said,
 * never thrown.
 */
async function askDaily({ config, pool, queue, installation, troubles, clock, signal }: Parts): Promise<void> {
  if (config.timetables.documents !== undefined) return;
  for (let asked = ''; !signal.aborted; await clock.wait(LOOK_EVERY_MS, signal)) {
    const day = clock.now().toISOString().slice(0, 10);
    if (asked === day || clock.now().getUTCHours() < config.dailyHour) continue;
    await troubles.trying('request the daily reconciliation', async () => {
      const runId = dailyRunId(installation.id, day);
      await inTransaction(
        pool,
        async (tx) => {
          await keepRequest(tx, {
            runId,
            reason: `the run of ${day}`,
            actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' },
          });
          await queue.schedule(tx, [runTask(runId)]);
        },
        { name: 'the daily request for a reconciliation' },
      );
      asked = day;
    });
  }
}

/** What this reconciler is set to stands in the log before it does anything. */
async function recordSettings(
  config: ReconcilerConfig,
  { pool, store, installation }: Pick<Parts, 'pool' | 'store' | 'installation'>,
): Promise<void> {
  const { healthPort, healthHost, logLevel, ...configuration } = describeReconcilerConfig(config);
  await recordConfiguration({
    store,
    installation,
    program: 'reconciler',
    actor: starterOf(config.changedBy),
    reason: config.changeReason,
    parts: [
      {
        part: 'configuration',
        state: configuration,
        local: { healthPort: healthPort ?? null, healthHost: healthHost ?? null, logLevel: logLevel ?? null },
      },
      { part: 'schemas', state: { migrations: await migrationsApplied(pool, reconcilerSchemas) } },
      { part: 'software', state: { version: SOFTWARE_VERSION } },
    ],
  });
}
