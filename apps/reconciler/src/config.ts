import { z } from 'zod';
import type { JsonObject } from '#kernel';
import type { RunRules } from '#reconciliation';
import { addressWithoutSecrets, parseEnvironment, serverWithoutSecrets, variablesOf } from '#service';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

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
  /** Hour of the day, in UTC, from which the day's run is made. */
  RECONCILE_DAILY_HOUR: z.coerce.number().int().min(0).max(23).default(1),
  /** Documents registered longer ago are not compared, unless they have no outcome. */
  RECONCILE_WINDOW_DAYS: z.coerce.number().int().min(1).max(3_660).default(40),
  /** Days for which the findings of a run are kept one by one; their number and digest stay in the log. */
  RECONCILE_FINDINGS_KEPT_DAYS: z.coerce.number().int().min(30).max(36_500).default(1_100),
  /** For so long the list of the registry may be behind a conclusion. */
  RECONCILE_MISSING_MINUTES: z.coerce.number().int().min(1).max(525_600).default(60),
  /** For so long a document may be without an outcome. */
  RECONCILE_OVERDUE_HOURS: z.coerce.number().min(0.001).max(8_760).default(24),
  /** The same by document type where it differs, such as `415=48,701=2`. */
  RECONCILE_OVERDUE_HOURS_BY_TYPE: z
    .string()
    .regex(/^(\d{1,6}=\d{1,4}(\.\d{1,3})?(,\d{1,6}=\d{1,4}(\.\d{1,3})?)*)?$/, 'must be like 415=48,701=2')
    .default(''),
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

export const reconcilerVariables = variablesOf(environment);

export interface ReconcilerConfig {
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  dailyHour: number;
  findingsKeptDays: number;
  rules: RunRules;
  participant: string;
  healthPort: number;
  healthHost: string;
  logLevel: string;
  /** Who answers for a change of settings that this start finds, and why. */
  changedBy: string | undefined;
  changeReason: string | undefined;
}

/** Reads and checks the reconciler's configuration. Throws PedigreeError that names the variable. */
export function reconcilerConfig(env: NodeJS.ProcessEnv): ReconcilerConfig {
  const data = parseEnvironment(environment, env);
  return {
    databaseUrl: data.DATABASE_URL,
    eventStoreUrl: data.EVENTSTORE_URL,
    dailyHour: data.RECONCILE_DAILY_HOUR,
    findingsKeptDays: data.RECONCILE_FINDINGS_KEPT_DAYS,
    rules: {
      windowMs: data.RECONCILE_WINDOW_DAYS * DAY_MS,
      missingAfterMs: data.RECONCILE_MISSING_MINUTES * MINUTE_MS,
      overdueAfterMs: Math.round(data.RECONCILE_OVERDUE_HOURS * HOUR_MS),
      overdueAfterMsByType: limitsByType(data.RECONCILE_OVERDUE_HOURS_BY_TYPE),
    },
    participant: data.PEDIGREE_PARTICIPANT,
    healthPort: data.HEALTH_PORT,
    healthHost: data.HEALTH_HOST,
    logLevel: data.LOG_LEVEL,
    changedBy: data.PEDIGREE_CHANGED_BY,
    changeReason: data.PEDIGREE_CHANGE_REASON,
  };
}

function limitsByType(text: string): Record<string, number> {
  const pairs = text.split(',').filter((one) => one !== '');
  return Object.fromEntries(
    pairs
      .map((pair) => pair.split('='))
      .map(([type, hours]) => [String(Number(type)), Math.round(Number(hours) * HOUR_MS)]),
  );
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeReconcilerConfig({
  databaseUrl,
  eventStoreUrl,
  dailyHour,
  findingsKeptDays,
  rules,
  participant,
  healthPort,
  healthHost,
  logLevel,
}: ReconcilerConfig): JsonObject {
  return {
    databaseUrl: addressWithoutSecrets(databaseUrl),
    eventStoreUrl: serverWithoutSecrets(eventStoreUrl),
    dailyHour,
    findingsKeptDays,
    rules: { ...rules },
    participant,
    healthPort,
    healthHost,
    logLevel,
  };
}
