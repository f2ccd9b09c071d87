import { z } from 'zod';
import { PedigreeError, type JsonObject } from '#kernel';
import { parseVerifierKey } from '#merkle';
import { addressWithoutSecrets, parseEnvironment, serverWithoutSecrets, variablesOf } from '#service';

export const DEFAULT_ORIGIN = 'pedigree/log';

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
  /** File with the Ed25519 private key (PEM) that signs checkpoints; `pedigree audit new-key` makes one. */
  AUDIT_KEY_FILE: z.string().min(1),
  /**
   * Name of this Merkle log in its checkpoints: without blanks and plus signs, and best a domain name of yours followed
   * by a path.
   */
  AUDIT_ORIGIN: z
    .string()
    .regex(/^[^\s+]{1,200}$/, 'must be a name without blanks and plus signs')
    .default(DEFAULT_ORIGIN),
  /**
   * Verifier keys of earlier signing keys, split by commas: a checkpoint that one of them signed is believed, and the
   * next is signed by the new key.
   */
  AUDIT_PREVIOUS_KEYS: z.string().default(''),
  /** How often a checkpoint is signed while the log grows, in seconds. */
  AUDIT_CHECKPOINT_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
  /** The legal entity in whose name this installation speaks; goes into every event. */
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  /** TCP port on which health and metrics are told; 0 takes a free one, which the line on standard output names. */
  HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Address of the same. It is open to whoever reaches it, and tells nothing of the business. */
  HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /**
   * Who answers for the settings that this start brings; absent: the user of the operating system. Kept with every
   * change of settings.
   */
  PEDIGREE_CHANGED_BY: z.string().trim().min(1).max(200).optional(),
  /** Why the settings are as they are now; kept with every change that this start finds. */
  PEDIGREE_CHANGE_REASON: z.string().trim().min(3).max(1_000).optional(),
});

export const auditorVariables = variablesOf(environment);

export interface AuditorConfig {
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  keyFile: string;
  origin: string;
  previousKeys: string[];
  checkpointEveryMs: number;
  healthPort: number;
  healthHost: string;
  logLevel: string;
  participant: string;
  changedBy: string | undefined;
  changeReason: string | undefined;
}

/** Reads and checks the auditor's configuration. Throws PedigreeError that names the variable. */
export function auditorConfig(env: NodeJS.ProcessEnv): AuditorConfig {
  const data = parseEnvironment(environment, env);
  return {
    databaseUrl: data.DATABASE_URL,
    eventStoreUrl: data.EVENTSTORE_URL,
    keyFile: data.AUDIT_KEY_FILE,
    origin: data.AUDIT_ORIGIN,
    previousKeys: previousKeys(data.AUDIT_PREVIOUS_KEYS),
    checkpointEveryMs: data.AUDIT_CHECKPOINT_SECONDS * 1_000,
    healthPort: data.HEALTH_PORT,
    healthHost: data.HEALTH_HOST,
    logLevel: data.LOG_LEVEL,
    participant: data.PEDIGREE_PARTICIPANT,
    changedBy: data.PEDIGREE_CHANGED_BY,
    changeReason: data.PEDIGREE_CHANGE_REASON,
  };
}

function previousKeys(text: string): string[] {
  const keys = text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  for (const key of keys) {
    try {
      parseVerifierKey(key);
    } catch (error) {
      throw new PedigreeError(
        'invalid_configuration',
        `AUDIT_PREVIOUS_KEYS: ${(error as Error).message}: ${key.slice(0, 100)}`,
        { field: 'AUDIT_PREVIOUS_KEYS' },
      );
    }
  }
  return keys;
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeAuditorConfig({
  databaseUrl,
  eventStoreUrl,
  keyFile,
  origin,
  previousKeys: previous,
  checkpointEveryMs,
  participant,
  healthPort,
  healthHost,
  logLevel,
}: AuditorConfig): JsonObject {
  return {
    databaseUrl: addressWithoutSecrets(databaseUrl),
    eventStoreUrl: serverWithoutSecrets(eventStoreUrl),
    keyFile,
    origin,
    previousKeys: previous,
    checkpointEveryMs,
    participant,
    healthPort,
    healthHost,
    logLevel,
  };
}
