import { z } from 'zod';
import { readAccounts, readEncryptionKey, readProfile, type Account, type Profile } from '#registry-client';
import { addressWithoutSecrets, parseEnvironment, readVariable, serverWithoutSecrets, variablesOf } from '#service';

const environment = z.object({
  /** PostgreSQL connection string. */
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://'),
  /**
   * Connection string of EventStoreDB or KurrentDB, for installations whose log has a server of its own. Absent: the
   * log lies in the database.
   */
  EVENTSTORE_URL: z
    .string()
    .regex(/^(esdb|kurrent|kurrentdb)(\+discover)?:\/\//, 'must begin with esdb:// or esdb+discover://')
    .optional(),
  /** Base address of the registry, without the profile's base path (/api/v1). */
  REGISTRY_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
  /** Name of a built-in profile. */
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  /** JSON file whose fields override those of the profile. */
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /** File with the registry accounts (JSON). */
  PEDIGREE_ACCOUNTS: z.string().min(1),
  /** File with the 32-byte key, as 64 hexadecimal digits, that encrypts tokens at rest. */
  PEDIGREE_KEY_FILE: z.string().min(1),
  /** The legal entity in whose name this installation speaks; goes into every event. */
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  /** Days for which the key of a task that is done is kept: for so long the same key again schedules nothing. */
  PEDIGREE_TASK_KEYS_KEPT_DAYS: z.coerce.number().int().min(30).max(36_500).default(400),
  /** Days for which the upload link of a large document is kept after the document was concluded. */
  PEDIGREE_UPLOAD_LINKS_KEPT_DAYS: z.coerce.number().int().min(1).max(36_500).default(30),
  /** TCP port on which health and metrics are told; 0 takes a free one, which the line on standard output names. */
  HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Address of the same. It is open to whoever reaches it, and tells nothing of the business. */
  HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  /** Base address of an OpenTelemetry receiver (OTLP over HTTP). Absent: no traces are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  /**
   * Types of document, by number, that are ended at once when what they come after ends badly, for example `415,701`.
   * All others are held.
   */
  PEDIGREE_END_AT_ONCE_DOC_TYPES: z
    .string()
    .regex(/^\s*(\d{2,5}\s*(,\s*\d{2,5}\s*)*)?$/, 'must be numbers of document types with commas between them')
    .default(''),
  /** For so long a document may be held before the metric for the alert counts it. */
  PEDIGREE_HELD_ALERT_HOURS: z.coerce.number().positive().max(8_760).default(24),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /**
   * Who answers for the settings that this start brings; absent: the user of the operating system. Kept with every
   * change of settings.
   */
  PEDIGREE_CHANGED_BY: z.string().trim().min(1).max(200).optional(),
  /** Why the settings are as they are now; kept with every change that this start finds. */
  PEDIGREE_CHANGE_REASON: z.string().trim().min(3).max(1_000).optional(),
});

export const workerVariables = variablesOf(environment);

export interface WorkerConfig {
  otlpEndpoint: string | undefined;
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  registryUrl: string;
  profile: Profile;
  accounts: Account[];
  encryptionKey: Buffer;
  participant: string;
  taskKeysKeptDays: number;
  uploadLinksKeptDays: number;
  healthPort: number;
  healthHost: string;
  logLevel: string;
  endAtOnceDocTypes: number[];
  heldAlertHours: number;
  /** Who answers for a change of settings that this start finds, and why. */
  changedBy: string | undefined;
  changeReason: string | undefined;
}

/** Reads and checks the worker's configuration. Throws PedigreeError that names the variable. */
export function workerConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const data = parseEnvironment(environment, env);
  return {
    otlpEndpoint: data.OTEL_EXPORTER_OTLP_ENDPOINT,
    databaseUrl: data.DATABASE_URL,
    eventStoreUrl: data.EVENTSTORE_URL,
    registryUrl: data.REGISTRY_URL.replace(/\/+$/, ''),
    profile: readProfile(data.REGISTRY_PROFILE, data.REGISTRY_PROFILE_OVERRIDES),
    accounts: readVariable('PEDIGREE_ACCOUNTS', () => readAccounts(data.PEDIGREE_ACCOUNTS, env)),
    encryptionKey: readVariable('PEDIGREE_KEY_FILE', () => readEncryptionKey(data.PEDIGREE_KEY_FILE)),
    participant: data.PEDIGREE_PARTICIPANT,
    taskKeysKeptDays: data.PEDIGREE_TASK_KEYS_KEPT_DAYS,
    uploadLinksKeptDays: data.PEDIGREE_UPLOAD_LINKS_KEPT_DAYS,
    healthPort: data.HEALTH_PORT,
    healthHost: data.HEALTH_HOST,
    logLevel: data.LOG_LEVEL,
    endAtOnceDocTypes: data.PEDIGREE_END_AT_ONCE_DOC_TYPES.split(',')
      .filter((one) => one.trim() !== '')
      .map(Number),
    heldAlertHours: data.PEDIGREE_HELD_ALERT_HOURS,
    changedBy: data.PEDIGREE_CHANGED_BY,
    changeReason: data.PEDIGREE_CHANGE_REASON,
  };
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeWorkerConfig(config: WorkerConfig) {
  const {
    participant,
    taskKeysKeptDays,
    uploadLinksKeptDays,
    healthPort,
    healthHost,
    logLevel,
    otlpEndpoint,
    endAtOnceDocTypes,
    heldAlertHours,
  } = config;
  return {
    databaseUrl: addressWithoutSecrets(config.databaseUrl),
    eventStoreUrl: serverWithoutSecrets(config.eventStoreUrl),
    registryUrl: addressWithoutSecrets(config.registryUrl),
    profile: config.profile,
    accounts: config.accounts.map(({ name, userId, signer }) => ({ name, userId, signer: signer.kind })),
    otlpEndpoint: otlpEndpoint === undefined ? 'none' : addressWithoutSecrets(otlpEndpoint),
    participant,
    taskKeysKeptDays,
    uploadLinksKeptDays,
    healthPort,
    healthHost,
    logLevel,
    endAtOnceDocTypes,
    heldAlertHours,
  };
}
