import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PedigreeError } from '#kernel';
import { readAccounts, readProfile, type Account, type Profile } from '#registry-client';

const environment = z.object({
  /** PostgreSQL connection string. */
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://'),
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
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
});

export interface WorkerConfig {
  databaseUrl: string;
  registryUrl: string;
  profile: Profile;
  accounts: Account[];
  encryptionKey: Buffer;
  participant: string;
  logLevel: string;
}

/** Reads and checks the worker's configuration. Throws PedigreeError that names the variable. */
export function workerConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(String(issue?.path[0] ?? ''), issue?.message ?? 'invalid');
  }
  const { data } = parsed;
  return {
    databaseUrl: data.DATABASE_URL,
    registryUrl: data.REGISTRY_URL.replace(/\/+$/, ''),
    profile: readProfile(data.REGISTRY_PROFILE, data.REGISTRY_PROFILE_OVERRIDES),
    accounts: named('PEDIGREE_ACCOUNTS', () => readAccounts(data.PEDIGREE_ACCOUNTS, env)),
    encryptionKey: named('PEDIGREE_KEY_FILE', () => encryptionKey(data.PEDIGREE_KEY_FILE)),
    participant: data.PEDIGREE_PARTICIPANT,
    logLevel: data.LOG_LEVEL,
  };
}

function encryptionKey(file: string): Buffer {
  const digits = readFileSync(file, 'utf8').trim();
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new Error(`${file} does not hold 64 hexadecimal digits`);
  return Buffer.from(digits, 'hex');
}

/** Puts the variable's name in front of whatever is wrong with what it points to. */
function named<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(variable, (error as Error).message);
  }
}

const invalid = (variable: string, message: string) => new PedigreeError('invalid_configuration', `${variable}: ${message}`, { field: variable });
