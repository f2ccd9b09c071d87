import type { BlockList } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { documentTypeOf, schemaSetsIn, type SchemaSets } from '#documents';
import { defined, invalidConfiguration, type JsonObject } from '#kernel';
import { namedCalendar, readCalendarFile, type CalendarFile } from '#read-models';
import { readEncryptionKey, readProfile, type Profile } from '#registry-client';
import { readSecretFile } from '#secret-files';
import { DEFAULT_DUE_DAYS, dueDaysOf, type DueDays } from '#reconciliation';
import {
  addressWithoutSecrets,
  describeProgramSettings,
  parseEnvironment,
  PROGRAM_VARIABLES,
  programSettings,
  readVariable,
  serverWithoutSecrets,
  urlOf,
  variablesOf,
  type ProgramSettings,
} from '#service';
import { DEFAULT_BODY_LIMITS, type BodyLimits } from './api/body-limits.js';
import { PROGRAM_DUTIES, type ExpectedProgram } from './programs/program-watch.js';
import { blockList } from './webhooks/addresses.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** The client of RabbitMQ decodes these, and would fail at each try to connect. */
function isReadable({ username, password, pathname }: URL): boolean {
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

const environment = z.object({
  ...PROGRAM_VARIABLES,
  /** The RabbitMQ over which the ERP's commands come and the outcomes go. Absent: the embedded bus, on the database. */
  AMQP_URL: urlOf(/^amqps?:\/\/[^/]/, 'amqp:// or amqps://')
    .refine((text) => !URL.canParse(text) || isReadable(new URL(text)), 'in user, password and vhost write % as %25')
    .refine((text) => !URL.canParse(text) || new URL(text).username !== '', {
      error: 'must name a user, as in amqp://user:password@host',
    })
    .optional(),
  /** Begins the names of our queues and exchanges, where several installations share a broker. */
  AMQP_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,100}$/, 'must be letters, digits, dots, hyphens or underscores')
    .default('pedigree'),
  /**
   * Deliveries of one command before it is put among the dead letters. It is a property of the queue: to change it,
   * delete the empty queue.
   */
  AMQP_DELIVERY_LIMIT: z.coerce.number().int().min(1).max(1_000).default(10),
  /** TCP port of the API; 0 takes a free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Address to listen on. Any other than loopback is refused before the first API key. */
  HOST: z.string().min(1).default('127.0.0.1'),
  /**
   * Whether a reverse proxy passes calls on to us. What it passes on comes from loopback and is not this machine's:
   * every call needs a key then.
   */
  PEDIGREE_BEHIND_PROXY: z.enum(['true', 'false']).default('false'),
  /** File with the registry accounts (JSON). */
  PEDIGREE_ACCOUNTS: z.string().min(1),
  /** Name of a built-in profile: its limits are told at intake. */
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  /** JSON file whose fields override those of the profile. */
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /**
   * Folder of schema sets that come before the built-in one: a sub-folder for each, as `pedigree schemas add` makes
   * them, or the XSD files of one set. Absent: the built-in set alone.
   */
  SCHEMA_DIR: z.string().min(1).optional(),
  /** Base address of an OpenTelemetry receiver (OTLP over HTTP). Absent: no traces are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  /**
   * File with the 32-byte key, as 64 hexadecimal digits, that encrypts the secrets of webhooks. Absent: no webhook can
   * be made.
   */
  PEDIGREE_KEY_FILE: z.string().min(1).optional(),
  /** Days for which outcomes are kept for the feed, after everybody has them. */
  PEDIGREE_OUTCOMES_KEPT_DAYS: z.coerce.number().int().min(1).max(36_500).default(90),
  /** Days for which dead letters of the embedded bus wait for somebody to replay them. */
  PEDIGREE_DEAD_LETTERS_KEPT_DAYS: z.coerce.number().int().min(1).max(36_500).default(365),
  /**
   * Networks (10.0.0.0/8) and addresses, with commas between, to which webhooks may go by http and though they are
   * link-local.
   */
  PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES: z.string().default(''),
  /** JSON file with the calendar of deadlines. Absent: nobody can tell when a document is due. */
  DEADLINE_CALENDAR: z.string().min(1).optional(),
  /** For so many hours before its due moment a document that is not sent, or not answered, raises the alert. */
  PEDIGREE_DEADLINE_ALERT_HOURS: z.coerce.number().min(0.1).max(720).default(24),
  /** Days until a case that a person reopens is due, by severity. */
  CASES_DUE_DAYS: z.string().max(100).default(DEFAULT_DUE_DAYS),
  /** Most tasks, of any kind, that may wait to be done before HTTP answers 503. */
  PEDIGREE_MAX_BACKLOG: z.coerce.number().int().min(1).default(100_000),
  /** Folder of the reconciler's files, where this machine has it: findings of runs about packs are read from it. */
  SEGMENTS_DIR: z.string().min(1).optional(),
  /**
   * Folder from which the reconciler takes stock files, where this machine has it: uploads go there. Absent: none are
   * taken.
   */
  RECONCILE_STOCK_FOLDER: z.string().min(1).optional(),
  /** Programs that should run, with commas between: readiness says when one of them does not. */
  PEDIGREE_EXPECTED_PROGRAMS: z.string().default('worker,auditor,reconciler'),
});

export const gatewayVariables = variablesOf(environment);

export interface GatewayConfig extends ProgramSettings {
  otlpEndpoint: string | undefined;
  bus: { amqpUrl?: string; prefix: string; deliveryLimit: number };
  port: number;
  host: string;
  isBehindProxy: boolean;
  /** Account names in the order of the accounts file. */
  accounts: string[];
  /** The longest document that is taken: a large one goes to the registry in parts. */
  maxDocumentBytes: number;
  /** For so long a FAILED may still turn out otherwise: until then such a document is not sent again. */
  failedGraceMs: number;
  /** Most items in one document of a type: the least of what schema and profile say. */
  maxItems(docType: number): number;
  /** What documents are checked and built by: the sets here, and the versions that the registry takes. */
  schemas: SchemaSets;
  /** Name of the profile, for events. */
  profile: string;
  /** Offset of the profile's zone, such as `+03:00`. */
  zone: string;
  maxBacklog: number;
  bodyLimits: BodyLimits;
  /** Key for the secrets of webhooks. */
  encryptionKey: Buffer | undefined;
  outcomesKeptMs: number;
  deadLettersKeptDays: number;
  /** Absent: no calendar of deadlines is set. */
  calendarFile: CalendarFile | undefined;
  deadlineAlertMs: number;
  dueDays: DueDays;
  /** Programs without which readiness is degraded. */
  expectedPrograms: ExpectedProgram[];
  /** Absent: findings about packs are told where they lie, and not over HTTP. */
  segmentsFolder: string | undefined;
  /** Absent: no stock files are taken over HTTP. */
  stockFolder: string | undefined;
  /** Where webhooks may go, besides where they always may. */
  webhookAllowed: BlockList;
}

/** Reads and checks the gateway's configuration. Throws PedigreeError that names the variable. */
export function gatewayConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  const data = parseEnvironment(environment, env);
  const { AMQP_URL: amqpUrl, PEDIGREE_KEY_FILE: keyFile, DEADLINE_CALENDAR: calendar } = data;
  return {
    ...programSettings(data),
    ...limitsOf(readProfile(data.REGISTRY_PROFILE, data.REGISTRY_PROFILE_OVERRIDES), data.SCHEMA_DIR),
    otlpEndpoint: data.OTEL_EXPORTER_OTLP_ENDPOINT,
    bus: {
      ...defined({ amqpUrl }),
      prefix: data.AMQP_PREFIX,
      deliveryLimit: data.AMQP_DELIVERY_LIMIT,
    },
    port: data.PORT,
    host: data.HOST,
    isBehindProxy: data.PEDIGREE_BEHIND_PROXY === 'true',
    accounts: accountNames(data.PEDIGREE_ACCOUNTS),
    maxBacklog: data.PEDIGREE_MAX_BACKLOG,
    bodyLimits: DEFAULT_BODY_LIMITS,
    encryptionKey:
      keyFile === undefined ? undefined : readVariable('PEDIGREE_KEY_FILE', () => readEncryptionKey(keyFile)),
    calendarFile:
      calendar === undefined ? undefined : readVariable('DEADLINE_CALENDAR', () => readCalendarFile(calendar)),
    dueDays: dueDaysOf(data.CASES_DUE_DAYS, 'CASES_DUE_DAYS'),
    deadlineAlertMs: Math.round(data.PEDIGREE_DEADLINE_ALERT_HOURS * HOUR_MS),
    outcomesKeptMs: data.PEDIGREE_OUTCOMES_KEPT_DAYS * DAY_MS,
    deadLettersKeptDays: data.PEDIGREE_DEAD_LETTERS_KEPT_DAYS,
    segmentsFolder: resolved(data.SEGMENTS_DIR),
    stockFolder: resolved(data.RECONCILE_STOCK_FOLDER),
    webhookAllowed: readVariable('PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES', () =>
      blockList(listOf(data.PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES)),
    ),
    expectedPrograms: readVariable('PEDIGREE_EXPECTED_PROGRAMS', () =>
      expectedPrograms(listOf(data.PEDIGREE_EXPECTED_PROGRAMS)),
    ),
  };
}

const limitsOf = (
  profile: Profile,
  schemaDir: string | undefined,
): Pick<GatewayConfig, 'maxDocumentBytes' | 'failedGraceMs' | 'maxItems' | 'schemas' | 'profile' | 'zone'> => ({
  maxDocumentBytes: profile.rules.maxLargeDocumentBytes,
  failedGraceMs: profile.rules.failedGraceMs,
  maxItems: (docType) => mostItems(profile, docType),
  schemas: readVariable('SCHEMA_DIR', () => schemaSetsIn(schemaDir, profile.documentVersions)),
  profile: profile.name,
  zone: profile.zone,
});

const resolved = (folder: string | undefined): string | undefined =>
  folder === undefined ? undefined : resolve(folder);

/** Parts between commas, without blanks. */
const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Fields that are shown as they are. Each is named here, so that a new secret is not shown by itself. */
const SHOWN = [
  'port',
  'host',
  'isBehindProxy',
  'accounts',
  'maxDocumentBytes',
  'profile',
  'maxBacklog',
  'outcomesKeptMs',
  'deadLettersKeptDays',
  'deadlineAlertMs',
  'expectedPrograms',
] as const satisfies (keyof GatewayConfig)[];

/** What may be shown of the configuration. */
export function describeGatewayConfig(config: GatewayConfig): JsonObject {
  const { bus, otlpEndpoint, calendarFile } = config;
  return {
    ...describeProgramSettings(config),
    bus: { amqpUrl: serverWithoutSecrets(bus.amqpUrl), prefix: bus.prefix, deliveryLimit: bus.deliveryLimit },
    ...Object.fromEntries(SHOWN.map((name) => [name, config[name]])),
    otlpEndpoint: otlpEndpoint === undefined ? 'none' : addressWithoutSecrets(otlpEndpoint),
    bodyLimits: { ...config.bodyLimits },
    dueDays: { ...config.dueDays },
    deadlineCalendar: calendarFile === undefined ? 'none' : { ...namedCalendar(calendarFile) },
    encryptionKey: config.encryptionKey === undefined ? 'none' : 'set',
    webhookAllowed: [...config.webhookAllowed.rules],
    ...defined({ segmentsFolder: config.segmentsFolder, stockFolder: config.stockFolder }),
  };
}

function expectedPrograms(names: string[]): ExpectedProgram[] {
  const unknown = names.filter((name) => !(name in PROGRAM_DUTIES));
  if (unknown.length > 0)
    throw new Error(`${unknown.join(', ')}: must be of ${Object.keys(PROGRAM_DUTIES).join(', ')}`);
  return names as ExpectedProgram[];
}

function mostItems({ rules }: Profile, docType: number): number {
  return Math.min(
    documentTypeOf(docType)?.maxItems ?? Infinity,
    rules.maxItemsPerDocument,
    rules.maxItemsByType[String(docType)] ?? Infinity,
  );
}

/**
 * Whether nobody but this machine's own programs can call: it listens on loopback, and no proxy lets others through.
 */
export const isForThisMachine = ({ host, isBehindProxy }: Pick<GatewayConfig, 'host' | 'isBehindProxy'>): boolean =>
  LOOPBACK.includes(host) && !isBehindProxy;

/** The gateway needs the accounts' names and nothing else of the file: no secret passes through it. */
function accountNames(file: string): string[] {
  try {
    const accounts = z
      .array(z.looseObject({ name: z.string().min(1) }))
      .min(1)
      .parse(JSON.parse(readSecretFile(file).toString('utf8')));
    return accounts.map((account) => account.name);
  } catch (error) {
    // The parser's own message quotes the text around the fault, which may be a secret.
    const why = error instanceof SyntaxError ? `${file} is not JSON` : `${file}: ${(error as Error).message}`;
    throw invalidConfiguration('PEDIGREE_ACCOUNTS', why);
  }
}
