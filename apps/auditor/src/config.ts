import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { invalidConfiguration, type JsonObject } from '#kernel';
import { verifierKeyList } from '#merkle';
import {
  addressWithoutSecrets,
  describeProgramSettings,
  parseEnvironment,
  PROGRAM_VARIABLES,
  programSettings,
  variablesOf,
  type ProgramSettings,
} from '#service';
import type { LogPortConfig } from './publication/log-port.js';
import { witnessPolicy, type WitnessPolicy } from './witnesses/witness-list.js';

export const DEFAULT_ORIGIN = 'pedigree/log';

const unlessEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Before it is read as a number: an empty text would be 0. */
const unlessEmptyValue = (value: unknown): unknown => (value === '' ? undefined : value);

const environment = z.object({
  ...PROGRAM_VARIABLES,
  /**
   * Folder of this auditor alone, outside the database: what it has signed, and its key. Default: `auditor-memory`
   * beside AUDIT_KEY_FILE.
   */
  AUDIT_FOLDER: z.string().optional().transform(unlessEmpty),
  /**
   * File with the Ed25519 private key (PEM) that signs checkpoints; `pedigree audit new-key` makes one. Default:
   * `key.pem` in AUDIT_FOLDER.
   */
  AUDIT_KEY_FILE: z.string().optional().transform(unlessEmpty),
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
  /**
   * Witnesses that are asked to cosign each checkpoint, split by commas: the verifier key that `pedigree audit show-key
   * --witness` prints, a blank, and the address of the witness.
   */
  AUDIT_WITNESSES: z.string().default(''),
  /** How many of them must have cosigned a checkpoint. Default: all. */
  AUDIT_WITNESSES_NEEDED: z.preprocess(unlessEmptyValue, z.coerce.number().int().min(1).max(15).optional()),
  /**
   * TCP port on which the log is given to others' tools as static files (C2SP tlog-tiles), with every event; 0 takes a
   * free one, which the line on standard output names. Absent: it is not given.
   */
  AUDIT_LOG_PORT: z.preprocess(unlessEmptyValue, z.coerce.number().int().min(0).max(65_535).optional()),
  /** Address of the same. Any other than loopback needs AUDIT_LOG_TOKEN_FILE. */
  AUDIT_LOG_HOST: z.string().min(1).default('127.0.0.1'),
  /** File with the token that readers of the log give (`Authorization: Bearer`), of 20 characters or more. */
  AUDIT_LOG_TOKEN_FILE: z.string().optional().transform(unlessEmpty),
  /** How often a checkpoint is signed while the log grows, in seconds. */
  AUDIT_CHECKPOINT_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
  /** Hours between the end of a sweep over log, evidence and read models and the next one; 0 for none. */
  AUDIT_SWEEP_HOURS: z.coerce.number().int().min(0).max(8_760).default(24),
  /** Most that a sweep reads in a second, in megabytes, so that the log has the disk for itself. */
  AUDIT_SWEEP_MB_PER_SECOND: z.coerce.number().min(0.1).max(10_000).default(4),
});

export const auditorVariables = variablesOf(environment);

export interface AuditorConfig extends ProgramSettings {
  /** Absolute path. */
  folder: string;
  keyFile: string;
  origin: string;
  previousKeys: string[];
  witnessPolicy: WitnessPolicy;
  /** Undefined: the log is not given as static files. */
  logPort: LogPortConfig | undefined;
  checkpointEveryMs: number;
  /** 0: no sweep. */
  sweepEveryMs: number;
  sweepBytesPerSecond: number;
}

/** Reads and checks the auditor's configuration. Throws PedigreeError that names the variable. */
export function auditorConfig(env: NodeJS.ProcessEnv): AuditorConfig {
  const data = parseEnvironment(environment, env);
  return {
    ...programSettings(data),
    ...placesOf(data),
    origin: data.AUDIT_ORIGIN,
    previousKeys: verifierKeyList('AUDIT_PREVIOUS_KEYS', data.AUDIT_PREVIOUS_KEYS),
    logPort: logPortOf(data),
    witnessPolicy: witnessPolicy(data.AUDIT_WITNESSES, data.AUDIT_WITNESSES_NEEDED),
    checkpointEveryMs: data.AUDIT_CHECKPOINT_SECONDS * 1_000,
    sweepEveryMs: data.AUDIT_SWEEP_HOURS * 3_600_000,
    sweepBytesPerSecond: data.AUDIT_SWEEP_MB_PER_SECOND * 1_000_000,
  };
}

/** Where the key is, and what the auditor remembers: one names the other. */
function placesOf({
  AUDIT_FOLDER: folder,
  AUDIT_KEY_FILE: keyFile,
}: Pick<z.infer<typeof environment>, 'AUDIT_FOLDER' | 'AUDIT_KEY_FILE'>): { folder: string; keyFile: string } {
  if (folder !== undefined) return { folder: resolve(folder), keyFile: keyFile ?? join(resolve(folder), 'key.pem') };
  if (keyFile !== undefined) return { folder: join(dirname(resolve(keyFile)), 'auditor-memory'), keyFile };
  throw invalidConfiguration('AUDIT_KEY_FILE', 'must be set, or AUDIT_FOLDER, the folder that has the key as key.pem');
}

const logPortOf = ({
  AUDIT_LOG_PORT: port,
  AUDIT_LOG_HOST: host,
  AUDIT_LOG_TOKEN_FILE: tokenFile,
}: z.infer<typeof environment>): LogPortConfig | undefined =>
  port === undefined ? undefined : { port, host, tokenFile };

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeAuditorConfig(config: AuditorConfig): JsonObject {
  const { folder, keyFile, origin, previousKeys: previous, checkpointEveryMs, logPort } = config;
  const { sweepEveryMs, sweepBytesPerSecond } = config;
  const { witnesses, needed } = config.witnessPolicy;
  return {
    ...describeProgramSettings(config),
    ...{ folder, keyFile, origin, previousKeys: previous, checkpointEveryMs, sweepEveryMs, sweepBytesPerSecond },
    witnesses: witnesses.map(({ name, url, key }) => ({
      name,
      url: addressWithoutSecrets(url),
      keyId: key.keyId.toString('hex'),
    })),
    witnessesNeeded: needed,
    logPort: logPort?.port ?? null,
    logHost: logPort?.host ?? null,
    logTokenFile: logPort?.tokenFile ?? null,
  };
}
