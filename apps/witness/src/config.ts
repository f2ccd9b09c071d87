import { join, resolve } from 'node:path';
import { z } from 'zod';
import { invalidConfiguration, type JsonObject } from '#kernel';
import { verifierKeyList } from '#merkle';
import { parseEnvironment, PROGRAM_VARIABLES, variablesOf } from '#service';

const { HEALTH_PORT, HEALTH_HOST, LOG_LEVEL } = PROGRAM_VARIABLES;

const environment = z.object({
  /** Name of this witness in its cosignatures: best a domain name of yours followed by a path. */
  WITNESS_NAME: z.string().regex(/^[^\s+]{1,200}$/, 'must be a name without blanks and plus signs'),
  /** Verifier keys of the logs that are witnessed, split by commas. Several may be of one log. */
  WITNESS_LOGS: z.string().min(1, 'must name the verifier key of a log'),
  /** Folder of this witness alone: the newest checkpoint of each log, and its key. */
  WITNESS_FOLDER: z.string().min(1),
  /** File with the Ed25519 private key (PEM) that cosigns. Default: `key.pem` in WITNESS_FOLDER. */
  WITNESS_KEY_FILE: z
    .string()
    .optional()
    .transform((text) => (text === '' ? undefined : text)),
  /** Port for the logs; 0 takes a free one, which the line on standard output names. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8090),
  /** Address of the same. Whoever reaches it can only bring checkpoints that the log has signed. */
  HOST: z.string().min(1).default('127.0.0.1'),
  ...{ HEALTH_PORT, HEALTH_HOST, LOG_LEVEL },
});

export const witnessVariables = variablesOf(environment);

export interface WitnessConfig {
  name: string;
  /** Verifier keys. */
  logs: string[];
  /** Absolute path. */
  folder: string;
  keyFile: string;
  port: number;
  host: string;
  healthPort: number;
  healthHost: string;
  logLevel: string;
}

/** Reads and checks the configuration of a witness. Throws PedigreeError that names the variable. */
export function witnessConfig(env: NodeJS.ProcessEnv): WitnessConfig {
  const data = parseEnvironment(environment, env);
  const folder = resolve(data.WITNESS_FOLDER);
  return {
    name: data.WITNESS_NAME,
    logs: logKeys(data.WITNESS_LOGS),
    folder,
    keyFile: data.WITNESS_KEY_FILE ?? join(folder, 'key.pem'),
    port: data.PORT,
    host: data.HOST,
    healthPort: data.HEALTH_PORT,
    healthHost: data.HEALTH_HOST,
    logLevel: data.LOG_LEVEL,
  };
}

function logKeys(text: string): string[] {
  const keys = verifierKeyList('WITNESS_LOGS', text);
  if (keys.length > 0) return keys;
  throw invalidConfiguration('WITNESS_LOGS', 'must name the verifier key of a log');
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeWitnessConfig(config: WitnessConfig): JsonObject {
  const { name, logs, folder, keyFile, port, host, healthPort, healthHost, logLevel } = config;
  return { name, logs, folder, keyFile, port, host, healthPort, healthHost, logLevel };
}
