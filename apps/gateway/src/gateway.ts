import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino, type Logger } from 'pino';
import { documentTypeOf, readReceipt } from '#documents';
import { PostgresEventStore, SOFTWARE_VERSION, eventStoreSchema } from '#event-store';
import { PostgresEvidenceStore, evidenceSchema } from '#evidence';
import { PedigreeError } from '#kernel';
import { installationId, installationSchema, migrate, openPool, type MigrationSet } from '#postgres';
import { PostgresReadModels, readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { ApiKeys } from './access/api-keys.js';
import { limitBodies, MAX_COMMAND_BYTES } from './api/body-limits.js';
import { ProblemFilter } from './api/problem.filter.js';
import { type GatewayConfig, isLoopback } from './config.js';
import { GatewayModule } from './gateway.module.js';
import { acknowledgedAmong } from './intake/command-table.js';
import { Intake } from './intake/intake.js';
import { Operations } from './operations/operations.js';

const HEADERS_TIMEOUT_MS = 30_000;
/** A command id may have 200 characters, and each may take nine in an address. */
const MAX_PARAMETER_LENGTH = 2_000;
const MAX_HEADER_BYTES = 16 * 1024;

export const gatewaySchemas: MigrationSet[] = [
  installationSchema,
  { name: 'gateway-intake', directory: new URL('./intake/migrations/', import.meta.url) },
  { name: 'gateway-access', directory: new URL('./access/migrations/', import.meta.url) },
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  subscriptionsSchema,
  ...readModelSchemas,
];

export interface RunningGateway {
  /** Base address of the API, without a trailing slash. */
  url: string;
  /** What it answers to, as `GET /v1/documents/{requestId}`. */
  routes: string[];
  stop(): Promise<void>;
}

const logOf = (config: GatewayConfig): Logger => pino({ name: 'gateway', level: config.logLevel }, pino.destination(2));

/** Starts the HTTP API. Throws PedigreeError when the configuration would expose it without keys. */
export async function startGateway(config: GatewayConfig, log: Logger = logOf(config)): Promise<RunningGateway> {
  const pool = openPool({ connectionString: config.databaseUrl, maxConnections: 8, applicationName: 'pedigree-gateway' });
  const store = new PostgresEventStore({ pool });
  const queue = new PostgresTaskQueue({ pool });
  const closeParts = async () => {
    await store.close();
    await queue.close();
    await pool.end();
  };
  try {
    await migrate(pool, gatewaySchemas);
    const keys = new ApiKeys(pool, { trustsLoopback: isLoopback(config.host) });
    await refuseOpenDoor(config, keys);
    const evidence = new PostgresEvidenceStore({ pool });
    const { accounts, maxBacklog, maxDocumentBytes, bodyLimits } = config;
    const installation = await installationId(pool);
    const intake = new Intake({ pool, evidence, queue, installationId: installation, accounts, maxBacklog, maxDocumentBytes });
    const titleOf = (docType: number): string => documentTypeOf(docType)?.title ?? `Document ${docType}`;
    const readModels = new PostgresReadModels({ pool, store, evidence, documents: { readReceipt }, titleOf, received: (requestIds) => acknowledgedAmong(pool, requestIds) });
    const routes: string[] = [];
    const { participant, profile } = config;
    const operations = new Operations({ pool, store, queue, participant, profile, softwareVersion: SOFTWARE_VERSION });
    const module = GatewayModule.of({ pool, intake, keys, operations, evidence, readModels, installationId: installation, bodyLimits, log });
    const app = await listen({ routes, config, log, module });
    const { port } = app.getHttpServer().address() as { port: number };
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    return {
      url,
      routes,
      stop: async () => {
        await app.close();
        await closeParts();
      },
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

/** Whoever can reach the machine could command it: another address than loopback needs at least one API key (DESIGN section 9). */
async function refuseOpenDoor(config: GatewayConfig, keys: ApiKeys): Promise<void> {
  if (isLoopback(config.host) || (await keys.any())) return;
  const message = `HOST: listening on ${config.host} is refused while no API key exists; make one with: pedigree keys add NAME --role admin`;
  throw new PedigreeError('invalid_configuration', message, { field: 'HOST' });
}

async function listen(options: { config: GatewayConfig; log: Logger; module: ReturnType<typeof GatewayModule.of>; routes: string[] }): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: MAX_COMMAND_BYTES,
    // Bodies have limits of their own (api/body-limits.ts): this one would cut a long upload that keeps coming.
    requestTimeout: 0,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS },
  });
  const app = await NestFactory.create<NestFastifyApplication>(options.module, adapter, { bodyParser: false, logger: ['error', 'warn'], abortOnError: false });
  const fastify = app.getHttpAdapter().getInstance();
  // JSON stays bytes, so that our own parser names the place of an error; NDJSON stays a stream and is never held whole.
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  fastify.addContentTypeParser('application/x-ndjson', (_request: unknown, payload: unknown, done: (error: null, body: unknown) => void) => done(null, payload));
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD' && one !== 'OPTIONS') options.routes.push(`${one} ${url.replace(/:(\w+)/g, '{$1}')}`);
  });
  limitBodies(fastify, options.config.bodyLimits);
  app.useGlobalFilters(new ProblemFilter(options.log));
  await app.listen(options.config.port, options.config.host);
  return app;
}
