import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { defined } from '#kernel';
import { DATABASE_ADDRESS, parseEnvironment } from '#service';

const packageRoot = findPackageRoot();

const environment = z.object({
  /** Base of the registry, without /api/v1. Absent: `up` starts a sandbox of its own. */
  REGISTRY_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /**
   * Control port of the sandbox at REGISTRY_URL, where broken rules are counted. Absent: that registry is taken for a
   * real one and asked for nothing outside the interface.
   */
  REGISTRY_CONTROL_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  /** Absent: `up` starts an embedded PostgreSQL under DATA_DIR. */
  DATABASE_URL: DATABASE_ADDRESS.optional(),
  /** Connection string of EventStoreDB or KurrentDB, where the event log is. Absent: in PostgreSQL. */
  EVENTSTORE_URL: z
    .string()
    .regex(/^(esdb|kurrent|kurrentdb)(\+discover)?:\/\//, 'must begin with esdb:// or esdb+discover://')
    .optional(),
  /** What begins the name of each program's role in PostgreSQL, for `database grants` and `database migrate`. */
  DATABASE_ROLE_PREFIX: z.string().min(1).default('pedigree_'),
  DATA_DIR: z.string().min(1).default('.pedigree'),
  /** Folder of the schema sets that were added. Absent: `schemas` in DATA_DIR. */
  SCHEMA_DIR: z.string().min(1).optional(),
  /** Calendar of deadlines. Absent: the made-up one of the sandbox, where `up` starts that; else none. */
  DEADLINE_CALENDAR: z.string().min(1).optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('warn'),
  PEDIGREE_ACCOUNTS: z.string().min(1).optional(),
  PEDIGREE_KEY_FILE: z.string().min(1).optional(),
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  /** Address of a running gateway for send, document and history. Absent: the one that `up` started on DATA_DIR. */
  PEDIGREE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  /** API key for the gateway, when it wants one. */
  PEDIGREE_API_KEY: z
    .string()
    .regex(/^[!-~]{20,200}$/, 'must be 20 to 200 characters of ASCII, without blanks or line ends')
    .optional(),
  /** Seed of the sample day. */
  PEDIGREE_SAMPLE_SEED: z.coerce.number().int().min(0).max(4_294_967_295).default(1),
  /**
   * Consignments of the sample day, each a chain of four documents. A consignment's number has three digits, and those
   * from 900 on are not ours.
   */
  PEDIGREE_SAMPLE_CONSIGNMENTS: z.coerce.number().int().min(1).max(900).default(75),
});

export interface CliConfig {
  /** What it was read from: the accounts file may name secrets in it. Never printed. */
  environment: NodeJS.ProcessEnv;
  registryUrl: string | undefined;
  registryProfile: string;
  registryProfileOverrides: string | undefined;
  registryControlUrl: string | undefined;
  databaseUrl: string | undefined;
  eventStoreUrl: string | undefined;
  rolePrefix: string;
  dataDir: string;
  schemaDir: string;
  deadlineCalendar: string | undefined;
  port: number;
  /** True when PORT was given: then another port is not tried. */
  portIsGiven: boolean;
  host: string;
  logLevel: string;
  accountsFile: string;
  /** False: they are those that come with the sandbox. */
  accountsAreGiven: boolean;
  keyFile: string;
  participant: string;
  gatewayUrl: string | undefined;
  apiKey: string | undefined;
  sampleSeed: number;
  sampleConsignments: number;
}

/** Reads and checks the configuration of the command line. Throws PedigreeError that names the variable. */
export function cliConfig(env: NodeJS.ProcessEnv): CliConfig {
  const data = parseEnvironment(
    environment,
    Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
  );
  const dataDir = resolve(data.DATA_DIR);
  return {
    environment: env,
    registryUrl: data.REGISTRY_URL,
    registryProfile: data.REGISTRY_PROFILE,
    registryProfileOverrides: data.REGISTRY_PROFILE_OVERRIDES,
    registryControlUrl: data.REGISTRY_CONTROL_URL,
    databaseUrl: data.DATABASE_URL,
    eventStoreUrl: data.EVENTSTORE_URL,
    rolePrefix: data.DATABASE_ROLE_PREFIX,
    dataDir,
    schemaDir: resolve(data.SCHEMA_DIR ?? `${dataDir}/schemas`),
    deadlineCalendar: calendarOf(data.DEADLINE_CALENDAR, data.REGISTRY_URL),
    port: data.PORT,
    portIsGiven: env['PORT'] !== undefined && env['PORT'] !== '',
    host: data.HOST,
    logLevel: data.LOG_LEVEL,
    accountsFile: resolve(data.PEDIGREE_ACCOUNTS ?? fileURLToPath(sandboxFile('data/accounts.json'))),
    accountsAreGiven: data.PEDIGREE_ACCOUNTS !== undefined,
    keyFile: resolve(data.PEDIGREE_KEY_FILE ?? `${dataDir}/key`),
    participant: data.PEDIGREE_PARTICIPANT,
    gatewayUrl: data.PEDIGREE_URL?.replace(/\/+$/, ''),
    apiKey: data.PEDIGREE_API_KEY,
    sampleSeed: data.PEDIGREE_SAMPLE_SEED,
    sampleConsignments: data.PEDIGREE_SAMPLE_CONSIGNMENTS,
  };
}

/** A registry that is not our own sandbox gets no made-up deadlines. */
function calendarOf(given: string | undefined, registryUrl: string | undefined): string | undefined {
  if (given !== undefined) return resolve(given);
  return registryUrl === undefined ? fileURLToPath(sandboxFile('data/deadlines.json')) : undefined;
}

/** The environment of this process, for programs that read it themselves. */
export const ownEnvironment = (): NodeJS.ProcessEnv => process.env;

export const ownConfig = (): CliConfig => cliConfig(process.env);

/** The configuration of `up`, whose flags go before the environment. */
export const upConfig = (flags: { registryUrl?: string; profile?: string }): CliConfig =>
  cliConfig({
    ...process.env,
    ...defined({ REGISTRY_URL: flags.registryUrl, REGISTRY_PROFILE: flags.profile }),
  });

/** A file of the sandbox in the source tree: its data and its program are used as they are. */
export const sandboxFile = (path: string): URL => new URL(`apps/sandbox/${path}`, packageRoot);
export const builtFile = (path: string): URL => new URL(`dist/${path}`, packageRoot);

/** The folder of package.json, found from the source as from the build. */
function findPackageRoot(): URL {
  for (let folder = new URL('./', import.meta.url), up = 0; up < 8; folder = new URL('../', folder), up += 1) {
    if (existsSync(new URL('package.json', folder))) return folder;
  }
  throw new Error('package.json not found above the program');
}
