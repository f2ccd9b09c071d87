import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PedigreeError } from '#kernel';
import { readProfile } from '#registry-client';
import { DEFAULT_BODY_LIMITS, type BodyLimits } from './api/body-limits.js';

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

const environment = z.object({
  /** PostgreSQL connection string. */
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://'),
  /** TCP port of the API; 0 takes a free one. */
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Address to listen on. Any other than loopback is refused while no API key exists. */
  HOST: z.string().min(1).default('127.0.0.1'),
  /** File with the registry accounts (JSON). */
  PEDIGREE_ACCOUNTS: z.string().min(1),
  /** Name of a built-in profile: its limits are told at intake. */
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  /** JSON file whose fields override those of the profile. */
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /** The legal entity in whose name this installation speaks; goes into every event. */
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** Most tasks, of any kind, that may wait to be done before HTTP answers 503. */
  PEDIGREE_MAX_BACKLOG: z.coerce.number().int().min(1).default(100_000),
});

export interface GatewayConfig {
  databaseUrl: string;
  port: number;
  host: string;
  /** Account names in the order of the accounts file. */
  accounts: string[];
  logLevel: string;
  maxDocumentBytes: number;
  /** Name of the profile, for events. */
  profile: string;
  participant: string;
  maxBacklog: number;
  bodyLimits: BodyLimits;
}

/** Reads and checks the gateway's configuration. Throws PedigreeError that names the variable. */
export function gatewayConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? '');
    throw new PedigreeError('invalid_configuration', `${field}: ${issue?.message ?? 'invalid'}`, { field });
  }
  const { DATABASE_URL, PORT, HOST, PEDIGREE_ACCOUNTS, LOG_LEVEL, PEDIGREE_MAX_BACKLOG, REGISTRY_PROFILE, REGISTRY_PROFILE_OVERRIDES, PEDIGREE_PARTICIPANT } = parsed.data;
  const profile = readProfile(REGISTRY_PROFILE, REGISTRY_PROFILE_OVERRIDES);
  return {
    databaseUrl: DATABASE_URL,
    port: PORT,
    host: HOST,
    accounts: accountNames(PEDIGREE_ACCOUNTS),
    logLevel: LOG_LEVEL,
    maxDocumentBytes: profile.rules.maxDocumentBytes,
    profile: profile.name,
    participant: PEDIGREE_PARTICIPANT,
    maxBacklog: PEDIGREE_MAX_BACKLOG,
    bodyLimits: DEFAULT_BODY_LIMITS,
  };
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
