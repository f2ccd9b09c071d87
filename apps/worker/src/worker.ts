import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore, restorationSchema } from '#backup';
import { recordConfiguration, starterOf } from '#configuration';
import { documentReading, typeKnowledge } from '#documents';
import { eventStoreSchema, openEventStore, settleLog, SOFTWARE_VERSION, type EventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { itemClaimsSchema, runItemClaims } from '#item-claims';
import { installationSchema, migrateOrCheck, openPool, openServerClock, type MigrationSet, type Pool } from '#postgres';
import { projections, readModelSchemas, suspensionQuestions } from '#read-models';
import { RECONCILE_LANE, registryFetchSchema } from '#reconciliation';
import { registryClientSchema, watchCertificates, type Profile } from '#registry-client';
import { runRemovals } from '#retention';
import { announcePresence, boundedLog, serviceSchema, type ServiceLog } from '#service';
import {
  refuseCursorsAhead,
  runProjection,
  subscriptionsSchema,
  SubscriptionWatch,
  type ParkingNews,
} from '#subscriptions';
import { openWatching, type Watching } from '#telemetry';
import {
  PostgresCallBudgets,
  PostgresTaskQueue,
  runLane,
  tasksSchema,
  type CallBudgets,
  type RunnerReport,
  type TaskQueue,
} from '#tasks';
import type { WorkerConfig } from './config.js';
import { workerParts } from './configuration-parts.js';
import { closeAll, type Closing } from './closing.js';
import type { PausedAccount } from './account/account-gates.js';
import type { InboundContext } from './inbound/context.js';
import { fetchLanes } from './fetches/lanes.js';
import { beginSuspensionMails, runSuspensionMails } from './mail/plan-mails.js';
import { mailsTo } from './mail/receivers-mailed.js';
import { mailLane } from './mail/suspension-mail.js';
import { SUSPENSION_WATCH, suspensionWatchLanes } from './suspensions/watch-list.js';
import { beginReadingLists } from './inbound/read-list.js';
import { inboundSchema } from './inbound/registry-documents.js';
import type { Lane } from './lane.js';
import { lanesOf, together } from './lanes.js';
import { takeOver, watchNeighbours } from './leases/reclaim-leases.js';
import { processName } from './leases/process-name.js';
import { observedLanes } from './watch/observed-lanes.js';
import { sayWhenHeld } from './restoration/restoration-dependency.js';
import { workerRemovals } from './retention/worker-removals.js';
import { sagaLane, sagasBy } from './sagas.js';
import { installationOf, openContext } from './worker-context.js';

export const workerSchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  restorationSchema,
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  subscriptionsSchema,
  registryClientSchema,
  inboundSchema,
  registryFetchSchema,
  ...readModelSchemas,
  itemClaimsSchema,
];

export interface RunningWorker {
  /** Calls made at the registry, by account and method. */
  callFigures(): ReturnType<CallBudgets['figures']>;
  /** Accounts through which nothing is sent, as this process last saw them. */
  pausedAccounts(): PausedAccount[];
  /** Accounts whose signer signs nothing, with why. */
  failingSigners(): { account: string; since: Date; reason: string }[];
  /** Sagas and projections of this process, and why they fail. */
  subscriptions: Pick<SubscriptionWatch, 'failing' | 'troubles'>;
  /** Finishes in-flight work, then stops. */
  stop(): Promise<void>;
}

/**
 * Throws of one task before it is given up and shown as failed; with back-off to a minute that is more than an hour.
 */
const MAX_ATTEMPTS = 100;
/** Least time between two look-ups of a document of unknown outcome. */
const LOOK_UP_EVERY_MS = 5_000;
/** Longest interval between two calls that a 429 may teach. */
const MAX_INTERVAL_MS = 60_000;
/** Status reads fall on whole seconds, so that one page of the list serves all that are due. */
const STATUS_GRID_MS = 1_000;

export const workerLog = (config: WorkerConfig): Logger =>
  pino({ name: 'worker', level: config.logLevel }, pino.destination(2));

/**
 * Starts the saga, the projections and the lanes of all accounts. Leaves nothing behind when it throws. Traces end with
 * it; metrics stay readable.
 */
export async function startWorker(
  config: WorkerConfig,
  log: ServiceLog = boundedLog(workerLog(config)),
  given?: Watching,
): Promise<RunningWorker> {
  const closing: Closing = [];
  try {
    const watching = given ?? (await unwatched(config));
    closing.push(() => watching.tracing.close());
    return await startParts(config, { log, watching }, closing);
  } catch (error) {
    for (const failure of await closeAll(closing)) log.warn({ err: failure }, 'a part was not closed in order');
    throw error;
  }
}

/** For whoever starts a worker without a port for its metrics: traces go out all the same. */
const unwatched = (config: WorkerConfig): Promise<Watching> =>
  openWatching({
    program: 'worker',
    version: SOFTWARE_VERSION,
    profile: config.profile.name,
    otlpEndpoint: config.otlpEndpoint,
  });

async function startParts(
  config: WorkerConfig,
  watchers: { log: ServiceLog; watching: Watching },
  closing: Closing,
): Promise<RunningWorker> {
  const { log, watching } = watchers;
  const opened = await open(config, log, closing);
  const { pool, store, queue, budgets, documents } = opened;
  const context = await openContext(config, opened, { ...watchers, closing });
  await takeOver(queue, log);
  const accounts = config.accounts.map((account) => account.name);
  const sagas = sagasBy(sagaRules(config));
  const lanes = observedLanes(
    [
      ...together([...lanesOf(context, accounts, context), ...fetchLanes(context, accounts)]),
      ...[...suspensionWatchLanes(context, accounts), sagaLane(sagas, { pool, store, queue })],
      mailLaneOf(config, { ...opened, ...context }),
    ],
    watching,
  );
  await beginReadingLists(context, accounts);
  if (config.suspendedListEveryMs > 0) await queue.schedule(pool, [SUSPENSION_WATCH]);
  await sayUnserved(queue, lanes, log);

  const stopping = new AbortController();
  const subscriptions = new SubscriptionWatch({ log });
  const parts = { config, sagas, context, pool, store, queue, lanes, log, documents, subscriptions };
  const running = runAll({ ...parts, signal: stopping.signal });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(running);
    const [failure] = await closeAll(closing);
    if (failure !== undefined) throw failure;
  };
  return {
    callFigures: () => budgets.figures(),
    ...accountsOf(context),
    subscriptions,
    stop,
  };
}

/** How its accounts stand, for its health. */
const accountsOf = ({
  gates,
  registry,
}: Pick<InboundContext, 'gates' | 'registry'>): Pick<RunningWorker, 'pausedAccounts' | 'failingSigners'> => ({
  pausedAccounts: () => gates.pausedAccounts(),
  failingSigners: () =>
    registry.sessions().flatMap(({ account, signerFailing: failing }) => (failing ? [{ account, ...failing }] : [])),
});

const mailLaneOf = (
  { mail }: WorkerConfig,
  on: Omit<Parameters<typeof suspensionQuestions>[0], 'types'> & { installation: { id: string } },
): Lane =>
  mailLane({
    mail,
    pool: on.pool,
    installation: on.installation,
    suspensionNow: suspensionQuestions({ ...on, types: typeKnowledge }).one,
  });

const sagaRules = ({ profile, contentFetch }: WorkerConfig): Parameters<typeof sagasBy>[0] => ({
  ...profile.rules,
  statusGridMs: STATUS_GRID_MS,
  lookUpEveryMs: LOOK_UP_EVERY_MS,
  itemsDecide: true,
  seeksContents: (docType) => contentFetch > 0 && typeKnowledge.bringsGoods(docType),
});

/** Opens the database and the log, up to date and with this worker's settings recorded. */
async function open(config: WorkerConfig, log: ServiceLog, closing: Closing) {
  const pool = openPool({
    connectionString: config.databaseUrl,
    maxConnections: 16,
    applicationName: 'pedigree-worker',
  });
  closing.push(() => pool.end());
  await refuseUnfinishedRestore(pool);
  await migrateOrCheck(pool, workerSchemas);
  const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const queue = new PostgresTaskQueue({ pool });
  closing.push(
    () => store.close(),
    () => queue.close(),
  );
  await settleLog({ ...config, db: pool, store, program: 'worker' });
  await refuseCursorsAhead({ db: pool, store });
  await beginSuspensionMails(pool, store);
  const installation = await installationOf(config, pool);
  // What this worker is set to stands in the log before it does anything.
  await recordConfiguration({
    store,
    installation,
    program: 'worker',
    parts: await workerParts(config, pool, workerSchemas),
    actor: starterOf(config.changedBy),
    reason: config.changeReason,
  });
  const budgets = budgetsOf(config.profile, pool);
  const ending = new AbortController();
  closing.push(
    () => budgets.close(),
    () => Promise.resolve(ending.abort()),
  );
  const clock = await openServerClock(pool, {
    signal: ending.signal,
    onError: (error) => log.warn({ err: error }, "the database's time could not be read"),
  });
  // One for all of them: a document that was read when it registered is remembered until it concludes.
  return { installation, pool, store, queue, budgets, clock, documents: documentReading() };
}

interface RunningParts {
  config: WorkerConfig;
  sagas: ReturnType<typeof sagasBy>;
  context: InboundContext;
  pool: Pool;
  store: EventStore;
  queue: PostgresTaskQueue;
  lanes: Lane[];
  log: ServiceLog;
  documents: ReturnType<typeof documentReading>;
  subscriptions: SubscriptionWatch;
  signal: AbortSignal;
}

/** Everything that runs until the signal. None of it rejects. */
function runAll(parts: RunningParts): Promise<void>[] {
  const { config, sagas, context, pool, store, queue, log, documents, subscriptions, signal } = parts;
  const { clock } = context;
  const onParked = ({ saga, key, event, error }: ParkingNews): void =>
    log.error(
      { err: error, saga, key, stream: event.stream, version: event.version, position: event.position.toString() },
      'saga_instance_parked',
    );
  return [
    watchCertificates({
      sessions: () => context.registry.sessions(),
      clock,
      signal,
      warn: (notice, message) => log.warn(notice, message),
    }),
    runRemovals({
      pool,
      signal,
      removals: workerRemovals({ ...config, store, sagas }),
      report: (table, err) => log.warn({ err, table }, 'could not remove old rows'),
    }),
    sayWhenHeld({ pool, accounts: config.accounts.map((one) => one.name), signal, log, clock }),
    announcePresence({
      ...{ pool, program: 'worker', signal, log },
      subscriptions: () => [...subscriptions.standings(), ...mailsTo(config.mail?.to ?? [])],
    }),
    watchNeighbours(queue, { clock, signal, log }),
    ...sagas.map((saga) => saga.run({ store, pool, queue, signal, ...subscriptions.callbacks, onParked })),
    runItemClaims({ store, pool, queue, evidence: context.evidence, documents, signal, ...subscriptions.callbacks }),
    runSuspensionMails({ store, pool, queue, to: config.mail?.to ?? [], signal, ...subscriptions.callbacks }),
    ...projections({ evidence: context.evidence, documents, store }).map((projection) =>
      runProjection({ projection, store, pool, signal, ...subscriptions.callbacks }),
    ),
    ...runLanes(parts),
  ];
}

function runLanes({ lanes, queue, log, signal }: RunningParts): Promise<void>[] {
  const holder = processName();
  const report = (one: RunnerReport): void =>
    log.warn({ ...one, task: 'task' in one ? one.task.key : undefined }, one.kind);
  return lanes.map(({ name, ...lane }) =>
    runLane({ ...lane, lane: name, queue, holder, signal, maxAttempts: MAX_ATTEMPTS, report }),
  );
}

/** An account that was renamed or removed leaves work behind that nobody would do: that is said, loudly. */
async function sayUnserved(queue: TaskQueue, served: Lane[], log: ServiceLog): Promise<void> {
  const names = new Set([...served.map((lane) => lane.name), RECONCILE_LANE]);
  for (const { lane, ready, leased } of await queue.lanes()) {
    if (!names.has(lane))
      log.error(
        { lane, tasks: ready + leased },
        'tasks wait in a lane that no account of this worker serves: is an account missing from PEDIGREE_ACCOUNTS?',
      );
  }
}

const budgetsOf = (profile: Profile, pool: Pool): PostgresCallBudgets =>
  new PostgresCallBudgets({
    pool,
    intervalsMs: (method) => profile.operations[method as keyof Profile['operations']]?.intervalMs ?? 0,
    guardMs: profile.rules.guardMs,
    slotSlackMs: profile.rules.slotSlackMs,
    maxIntervalMs: MAX_INTERVAL_MS,
    listens: true,
  });
