import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { RequestListener } from 'node:http';
import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore, restorationSchema } from '#backup';
import { busSchema, openBus, type MessageBus } from '#bus';
import { recordConfiguration, starterOf } from '#configuration';
import { readReceipt, titleOfType } from '#documents';
import {
  SOFTWARE_VERSION,
  eventStoreSchema,
  openEventStore,
  settleLog,
  whileLogIsAway,
  type EventStore,
} from '#event-store';
import { PostgresEvidenceStore, evidenceSchema, type EvidenceStore } from '#evidence';
import { PedigreeError, systemClock } from '#kernel';
import { installationId, installationSchema, migrate, openPool, type MigrationSet, type Pool } from '#postgres';
import { orphans, PostgresReadModels, readModelSchemas } from '#read-models';
import { reconciliationSchema } from '#reconciliation';
import {
  announcePresence,
  boundedLog,
  guardRequests,
  Health,
  HttpPort,
  optionalNeed,
  postgresNeed,
  programProcesses,
  serviceSchema,
  watchNeeds,
  type Need,
  type ServiceLog,
} from '#service';
import { subscriptionLag, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { openWatching, type Watching } from '#telemetry';
import { Accounts } from './accounts/accounts.js';
import { guardAccess } from './access/access.guard.js';
import { ApiKeys } from './access/api-keys.js';
import { KeyRegister } from './access/key-register.js';
import { listKeys, wasEverKeyed } from './access/key-table.js';
import { KeyWatch } from './access/key-watch.js';
import { MAKE_A_KEY } from './access/local-call.js';
import { WrongKeys } from './access/wrong-keys.js';
import { limitBodies, readBodies } from './api/body-limits.js';
import { refuseNul } from './api/parameters.js';
import { ProblemFilter } from './api/problem.filter.js';
import { BusIntake } from './bus/bus-intake.js';
import { Refusals } from './bus/refusals.js';
import { isForThisMachine, type GatewayConfig } from './config.js';
import { gatewayParts } from './configuration-parts.js';
import { GatewayModule, type GatewayParts } from './gateway.module.js';
import { acknowledgedAmong } from './intake/command-table.js';
import { groupStateIn } from './intake/group-state.js';
import { DeadLetterWatch } from './operations/dead-letter-watch.js';
import { DeadLetters } from './operations/dead-letters.js';
import { Operations } from './operations/operations.js';
import { OrphanWatch } from './orphans/orphan-watch.js';
import { outcomesSchema } from './outcomes/schema.js';
import { ProgramWatch } from './programs/program-watch.js';
import { startOutcomes, type OutcomesSide } from './outcomes/start-outcomes.js';
import { collectGatewayMetrics } from './watch/gateway-metrics.js';
import { ObservedIntake } from './watch/observed-intake.js';
import { webhooksSchema } from './webhooks/schema.js';
import { Reconciliations } from './reconciliations/reconciliations.js';
import { Holds } from './holds/holds.js';
import { Resends } from './resends/resends.js';

/** A client may keep its connection so long between two requests: longer than the usual minute of proxies in front. */
const KEEP_ALIVE_MS = 72_000;
/** Requests that were begun before a stop may take so long to end. */
const DRAIN_LIMIT_MS = 10_000;
/** A command id may have 200 characters, and each may take nine in an address. */
const MAX_PARAMETER_LENGTH = 2_000;
const MAX_HEADER_BYTES = 16 * 1024;

export const gatewaySchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  restorationSchema,
  { name: 'gateway-intake', directory: new URL('./intake/migrations/', import.meta.url) },
  { name: 'gateway-access', directory: new URL('./access/migrations/', import.meta.url) },
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  busSchema,
  subscriptionsSchema,
  ...readModelSchemas,
  outcomesSchema,
  webhooksSchema,
  reconciliationSchema,
];

export interface RunningGateway {
  /** Base address of the API, without a trailing slash. */
  url: string;
  /** What it answers to, as `GET /v1/documents/{requestId}`. */
  routes: string[];
  stop(): Promise<void>;
}

/** What the gateway is built on: the port that answers already, and where it says things. */
export interface GatewayFrame {
  port: HttpPort;
  log: ServiceLog;
  /** Closed with the gateway. */
  watching: Watching;
  health: Health;
}

export const gatewayLog = (config: GatewayConfig): Logger =>
  pino({ name: 'gateway', level: config.logLevel }, pino.destination(2));

/** Opens the API's port: health is answered from now on, everything else is turned away until the gateway is built. */
export const openApiPort = (config: GatewayConfig, health: Health): Promise<HttpPort> =>
  HttpPort.open({
    ...{ port: config.port, host: config.host, health },
    // Bodies have limits of their own (api/body-limits.ts): a limit on whole requests would cut a long upload that
    // keeps coming.
    server: { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS },
  });

export const gatewayNeeds = (config: GatewayConfig): Need[] => [
  postgresNeed(config.databaseUrl),
  ...optionalNeed('eventstore', config.eventStoreUrl),
  ...optionalNeed('rabbitmq', config.bus.amqpUrl, { isRequired: false }),
];

/**
 * Starts the HTTP API where the database is there. Throws PedigreeError when the configuration would expose it without
 * keys.
 */
export async function startGateway(
  config: GatewayConfig,
  log: ServiceLog = boundedLog(gatewayLog(config)),
): Promise<RunningGateway> {
  const health = new Health('gateway');
  const port = await openApiPort(config, health);
  const watching = new AbortController();
  const watch = watchNeeds({ needs: gatewayNeeds(config), health, log, signal: watching.signal });
  const endGuard = guardRequests(log);
  const endWatch = async (): Promise<void> => {
    watching.abort();
    await watch.ended;
    endGuard();
  };
  try {
    await watch.untilThere();
    const gateway = await buildGateway(config, { port, log, watching: watchingOf(config, log), health });
    watch.started();
    health.phase = 'running';
    return { ...gateway, stop: () => gateway.stop().finally(endWatch) };
  } catch (error) {
    await port.drain(0);
    await endWatch();
    throw error;
  }
}

/** What the gateway tells of itself. */
export const watchingOf = (config: GatewayConfig, log: ServiceLog): Watching =>
  openWatching({
    program: 'gateway',
    version: SOFTWARE_VERSION,
    profile: config.profile,
    otlpEndpoint: config.otlpEndpoint,
    onError: (error) => log.warn({ err: error }, 'a figure could not be read'),
  });

/**
 * Builds the API behind its port. Leaves nothing behind when it throws, but the port, which is the caller's until the
 * gateway is stopped.
 */
export async function buildGateway(
  config: GatewayConfig,
  { port, log, watching, health }: GatewayFrame,
): Promise<RunningGateway> {
  const services = openServices(config, log);
  let side: OutcomesSide | undefined;
  const closeParts = async () => {
    await side?.stop();
    await watching.tracing.close();
    await services.close();
  };
  try {
    await refuseUnfinishedRestore(services.pool);
    await migrate(services.pool, gatewaySchemas);
    await settleLog({ ...config, db: services.pool, store: services.store, program: 'gateway' });
    const evidence = new PostgresEvidenceStore({ pool: services.pool });
    side = startOutcomes({ ...services, evidence, config, log });
    const orphanWatch = new OrphanWatch({
      find: () => orphans(services.pool, services.store),
      clock: systemClock,
      log,
    });
    const { keys, keyWatch } = await keysOf(config, { ...services, log, watching });
    const programWatch = programWatchOf(config, services, log);
    const parts = await partsOf(config, {
      ...services,
      evidence,
      log,
      watching,
      side,
      orphanWatch,
      keys,
      keyWatch,
      programWatch,
    });
    const { app, routes } = await serve({ config, log, parts, port });
    const busIntake = openBusIntake(config, { ...services, parts, log });
    busIntake.start();
    const looking = new AbortController();
    const watches = [
      parts.accounts,
      orphanWatch,
      programWatch,
      keyWatch,
      new DeadLetterWatch({ bus: services.bus, clock: systemClock, log }),
    ];
    const looked = [
      ...watches.map((one) => one.watch(looking.signal)),
      announcePresence({ pool: services.pool, program: 'gateway', signal: looking.signal, log }),
    ];
    health.degradedBy(() => watches.flatMap((one) => one.troubles()));
    const stop = async (): Promise<void> => {
      looking.abort();
      await Promise.all([busIntake.stop(), ...looked]);
      // Whoever waits for an outcome is answered now.
      await side?.stop();
      await port.drain(DRAIN_LIMIT_MS);
      await app.close();
      await keys.settled();
      await closeParts();
    };
    return { url: port.url, routes, stop };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

function openBusIntake(
  { bus: { amqpUrl, deliveryLimit }, participant, profile }: GatewayConfig,
  { bus, store, parts, log }: Services & { parts: GatewayParts; log: ServiceLog },
): BusIntake {
  const { intake, installationId } = parts;
  const refusals = new Refusals({
    store,
    installationId,
    says: { participant, profile, softwareVersion: SOFTWARE_VERSION },
    clock: systemClock,
  });
  return new BusIntake({
    bus,
    intake,
    refusals,
    deliveryLimit,
    authenticatedBy: amqpUrl === undefined ? 'database' : 'amqp',
    log,
  });
}

const programWatchOf = (
  { expectedPrograms: expected }: GatewayConfig,
  { pool, store }: Services,
  log: ServiceLog,
): ProgramWatch =>
  new ProgramWatch({
    processes: () => programProcesses(pool),
    subscriptions: () => subscriptionLag(pool, store),
    expected,
    clock: systemClock,
    log,
  });

interface Services {
  pool: Pool;
  store: EventStore;
  queue: PostgresTaskQueue;
  bus: MessageBus;
}

/** Opens the ways to the services; none of them is asked anything yet. */
function openServices(config: GatewayConfig, log: ServiceLog): Services & { close(): Promise<void> } {
  const pool = openPool({
    connectionString: config.databaseUrl,
    maxConnections: 8,
    applicationName: 'pedigree-gateway',
  });
  const store = openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const queue = new PostgresTaskQueue({ pool });
  const bus = openBus({
    ...config.bus,
    pool,
    connectionName: 'pedigree-gateway',
    report: (problem) => log.warn({ problem }, 'the bus has a problem'),
  });
  const close = async (): Promise<void> => {
    await bus.close();
    await store.close();
    await queue.close();
    await pool.end();
  };
  return { pool, store, queue, bus, close };
}

/** Who may call, and what looks after their keys. Throws PedigreeError when the API would be open to everybody. */
async function keysOf(
  config: GatewayConfig,
  { pool, store, log, watching }: Pick<Services, 'pool' | 'store'> & { log: ServiceLog; watching: Watching },
): Promise<{ keys: ApiKeys; keyWatch: KeyWatch }> {
  const { participant, profile } = config;
  const register = new KeyRegister({
    pool,
    store,
    program: 'gateway',
    participant,
    profile,
    softwareVersion: SOFTWARE_VERSION,
  });
  await whileLogIsAway(systemClock, () => register.catchUp());
  await refuseOpenDoor(config, pool);
  const wrongKeys = new WrongKeys({ clock: systemClock, log, metrics: watching.metrics });
  const keyWatch = new KeyWatch({
    register,
    list: () => listKeys(pool),
    isKeyed: () => wasEverKeyed(pool),
    clock: systemClock,
    log,
  });
  return { keys: new ApiKeys({ pool, trustsLoopback: isForThisMachine(config), register, wrongKeys, log }), keyWatch };
}

interface PartsGiven extends Services {
  evidence: EvidenceStore;
  log: ServiceLog;
  watching: Watching;
  side: OutcomesSide;
  orphanWatch: OrphanWatch;
  programWatch: ProgramWatch;
  keys: ApiKeys;
  keyWatch: KeyWatch;
}

/** What the controllers are built on. */
async function partsOf(
  config: GatewayConfig,
  { pool, store, queue, bus, evidence, log, watching, side, orphanWatch, programWatch, keys, keyWatch }: PartsGiven,
): Promise<GatewayParts> {
  await recordSettings(config, pool, store);
  const { accounts, maxBacklog, maxDocumentBytes, maxItems, bodyLimits, participant, profile } = config;
  const installation = await installationId(pool);
  const limits = { accounts, maxBacklog, maxDocumentBytes, maxItems };
  const intake = new ObservedIntake(
    {
      pool,
      evidence,
      queue,
      installationId: installation,
      ...limits,
      groupState: (groupId) => groupStateIn(store, groupId),
    },
    watching,
  );
  const says = { participant, profile, softwareVersion: SOFTWARE_VERSION };
  const paused = new Accounts({ store, queue, accounts, ...says, clock: systemClock, log });
  collectGatewayMetrics(watching.metrics, {
    pool,
    queue,
    bus,
    accounts: paused,
    orphans: orphanWatch,
    keys: keyWatch,
    programs: programWatch,
  });
  return {
    ...{
      pool,
      intake,
      keys,
      evidence,
      installationId: installation,
      bodyLimits,
      log,
      outcomes: side.outcomes,
      webhooks: side.webhooks,
    },
    accounts: paused,
    operations: new Operations({ pool, store, queue, orphans: orphanWatch, programs: programWatch, ...says }),
    deadLetters: new DeadLetters({ bus, store, evidence, ...says }),
    reconciliations: new Reconciliations({ pool, store, queue }),
    holds: new Holds({ pool, store, queue }),
    resends: new Resends({ pool, store, evidence, intake, failedGraceMs: config.failedGraceMs }),
    readModels: new PostgresReadModels({
      pool,
      store,
      evidence,
      documents: { readReceipt },
      titleOf: titleOfType,
      received: (requestIds) => acknowledgedAmong(pool, requestIds),
    }),
  };
}

/** What this gateway is set to stands in the log before it takes anything. */
async function recordSettings(config: GatewayConfig, pool: Pool, store: EventStore): Promise<void> {
  const { participant, profile, changedBy, changeReason } = config;
  const installation = { id: await installationId(pool), participant, profile, softwareVersion: SOFTWARE_VERSION };
  await recordConfiguration({
    store,
    installation,
    program: 'gateway',
    parts: await gatewayParts(config, pool, gatewaySchemas),
    actor: starterOf(changedBy),
    reason: changeReason,
  });
}

/**
 * Whoever can reach the machine, or the proxy before it, could command it: another address than loopback needs an API
 * key first.
 */
async function refuseOpenDoor(config: GatewayConfig, pool: Pool): Promise<void> {
  if (isForThisMachine(config) || (await wasEverKeyed(pool))) return;
  const [field, what] = config.isBehindProxy
    ? ['PEDIGREE_BEHIND_PROXY', 'serving a proxy']
    : ['HOST', `listening on ${config.host}`];
  const message = `${field}: ${what} is refused before the first API key; make one with: ${MAKE_A_KEY}`;
  throw new PedigreeError('invalid_configuration', message, { field });
}

interface Serving {
  config: GatewayConfig;
  log: ServiceLog;
  parts: GatewayParts;
  port: HttpPort;
}

async function serve({
  config,
  log,
  parts,
  port,
}: Serving): Promise<{ app: NestFastifyApplication; routes: string[] }> {
  let handler: RequestListener | undefined;
  const adapter = new FastifyAdapter({
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    // The port was opened before, and stays when this is built anew.
    serverFactory: (given: RequestListener) => {
      handler = given;
      port.server.removeAllListeners('clientError');
      return port.server;
    },
  });
  const app = await NestFactory.create<NestFastifyApplication>(GatewayModule.of(parts), adapter, {
    bodyParser: false,
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  const fastify = app.getHttpAdapter().getInstance();
  const routes = ['GET /health/live', 'GET /health/ready'];
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat())
      if (one !== 'HEAD' && one !== 'OPTIONS') routes.push(`${one} ${url.replace(/:(\w+)/g, '{$1}')}`);
  });
  guardAccess(fastify, parts.keys);
  refuseNul(fastify);
  limitBodies(fastify, config.bodyLimits);
  readBodies(fastify, config.bodyLimits);
  app.useGlobalFilters(new ProblemFilter(log));
  await app.init();
  await fastify.ready();
  port.serve(handler);
  return { app, routes };
}
