import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import { pino, type Logger } from 'pino';
import { DOCUMENT_SAGA, keysOfDocumentEvent, reactToDocumentEvent } from '#domain';
import { effectsOf, readDocument, readReceipt } from '#documents';
import { eventStoreSchema, PostgresEventStore, SOFTWARE_VERSION, type EventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { systemClock } from '#kernel';
import { installationId, installationSchema, migrate, openPool, type MigrationSet, type Pool } from '#postgres';
import { projections, readModelSchemas } from '#read-models';
import { PostgresSessionStore, registryClientSchema, UndiciRegistryClient, watchCertificates, type Profile } from '#registry-client';
import { runProjection, runSaga, subscriptionsSchema, type SubscriptionTrouble } from '#subscriptions';
import { PostgresCallBudgets, PostgresTaskQueue, runLane, tasksSchema, type CallBudgets, type TaskQueue } from '#tasks';
import type { WorkerConfig } from './config.js';
import { DocumentRepository } from './document/document-repository.js';
import { lanesOf, type Lane } from './lanes.js';
import { endLeasesOfTheDead } from './leases/dead-holders.js';
import { processName } from './leases/process-name.js';
import type { TaskContext } from './registry-tasks/context.js';
import { WorkerModule } from './worker.module.js';

export const workerSchemas: MigrationSet[] = [
  installationSchema,
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  subscriptionsSchema,
  registryClientSchema,
  ...readModelSchemas,
];

export interface RunningWorker {
  /** Calls made at the registry, by account and method. */
  callFigures(): ReturnType<CallBudgets['figures']>;
  /** Finishes what is in the air, then stops. */
  stop(): Promise<void>;
}

/** Throws of one task before it is given up and shown as failed; with back-off to a minute that is more than an hour. */
const MAX_ATTEMPTS = 100;
/** Least time between two look-ups of a document of unknown outcome. */
const LOOK_UP_EVERY_MS = 5_000;
/** Longest interval between two calls that a 429 may teach. */
const MAX_INTERVAL_MS = 60_000;
/** Status reads fall on whole seconds, so that one page of the list serves all that are due. */
const STATUS_GRID_MS = 1_000;

/** Starts the saga, the projections and the lanes of all accounts. */
export async function startWorker(config: WorkerConfig): Promise<RunningWorker> {
  const log = pino({ name: 'worker', level: config.logLevel }, pino.destination(2));
  const pool = openPool({ connectionString: config.databaseUrl, maxConnections: 16, applicationName: 'pedigree-worker' });
  await migrate(pool, workerSchemas);
  const store = new PostgresEventStore({ pool });
  const queue = new PostgresTaskQueue({ pool });
  const budgets = budgetsOf(config.profile, pool);
  const { context, close } = await contextOf(config, { pool, store, budgets, log });

  const stopping = new AbortController();
  const { signal } = stopping;
  const holder = processName();
  const ended = await endLeasesOfTheDead(pool);
  if (ended > 0) log.info({ tasks: ended }, 'took over tasks of processes that are gone');
  const trouble = (error: unknown, { kind, ...where }: SubscriptionTrouble) => log.error({ err: error, ...where, from: where.from?.toString(), to: where.to?.toString() }, kind);
  const lanes = lanesOf(context, config.accounts.map((account) => account.name));
  await sayUnserved(queue, lanes, log);
  const rules = { ...config.profile.rules, statusGridMs: STATUS_GRID_MS, lookUpEveryMs: LOOK_UP_EVERY_MS };
  const saga = { ...DOCUMENT_SAGA, keysOf: keysOfDocumentEvent, react: reactToDocumentEvent(rules) };
  const running = [
    watchCertificates({ sessions: () => context.registry.sessions(), clock: systemClock, signal, warn: (notice, message) => log.warn(notice, message) }),
    runSaga({ saga, store, pool, queue, signal, onError: trouble }),
    ...projections({ evidence: context.evidence, documents: { readDocument, readReceipt, effectsOf } }).map((projection) =>
      runProjection({ projection, store, pool, signal, onError: trouble }),
    ),
    ...lanes.map(({ name, ...lane }) =>
      runLane({ ...lane, lane: name, queue, holder, signal, maxAttempts: MAX_ATTEMPTS, report: (report) => log.warn({ ...report, task: 'task' in report ? report.task.key : undefined }, report.kind) }),
    ),
  ];
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(running);
    await close();
    await queue.close();
    await store.close();
    await pool.end();
  };
  return { callFigures: () => budgets.figures(), stop };
}

/** An account that was renamed or removed leaves work behind that nobody would do: that is said, loudly. */
async function sayUnserved(queue: TaskQueue, served: Lane[], log: Logger): Promise<void> {
  const names = new Set(served.map((lane) => lane.name));
  for (const { lane, ready, leased } of await queue.lanes()) {
    if (!names.has(lane)) log.error({ lane, tasks: ready + leased }, 'tasks wait in a lane that no account of this worker serves: is an account missing from PEDIGREE_ACCOUNTS?');
  }
}

const budgetsOf = (profile: Profile, pool: Pool): PostgresCallBudgets =>
  new PostgresCallBudgets({
    pool,
    intervalsMs: (method) => profile.operations[method as keyof Profile['operations']]?.intervalMs ?? 0,
    guardMs: profile.rules.guardMs,
    slotSlackMs: profile.rules.slotSlackMs,
    maxIntervalMs: MAX_INTERVAL_MS,
  });

interface ContextParts {
  pool: Pool;
  store: EventStore;
  budgets: CallBudgets;
  log: Logger;
}

async function contextOf(config: WorkerConfig, { pool, store, budgets, log }: ContextParts): Promise<{ context: TaskContext; close(): Promise<void> }> {
  const { profile, accounts } = config;
  const installation = { id: await installationId(pool), participant: config.participant, softwareVersion: SOFTWARE_VERSION, profile: profile.name };
  const documents = new DocumentRepository({ store, clock: systemClock, installation });
  const app = await NestFactory.createApplicationContext(WorkerModule.of(documents), { logger: ['error', 'warn'], abortOnError: false });
  const registry = new UndiciRegistryClient({
    baseUrl: config.registryUrl,
    profile,
    accounts,
    budgets,
    sessions: new PostgresSessionStore(pool, { key: config.encryptionKey }),
    clock: systemClock,
    log,
  });
  const context: TaskContext = { commands: app.get(CommandBus), documents, evidence: new PostgresEvidenceStore({ pool }), registry, profile, clock: systemClock };
  const close = async (): Promise<void> => {
    await registry.close();
    await app.close();
  };
  return { context, close };
}
