import { z } from 'zod';
import { PedigreeError, type JsonObject } from '#kernel';
import { parseVerifierKey } from '#merkle';
import {
  describeProgramSettings,
  parseEnvironment,
  PROGRAM_VARIABLES,
  programSettings,
  variablesOf,
  type ProgramSettings,
} from '#service';

export const DEFAULT_ORIGIN = 'pedigree/log';

const environment = z.object({
  ...PROGRAM_VARIABLES,
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
});

export const auditorVariables = variablesOf(environment);

export interface AuditorConfig extends ProgramSettings {
  keyFile: string;
  origin: string;
  previousKeys: string[];
  checkpointEveryMs: number;
}

/** Reads and checks the auditor's configuration. Throws PedigreeError that names the variable. */
export function auditorConfig(env: NodeJS.ProcessEnv): AuditorConfig {
  const data = parseEnvironment(environment, env);
  return {
    ...programSettings(data),
    keyFile: data.AUDIT_KEY_FILE,
    origin: data.AUDIT_ORIGIN,
    previousKeys: previousKeys(data.AUDIT_PREVIOUS_KEYS),
    checkpointEveryMs: data.AUDIT_CHECKPOINT_SECONDS * 1_000,
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
export function describeAuditorConfig(config: AuditorConfig): JsonObject {
  const { keyFile, origin, previousKeys: previous, checkpointEveryMs } = config;
  return { ...describeProgramSettings(config), keyFile, origin, previousKeys: previous, checkpointEveryMs };
}
