import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore } from '#backup';
import { settleLog, SOFTWARE_VERSION } from '#event-store';
import { invalidConfiguration, systemClock } from '#kernel';
import { migrateOrCheck } from '#postgres';
import {
  announcePresence,
  boundedLog,
  guardRequests,
  Health,
  optionalDependency,
  postgresDependency,
  watchDependencies,
  type HttpPort,
  type Dependency,
  type ServiceLog,
} from '#service';
import { refuseCursorsAhead } from '#subscriptions';
import { openWatching, type Watching } from '#telemetry';
import { openAccess } from './access/access.js';
import { openApiPort, serveApi } from './api-port.js';
import { BusIntake } from './bus/bus-intake.js';
import { Refusals } from './bus/refusals.js';
import type { GatewayConfig } from './config.js';
import { recordSettings } from './configuration-parts.js';
import type { GatewayParts } from './gateway.module.js';
import { deliveryCursors } from './outcomes/delivery-table.js';
import { startOutcomes, type OutcomesSide } from './outcomes/start-outcomes.js';
import { partsOf, watchesOf, type Watches } from './parts.js';
import { gatewaySchemas } from './schemas.js';
import { openServices, type Services } from './services.js';
import { StockParts } from './stock-uploads/stock-parts.js';

/** Requests that were begun before a stop may take so long to end. */
const DRAIN_LIMIT_MS = 10_000;

export interface RunningGateway {
  /** Base address of the API, without a trailing slash. */
  url: string;
  /** What it answers to, as `GET /v1/documents/{requestId}`. */
  routes: string[];
  stop(): Promise<void>;
}

/** What the gateway is built on: the port that answers already, and where it says things. */
interface GatewayFrame {
  port: HttpPort;
  log: ServiceLog;
  /** Closed with the gateway. */
  watching: Watching;
  health: Health;
}

export const gatewayLog = (config: GatewayConfig): Logger =>
  pino({ name: 'gateway', level: config.logLevel }, pino.destination(2));

export const gatewayDependencies = (config: GatewayConfig): Dependency[] => [
  postgresDependency(config.databaseUrl),
  ...optionalDependency('eventstore', config.eventStoreUrl),
  ...optionalDependency('rabbitmq', config.bus.amqpUrl, { isRequired: false, onlyDegrades: true }),
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
  const watch = watchDependencies({ dependencies: gatewayDependencies(config), health, log, signal: watching.signal });
  const endGuard = guardRequests(log);
  const endWatch = async (): Promise<void> => {
    watching.abort();
    await watch.ended;
    endGuard();
  };
  try {
    await watch.untilThere();
    const frame = { port, log, watching: await watchingOf(config, log), health };
    const gateway = await buildGateway(config, frame);
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
export const watchingOf = (config: GatewayConfig, log: ServiceLog): Promise<Watching> =>
  openWatching({
    program: 'gateway',
    version: SOFTWARE_VERSION,
    profile: config.profile,
    otlpEndpoint: config.otlpEndpoint,
    onError: (error) => log.warn({ err: error }, 'could not read a metric'),
  });

/**
 * Builds the API behind its port. Leaves nothing behind when it throws, but the port, which is the caller's until the
 * gateway is stopped.
 */
export async function buildGateway(
  config: GatewayConfig,
  { port, health, ...frame }: GatewayFrame,
): Promise<RunningGateway> {
  const services = await openServices(config, frame);
  let side: OutcomesSide | undefined;
  const close = async (): Promise<void> => {
    await side?.stop();
    await services.close();
  };
  try {
    await settleDatabase(config, services);
    side = startOutcomes({ ...services, config });
    const access = await openAccess(config, services);
    await verifySchemas(config);
    await recordSettings(config, services, gatewaySchemas);
    const watches = watchesOf(config, services, access);
    watches.deadlines.announce();
    const parts = await partsOf(config, services, { watches, ...access, ...side });
    const { app, routes } = await serveApi(config, parts, port);
    const busIntake = openBusIntake(config, services, parts);
    busIntake.start();
    const looking = startLooking({ watches, cases: parts.cases }, services, health);
    const stop = async (): Promise<void> => {
      await Promise.all([busIntake.stop(), looking.stop()]);
      // Whoever waits for an outcome is answered now.
      await side?.stop();
      await port.drain(DRAIN_LIMIT_MS);
      await app.close();
      await access.keys.settled();
      await access.refusals.settled();
      await close();
    };
    return { url: port.url, routes, stop };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The tables are there, whole, and of the log that the configuration names. */
async function settleDatabase(config: GatewayConfig, { pool, store }: Services): Promise<void> {
  await refuseUnfinishedRestore(pool);
  await migrateOrCheck(pool, gatewaySchemas);
  await settleLog({ ...config, db: pool, store, program: 'gateway' });
  await refuseCursorsAhead({ db: pool, store, others: await deliveryCursors(pool) });
}

/**
 * A set that does not compile, and one that was made to harm, end the start: going on without it would check documents
 * by another set in silence (decision 25).
 */
const verifySchemas = ({ schemas }: GatewayConfig): Promise<void> =>
  schemas.verify().catch((error: Error) => {
    throw invalidConfiguration('SCHEMA_DIR', error.message);
  });

function openBusIntake(
  { bus: { amqpUrl, deliveryLimit } }: GatewayConfig,
  { bus, store, says, log }: Services,
  { intake, installationId, stockUploads }: GatewayParts,
): BusIntake {
  return new BusIntake({
    bus,
    intake,
    stockParts: new StockParts(stockUploads),
    refusals: new Refusals({ store, installationId, says, clock: systemClock }),
    deliveryLimit,
    authenticatedBy: amqpUrl === undefined ? 'database' : 'amqp',
    log,
  });
}

/** Starts every watch; health shows what they find, and the table of programs that this one is there. */
function startLooking(
  { watches, cases }: { watches: Watches; cases: GatewayParts['cases'] },
  { pool, log }: Services,
  health: Health,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const all = Object.values(watches) as Watches[keyof Watches][];
  const looking = Promise.all([
    ...all.map((one) => one.watch(signal)),
    cases.watch(signal, log),
    announcePresence({ pool, program: 'gateway', signal, log }),
  ]);
  health.degradedBy(() => all.flatMap((one) => one.troubles()));
  return {
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
