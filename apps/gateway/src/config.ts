import { readFileSync } from 'node:fs';
import type { BlockList } from 'node:net';
import { z } from 'zod';
import { documentTypeOf } from '#documents';
import { PedigreeError, type JsonObject } from '#kernel';
import { readEncryptionKey, readProfile, type Profile } from '#registry-client';
import { addressWithoutSecrets } from '#service';
import { DEFAULT_BODY_LIMITS, type BodyLimits } from './api/body-limits.js';
import { blockList } from './webhooks/addresses.js';

const DAY_MS = 86_400_000;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

const environment = z.object({
  /** PostgreSQL connection string. */
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://'),
  /** Connection string of EventStoreDB or KurrentDB, for installations whose log has a server of its own. Absent: the log lies in the database. */
  EVENTSTORE_URL: z.string().regex(/^(esdb|kurrent|kurrentdb)(\+discover)?:\/\//, 'must begin with esdb:// or esdb+discover://').optional(),
  /** The RabbitMQ over which the ERP's commands come and the outcomes go. Absent: the embedded bus, on the database. */
  AMQP_URL: z
    .string()
    .regex(/^amqps?:\/\/[^/]/, 'must begin with amqp:// or amqps://')
    .optional(),
  /** Begins the names of our queues and exchanges, where several installations share a broker. */
  AMQP_PREFIX: z.string().regex(/^[\w.-]{1,100}$/, 'must be letters, digits, dots, hyphens or underscores').default('pedigree'),
  /** Deliveries of one command before it is put among the dead letters. It is a property of the queue: to change it, delete the empty queue. */
  AMQP_DELIVERY_LIMIT: z.coerce.number().int().min(1).max(1_000).default(10),
  /** TCP port of the API; 0 takes a free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Address to listen on. Any other than loopback is refused while no API key exists. */
  HOST: z.string().min(1).default('127.0.0.1'),
  /** TCP port on which health and metrics are told, beside the API's own /health; 0 takes a free one. */
  HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Address of the same. It is open to whoever reaches it, and tells nothing of the business. */
  HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  /** File with the registry accounts (JSON). */
  PEDIGREE_ACCOUNTS: z.string().min(1),
  /** Name of a built-in profile: its limits are told at intake. */
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  /** JSON file whose fields override those of the profile. */
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /** The legal entity in whose name this installation speaks; goes into every event. */
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  /** Base address of an OpenTelemetry receiver (OTLP over HTTP). Absent: no traces are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** File with the 32-byte key, as 64 hexadecimal digits, that encrypts the secrets of webhooks. Absent: no webhook can be made. */
  PEDIGREE_KEY_FILE: z.string().min(1).optional(),
  /** Days for which outcomes are kept for the feed, after everybody has them. */
  PEDIGREE_OUTCOMES_KEPT_DAYS: z.coerce.number().int().min(1).max(36_500).default(90),
  /** Networks (10.0.0.0/8) and addresses, with commas between, to which webhooks may go by http and though they are link-local. */
  PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES: z.string().default(''),
  /** Most tasks, of any kind, that may wait to be done before HTTP answers 503. */
  PEDIGREE_MAX_BACKLOG: z.coerce.number().int().min(1).default(100_000),
  /** Who answers for the settings that this start brings; absent: the user of the operating system. Kept with every change of settings. */
  PEDIGREE_CHANGED_BY: z.string().trim().min(1).max(200).optional(),
  /** Why the settings are as they are now; kept with every change that this start finds. */
  PEDIGREE_CHANGE_REASON: z.string().trim().min(3).max(1_000).optional(),
});

export interface GatewayConfig {
  otlpEndpoint: string | undefined;
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  bus: { amqpUrl?: string; prefix: string; deliveryLimit: number };
  port: number;
  host: string;
  healthPort: number;
  healthHost: string;
  /** Account names in the order of the accounts file. */
  accounts: string[];
  logLevel: string;
  /** The longest document that is taken: a large one goes to the registry in parts. */
  maxDocumentBytes: number;
  /** For so long a FAILED may still turn out otherwise: until then such a document is not sent again. */
  failedGraceMs: number;
  /** Most items in one document of a type: the least of what schema and profile say. */
  maxItems(docType: number): number;
  /** Name of the profile, for events. */
  profile: string;
  participant: string;
  maxBacklog: number;
  bodyLimits: BodyLimits;
  /** Key for the secrets of webhooks. */
  encryptionKey: Buffer | undefined;
  outcomesKeptMs: number;
  /** Where webhooks may go, besides where they always may. */
  webhookAllowed: BlockList;
  /** Who answers for a change of settings that this start finds, and why. */
  changedBy: string | undefined;
  changeReason: string | undefined;
}

/** Reads and checks the gateway's configuration. Throws PedigreeError that names the variable. */
export function gatewayConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? '');
    throw new PedigreeError('invalid_configuration', `${field}: ${issue?.message ?? 'invalid'}`, { field });
  }
  const { DATABASE_URL, AMQP_URL, AMQP_PREFIX, AMQP_DELIVERY_LIMIT, PORT, HOST, HEALTH_PORT, HEALTH_HOST, PEDIGREE_ACCOUNTS, LOG_LEVEL, PEDIGREE_MAX_BACKLOG, REGISTRY_PROFILE, REGISTRY_PROFILE_OVERRIDES, PEDIGREE_PARTICIPANT } = parsed.data;
  const { PEDIGREE_KEY_FILE, PEDIGREE_OUTCOMES_KEPT_DAYS, PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES } = parsed.data;
  const profile = readProfile(REGISTRY_PROFILE, REGISTRY_PROFILE_OVERRIDES);
  return {
    otlpEndpoint: parsed.data.OTEL_EXPORTER_OTLP_ENDPOINT,
    databaseUrl: DATABASE_URL,
    eventStoreUrl: parsed.data.EVENTSTORE_URL,
    bus: { ...(AMQP_URL === undefined ? {} : { amqpUrl: AMQP_URL }), prefix: AMQP_PREFIX, deliveryLimit: AMQP_DELIVERY_LIMIT },
    port: PORT,
    host: HOST,
    healthPort: HEALTH_PORT,
    healthHost: HEALTH_HOST,
    accounts: accountNames(PEDIGREE_ACCOUNTS),
    logLevel: LOG_LEVEL,
    maxDocumentBytes: profile.rules.maxLargeDocumentBytes,
    failedGraceMs: profile.rules.failedGraceMs,
    maxItems: (docType) => mostItems(profile, docType),
    profile: profile.name,
    participant: PEDIGREE_PARTICIPANT,
    maxBacklog: PEDIGREE_MAX_BACKLOG,
    bodyLimits: DEFAULT_BODY_LIMITS,
    encryptionKey: PEDIGREE_KEY_FILE === undefined ? undefined : named('PEDIGREE_KEY_FILE', () => readEncryptionKey(PEDIGREE_KEY_FILE)),
    outcomesKeptMs: PEDIGREE_OUTCOMES_KEPT_DAYS * DAY_MS,
    webhookAllowed: named('PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES', () => blockList(PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES.split(',').filter((one) => one.trim() !== '').map((one) => one.trim()))),
    changedBy: parsed.data.PEDIGREE_CHANGED_BY,
    changeReason: parsed.data.PEDIGREE_CHANGE_REASON,
  };
}

/** Puts the variable's name in front of whatever is wrong with what it says. */
function named<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new PedigreeError('invalid_configuration', `${variable}: ${(error as Error).message}`, { field: variable });
  }
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeGatewayConfig(config: GatewayConfig): JsonObject {
  const { port, host, healthPort, healthHost, accounts, logLevel, maxDocumentBytes, profile, participant, maxBacklog, outcomesKeptMs, otlpEndpoint = 'none' } = config;
  return {
    databaseUrl: addressWithoutSecrets(config.databaseUrl),
    eventStoreUrl: config.eventStoreUrl === undefined ? 'in the database' : addressWithoutSecrets(config.eventStoreUrl),
    bus: { amqpUrl: config.bus.amqpUrl === undefined ? 'in the database' : addressWithoutSecrets(config.bus.amqpUrl), prefix: config.bus.prefix, deliveryLimit: config.bus.deliveryLimit },
    ...{ port, host, healthPort, healthHost, accounts, logLevel, maxDocumentBytes, profile, participant, maxBacklog, outcomesKeptMs, otlpEndpoint },
    bodyLimits: { ...config.bodyLimits },
    encryptionKey: config.encryptionKey === undefined ? 'none' : 'set',
    webhookAllowed: [...config.webhookAllowed.rules],
  };
}

function mostItems({ rules }: Profile, docType: number): number {
  return Math.min(documentTypeOf(docType)?.maxItems ?? Infinity, rules.maxItemsPerDocument, rules.maxItemsByType[String(docType)] ?? Infinity);
}

export const isLoopback = (host: string): boolean => LOOPBACK.includes(host);

/** The gateway needs the accounts' names and nothing else of the file: no secret passes through it. */
function accountNames(file: string): string[] {
  try {
    const accounts = z.array(z.looseObject({ name: z.string().min(1) })).min(1).parse(JSON.parse(readFileSync(file, 'utf8')));
    return accounts.map((account) => account.name);
  } catch (error) {
    throw new PedigreeError('invalid_configuration', `PEDIGREE_ACCOUNTS: ${file}: ${(error as Error).message}`, { field: 'PEDIGREE_ACCOUNTS' });
  }
}
